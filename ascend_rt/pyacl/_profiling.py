# SPDX-License-Identifier: Apache-2.0
"""Functions of ``acl.prof`` that take a text with its length, or a list."""

from __future__ import annotations

from ascend_rt._runtime.driver import ffi
from ascend_rt.pyacl._raw import call, create, pointer, unsigned


def init(path: str) -> int:
    text = path.encode()
    return call("aclprofInit", text, len(text))


def create_config(device_ids: list[int], aicore_metrics: int, aicore_events: int, data_type_config: int) -> int:
    if not isinstance(device_ids, list):
        raise TypeError("argument 1 is not list")
    if not all(isinstance(device_id, int) for device_id in device_ids):
        raise TypeError("the first argument is not list of int")
    devices = ffi.new("uint32_t[]", [unsigned(device_id) & 0xFFFFFFFF for device_id in device_ids])
    metrics = ffi.cast("aclprofAicoreMetrics", aicore_metrics)
    events = ffi.cast("aclprofAicoreEvents *", aicore_events)
    return create("aclprofCreateConfig", devices, len(devices), metrics, events, data_type_config)


def set_config(config_type: int, config: str) -> int:
    text = config.encode()
    return call("aclprofSetConfig", ffi.cast("aclprofConfigType", config_type), text, len(text))


def mark_ex(text: str, stream: int) -> int:
    message = text.encode()
    return call("aclprofMarkEx", message, len(message), pointer(stream))
