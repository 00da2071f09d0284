# SPDX-License-Identifier: Apache-2.0
"""The declarations of the C API: one header per family; ``acl.h`` includes them all."""
