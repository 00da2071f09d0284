# SPDX-License-Identifier: Apache-2.0
"""Memory that callers give, of the host and of devices; arrays and DLPack; the insides of allocators."""
