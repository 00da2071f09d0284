# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from the ABI headers: ``python -m codegen --help``."""
