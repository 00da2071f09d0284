# SPDX-License-Identifier: Apache-2.0
"""Parameters and declared memory accesses of launches, and kernels that run as functions of the host."""
