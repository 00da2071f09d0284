# SPDX-License-Identifier: Apache-2.0
"""What decides, when a program starts, which package an import finds."""
