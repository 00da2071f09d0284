# SPDX-License-Identifier: Apache-2.0
"""Functions of ``acl.prof`` that take a text with its length, or a list, and those that return a text."""

from __future__ import annotations

from typing import Any

from ascend_rt._runtime.driver import ffi, lib
from ascend_rt.pyacl._raw import call, create, pointer, text, unsigned

_LONGEST_TEXT = 4096
_descriptors: dict[int, Any] = {}  # one for each number, kept: a configuration has the address


def init(path: str) -> int:
    encoded = path.encode()
    return call("aclprofInit", encoded, len(encoded))


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
    encoded = config.encode()
    return call("aclprofSetConfig", ffi.cast("aclprofConfigType", config_type), encoded, len(encoded))


def mark_ex(message_text: str, stream: int) -> int:
    message = message_text.encode()
    return call("aclprofMarkEx", message, len(message), pointer(stream))


def create_subscribe_config(time_info_switch: int, aicore_metrics: int, fd: int) -> int:
    descriptor = _descriptors.setdefault(fd, ffi.new("int *", fd))
    switch = (time_info_switch + 128) % 256 - 128  # a byte without a sign that C takes for one with a sign
    metrics = ffi.cast("aclprofAicoreMetrics", aicore_metrics)
    return create("aclprofCreateSubscribeConfig", switch, metrics, ffi.cast("void *", descriptor))


def _text(function: str, op_info: int, op_info_len: int, index: int, room: int) -> tuple[str, int]:
    if room > _LONGEST_TEXT:
        return "", lib.ACL_ERROR_INVALID_PARAM
    characters = ffi.new("char[]", room + 1)
    code = call(function, pointer(op_info), op_info_len, index, characters, room)
    return text(characters), code


def _whole_text(function: str, op_info: int, op_info_len: int, index: int) -> tuple[str | None, int]:
    length = ffi.new("size_t *")
    code = call(f"{function}Len", pointer(op_info), op_info_len, index, length)
    return _text(function, op_info, op_info_len, index, int(length[0])) if code == 0 else (None, code)


def get_op_type(op_info: int, op_info_len: int, index: int, op_type_len: int) -> tuple[str, int]:
    return _text("aclprofGetOpType", op_info, op_info_len, index, op_type_len)


def get_op_type_v2(op_info: int, op_info_len: int, index: int) -> tuple[str | None, int]:
    return _whole_text("aclprofGetOpType", op_info, op_info_len, index)


def get_op_name(op_info: int, op_info_len: int, index: int, op_name_len: int) -> tuple[str, int]:
    return _text("aclprofGetOpName", op_info, op_info_len, index, op_name_len)


def get_op_name_v2(op_info: int, op_info_len: int, index: int) -> tuple[str | None, int]:
    return _whole_text("aclprofGetOpName", op_info, op_info_len, index)
