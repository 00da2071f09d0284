# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt bench`` and ``ascend-rt verify``: few machines need them, and their data is larger than the facade."""
