# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify``: play known calls on the library in use, measure it, and compare it with the simulator."""
