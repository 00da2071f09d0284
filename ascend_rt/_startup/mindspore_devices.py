# SPDX-License-Identifier: Apache-2.0
"""MindSpore's choice of a device says what the simulator does not have; follows ``mindspore.device_manager``."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

SENTENCE = (
    "The simulator has no operators for MindSpore and no graph engine: tensors, copies and streams of "
    "the device Ascend work, and each operator raises a RuntimeError; use the device CPU, or PyTorch, which has them"
)

_device_manager: Any = sys.modules["mindspore.device_manager"]
_set_device = _device_manager.set_device


@functools.wraps(_set_device)
def set_device(*arguments: Any, **named: Any) -> Any:
    """Choose a device as MindSpore does, and warn if it is simulated."""
    result = _set_device(*arguments, **named)
    if "Ascend" in (*arguments[:1], named.get("device_target")):
        warnings.warn(SENTENCE, RuntimeWarning, stacklevel=2)
    return result


_device_manager.set_device = set_device
