# SPDX-License-Identifier: Apache-2.0
"""What all objects have in common: the library, failures, what tasks keep alive, waits, the end."""
