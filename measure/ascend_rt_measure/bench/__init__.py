# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt bench``: what calls cost in C, through cffi, through the facade and pyACL, and with others."""
