# SPDX-License-Identifier: Apache-2.0
"""The context of the calling thread, and its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_rt._runtime.driver import call, check, ffi, is_expected, lib

if TYPE_CHECKING:
    from typing import Any


def current_device_id() -> int:
    """Return the number of the device of the calling thread's context; NoContext if there is none."""
    out = ffi.new("int32_t *")
    call("aclrtGetDevice", out)
    return int(out[0])


def current_handle() -> Any:
    """Return the handle of the calling thread's context; NoContext if there is none."""
    out = ffi.new("aclrtContext *")
    code = lib.aclrtGetCurrentContext(out)
    if code:
        check(code, "aclrtGetCurrentContext")
    return out[0]


def current_handle_or_none() -> Any | None:
    """Return the handle of the calling thread's context, or None."""
    out = ffi.new("aclrtContext *")
    code = lib.aclrtGetCurrentContext(out)
    if is_expected(code, lib.ACL_ERROR_RT_CONTEXT_NULL):
        return None
    check(code, "aclrtGetCurrentContext")
    return out[0]
