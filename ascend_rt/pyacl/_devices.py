# SPDX-License-Identifier: Apache-2.0
"""The functions that take and give back devices: the objects on a device end with the last reference to it.

The program's references are counted separately from our own, and we never give them back.
"""

from __future__ import annotations

from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import address, ffi
from ascend_rt.pyacl._raw import call, pointer

_contexts: dict[int, int] = {}  # created by the program: handle -> device


def set_device(device_id: int) -> int:
    code = call("aclrtSetDevice", device_id)
    if not code:
        lifecycle.count_for_program(device_id, "aclrtResetDevice")
    return code


def reset_device(device_id: int) -> int:
    return lifecycle.release_for_program(device_id, "aclrtResetDevice", device_id)


def reset_device_force(device_id: int) -> int:
    return lifecycle.release_for_program(device_id, "aclrtResetDevice", device_id, "aclrtResetDeviceForce")


def create_context(device_id: int) -> tuple[int, int]:
    out = ffi.new("aclrtContext *")
    code = call("aclrtCreateContext", out, device_id)
    context = address(out[0])
    if not code:
        _contexts[context] = device_id
        lifecycle.count_for_program(device_id, "aclrtDestroyContext")
    return context, code


def destroy_context(context: int) -> int:
    device_id = _contexts.pop(context, None)  # before another thread gets a new one with the handle
    if device_id is None:
        return call("aclrtDestroyContext", pointer(context))
    code = lifecycle.release_for_program(device_id, "aclrtDestroyContext", pointer(context))
    if code:
        _contexts[context] = device_id
    return code
