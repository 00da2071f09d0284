# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the samples: acl has no constants and raises no exceptions."""

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
ACL_EVENT_SYNC = 0x1
ACL_EVENT_TIME_LINE = 0x8
ACL_CALLBACK_NO_BLOCK = 0
ACL_CALLBACK_BLOCK = 1


def check(ret, what):
    """Raise an error if a call of acl has failed."""
    if ret != ACL_SUCCESS:
        raise RuntimeError(f"{what} failed with {ret}: {acl.get_recent_err_msg()}")


def checked(result, what):
    """Return what a call has answered beside its code, if it has not failed."""
    value, ret = result
    check(ret, what)
    return value


def start(device_id=0):
    """Initialize acl, open a device, and return its context."""
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(device_id), "acl.rt.set_device")
    return checked(acl.rt.get_context(), "acl.rt.get_context")


def end(device_id=0):
    """Give back what `start` has opened."""
    check(acl.rt.reset_device(device_id), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")
