# SPDX-License-Identifier: Apache-2.0
"""Import hooks, which choose at the start of a program the package that an import finds."""
