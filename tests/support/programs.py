# SPDX-License-Identifier: Apache-2.0
"""The beginning of programs that tests run in separate processes."""

from __future__ import annotations

BEGINNING = """
import threading
from ascend_rt import Buffer, Context, Device, Event, Stream, ffi, lib, sim
from ascend_rt.errors import AclError
from ascend_rt.testing import Latch

def code_of(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except AclError as error:
        return error.code
    return 0

def new(kind, function, *arguments):
    out = ffi.new(kind)
    assert getattr(lib, function)(out, *arguments) == 0
    return out[0]

def raw(stream):
    return ffi.cast("aclrtStream", stream.handle)

device = Device(0)
device.set_current()
"""
