# SPDX-License-Identifier: Apache-2.0
"""The machine on which the return codes of the real runtime were recorded."""

from __future__ import annotations

MACHINE = {"ASCEND_RT_SIM_DEVICES": "2", "ASCEND_RT_SIM_PRODUCT": "910B"}
