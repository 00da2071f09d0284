# SPDX-License-Identifier: Apache-2.0
"""Tables that ``python -m codegen`` writes from the ABI headers."""
