# SPDX-License-Identifier: Apache-2.0
"""What launches say of the memory that kernels access, and kernels that are functions of the host."""
