# SPDX-License-Identifier: Apache-2.0
"""Calls for virtual memory, and for memory between processes."""

from __future__ import annotations

import os
import subprocess
import sys

from objects import ready
from recorder import Recorder, group


@group("topic:virtual memory")
def _(acl: Recorder) -> None:
    ready(acl)
    prop = {"handleType": 0, "allocationType": 0, "memAttr": 4, "location": {"id": 0, "type": 1}, "reserve": 0}
    for o in (0, 1, 2, 9):
        acl("rt.mem_get_allocation_granularity", prop, o)
    for x in (
        {},
        {**prop, "memAttr": 5},
        {**prop, "memAttr": 99},
        {**prop, "location": {"id": 9, "type": 1}},
        {**prop, "location": {"id": 0, "type": 0}},
        {**prop, "location": 5},
        {**prop, "memAttr": "4"},
        {**prop, "extra": 1},
        {**prop, "reserve": -1},
        {**prop, "location": {"id": -1, "type": 1}},
        [],
        None,
        5,
    ):
        acl("rt.mem_get_allocation_granularity", x, 0)
        acl("rt.malloc_physical", 1 << 21, x, 0)
    for size in (0, 1, 1 << 20, 1 << 21, 3 << 20):
        acl("rt.malloc_physical", size, prop, 0)
    acl("rt.malloc_physical", 1 << 21, prop, 1)
    v, _ = acl("rt.reserve_mem_address", 1 << 22, 0, 0, 0)
    for args in (
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (1 << 21, 1, 0, 0),
        (1 << 21, 0, 0, 1),
        (1 << 21, 0, 0, 2),
        (1 << 21, 0, 5, 0),
    ):
        acl("rt.reserve_mem_address", *args)
    h, _ = acl("rt.malloc_physical", 1 << 21, prop, 0)
    acl("rt.map_mem", v, 1 << 21, 0, h, 0)
    acl("rt.memset", v, 1 << 21, 1, 1 << 21)
    acl("rt.map_mem", v, 1 << 21, 0, h, 0, note="again")
    acl("rt.map_mem", v + (1 << 21), 1 << 21, 8, h, 0, note="offset")
    acl("rt.map_mem", v, 1 << 21, 0, h, 5)
    acl("rt.release_mem_address", v, note="mapped")
    acl("rt.free_physical", h, note="mapped")
    acl("rt.unmap_mem", v)
    acl("rt.unmap_mem", v, note="again")
    acl("rt.release_mem_address", v)
    acl("rt.release_mem_address", v, note="again")
    acl("rt.free_physical", h, note="again")


@group("topic:shareable handles")
def _(acl: Recorder) -> None:
    ready(acl)
    prop = {"handleType": 0, "allocationType": 0, "memAttr": 4, "location": {"id": 0, "type": 1}, "reserve": 0}
    h, _ = acl("rt.malloc_physical", 1 << 21, prop, 0)
    x = acl("rt.mem_export_to_shareable_handle", h, 0, 0, loose=(0,))
    for t, f in ((1, 0), (0, 1), (0, 2), (9, 0)):
        acl("rt.mem_export_to_shareable_handle", h, t, f, loose=(0,))
    v = x[0] if x else 0
    for p in ([os.getpid()], [], (1,), None, ["x"], [1.5], [2**31]):
        acl("rt.mem_set_pid_to_shareable_handle", v if v is not None else 0, p)
    acl("rt.mem_import_from_shareable_handle", 12345, 0)
    acl("rt.mem_import_from_shareable_handle", v, 0)
    acl("rt.mem_import_from_shareable_handle", v, 9)


@group("topic:memory between processes")
def _(acl: Recorder) -> None:
    ready(acl)
    p, _ = acl("rt.malloc", 4 << 20, 0)
    for length in (0, 64, 65, 100, 1023, 1024, 5000, -1):
        acl("rt.ipc_mem_get_export_key", p, 4 << 20, length, 0)
    r = acl("rt.ipc_mem_get_export_key", p, 4 << 20, 65, 0)
    key = (r or ("",))[0]
    for v in ([], [1], [os.getpid()], (1,), None, [1.5], ["x"], [2**31], [True]):
        acl("rt.ipc_mem_set_import_pid", key, v)
    acl("rt.ipc_mem_set_import_pid", "no-such-key", [1])
    acl("rt.ipc_mem_import_by_key", key, 0, note="in the process that exports")
    acl("rt.ipc_mem_import_by_key", "x", 0)
    acl("rt.ipc_mem_import_by_key", "", 0)
    acl("rt.ipc_mem_import_by_key", key, 5)
    acl("rt.ipc_mem_close", key)
    acl("rt.ipc_mem_close", key, note="again")
    acl("rt.ipc_mem_close", "x")
    acl("rt.ipc_mem_close", "")
    acl("rt.ipc_mem_get_export_key", p, 0, 65, 0)
    acl("rt.ipc_mem_get_export_key", 0, 8, 65, 0)
    acl("rt.ipc_mem_get_export_key", p, 8 << 20, 65, 0)
    acl("rt.ipc_mem_get_export_key", p, 4 << 20, 65, 7)


@group("topic:keys with another process")
def _(acl: Recorder) -> None:
    """Memory of this process, imported and read by a child."""
    ready(acl)
    p, _ = acl("rt.malloc", 4 << 20, 0)
    acl("rt.memset", p, 4 << 20, 7, 4 << 20)
    r = acl("rt.ipc_mem_get_export_key", p, 4 << 20, 65, 1)
    code = f"""
import importlib, sys
acl = importlib.import_module({acl.module.__name__!r})
acl.init(); acl.rt.set_device(0)
d, r = acl.rt.ipc_mem_import_by_key({(r or ("",))[0]!r}, 0)
h, _ = acl.rt.malloc_host(8)
print(r, acl.rt.memcpy(h, 8, d, 8, 2), acl.util.ptr_to_bytes(h, 4), acl.rt.ipc_mem_close({(r or ("",))[0]!r}))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    acl.note("the child says", out.stdout.strip() or out.stderr.strip()[-80:])
