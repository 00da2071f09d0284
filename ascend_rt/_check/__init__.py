# SPDX-License-Identifier: Apache-2.0
"""Reports of ``ascend-rt check``: the findings of a program, and how they are shown."""
