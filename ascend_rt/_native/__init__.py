# SPDX-License-Identifier: Apache-2.0
"""The facade's calls in C, one resource a file; DESIGN.md describes them."""
