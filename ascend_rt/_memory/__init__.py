# SPDX-License-Identifier: Apache-2.0
"""Arrays as sources and targets of copies, and DLPack."""
