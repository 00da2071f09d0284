# SPDX-License-Identifier: Apache-2.0
"""Shared by all objects: the library, failures, lifetimes of operands, waits, the end of the process."""
