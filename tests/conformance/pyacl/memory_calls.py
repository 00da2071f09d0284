# SPDX-License-Identifier: Apache-2.0
"""Calls for memory and copies within a process."""

from __future__ import annotations

import ctypes
import mmap

from objects import KEEP, host, ready, stream_of
from recorder import Recorder, group


@group("topic:memory")
def _(acl: Recorder) -> None:
    ready(acl)
    for size, policy in (
        (0, 0),
        (1, 0),
        (1024, 0),
        (1024, 1),
        (1024, 2),
        (1 << 21, 0),
        (1 << 21, 3),
        (1024, 5),
        (1024, 6),
        (1024, 7),
        (1024, 0x100),
        (1024, 0x1000),
        (1024, 0x100000),
        (1024, 99),
        (-1, 0),
        (2**63, 0),
        (2**64 + 64, 0),
    ):
        acl("rt.malloc", size, policy)
    p, _ = acl("rt.malloc", 4096, 0)
    acl.note("alignment", p % 512)
    acl("rt.free", p)
    acl("rt.free", p, note="again")
    acl("rt.free", 0)
    acl("rt.free", p + 64)
    q, _ = acl("rt.malloc", 4096, 0)
    acl("rt.free", q + 64, note="inside a block")
    acl("rt.free_host", q, note="device memory")
    acl("rt.free", q)
    for f in ("malloc_align32", "malloc_cached"):
        for size, policy in ((0, 0), (100, 0), (100, 1), (100, 2), (100, 77)):
            r = acl(f"rt.{f}", size, policy)
            if r and r[0]:
                acl("rt.free", r[0])
    c, _ = acl("rt.malloc_cached", 4096, 0)
    acl("rt.mem_flush", c, 4096)
    acl("rt.mem_invalidate", c, 4096)
    acl("rt.mem_flush", c, 0)
    acl("rt.mem_flush", 0, 8)
    acl("rt.mem_invalidate", c, 0)
    h, _ = acl("rt.malloc_host", 4096)
    acl("rt.free", h, note="host memory")
    acl("rt.free_host", h)
    acl("rt.free_host", h)
    acl("rt.malloc_host", 0)
    acl("rt.malloc_host", -1)


@group("topic:memory with configuration")
def _(acl: Recorder) -> None:
    ready(acl)
    configs = (
        {},
        {"attrs": [], "numAttrs": 0},
        {"attrs": []},
        {"numAttrs": 1},
        {"attrs": [], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"moduleId": 3}}], "numAttrs": 1},
        {"attrs": [{"attr": 2, "value": {"deviceId": 0}}], "numAttrs": 1},
        {"attrs": [{"attr": 2, "value": {"deviceId": 9}}], "numAttrs": 1},
        {"attrs": [{"attr": 0, "value": {"rsv": [0] * 8}}], "numAttrs": 1},
        {"attrs": [{"attr": 0, "value": {"rsv": [0] * 9}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"x": 1}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": 5}], "numAttrs": 1},
        {"attrs": [{"attr": 1}], "numAttrs": 1},
        {"attrs": [{}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"moduleId": -1}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"moduleId": 2**64}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"moduleId": 70000}}], "numAttrs": 1},
        {"attrs": [5], "numAttrs": 1},
        {"attrs": [{"attr": 77, "value": {"moduleId": 0}}], "numAttrs": 1},
        {"attrs": [{"attr": 1, "value": {"moduleId": 1}}] * 2, "numAttrs": 2},
        {"attrs": [{"attr": 1, "value": {"moduleId": 1}}] * 2, "numAttrs": 1},
        {"unknown": 1},
    )
    for c in configs:
        acl("rt.malloc_with_cfg", 1024, 0, c)
        acl("rt.malloc_for_task_scheduler", 1024, 0, c)
        acl("rt.malloc_host_with_cfg", 1024, c)
    for w in (None, [], 5, ()):
        acl("rt.malloc_with_cfg", 1024, 0, w)
        acl("rt.malloc_host_with_cfg", 1024, w)


@group("topic:attrs that are no list")
def _(acl: Recorder) -> None:
    ready(acl)
    acl("rt.malloc_with_cfg", 1024, 0, {"attrs": ({"attr": 1, "value": {"moduleId": 1}},), "numAttrs": 1})


@group("topic:asynchronous copies")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    h, _ = acl("rt.malloc_host", 4096)
    g, _ = acl("rt.malloc_host", 4096)
    ctypes.memset(h, 0x5A, 4096)
    ctypes.memset(g, 0, 4096)
    p, _ = acl("rt.malloc", 4096, 0)
    q, _ = acl("rt.malloc", 4096, 0)
    acl("rt.memcpy_async", p, 4096, h, 4096, 1, s)
    acl("rt.memcpy_async", q, 4096, p, 4096, 3, s)
    acl("rt.memcpy_async", g, 4096, q, 4096, 2, s)
    acl("rt.synchronize_stream", s)
    acl("util.ptr_to_bytes", g, 8)
    for k in (0, 4, 5, 6, 7, 9):
        acl("rt.memcpy_async", q, 4096, h if k == 5 else p, 64, k, s)
    acl("rt.synchronize_stream", s)
    a = host(4096)
    acl("rt.memcpy_async", p, 4096, a, 4096, 1, s, note="pageable")
    acl("rt.memcpy_async", a, 4096, p, 4096, 2, s, note="pageable")
    acl("rt.memcpy_async", p, 4096, h, 4096, 1, 0, note="default stream")
    acl("rt.memcpy_async_with_condition", p, 4096, h, 4096, 1, s)
    acl("rt.memcpy_async_with_condition", p, 4096, a, 4096, 1, s, note="pageable")
    acl("rt.memset_async", p, 4096, 3, 4096, s)
    acl("rt.memset_async", p, 4, 3, 4096, s)
    acl("rt.synchronize_stream", s)
    acl("rt.memcpy_async", p, 4096, h, 4096, 1, 12345, note="no stream")
    for f in (h, g):
        acl("rt.free_host", f)


@group("topic:copies with a descriptor")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    for k in (6, 3, 0, 9):
        acl("rt.get_memcpy_desc_size", k)
    n = acl.module.rt.get_memcpy_desc_size(6)[0] or 64
    d, _ = acl("rt.malloc", max(n, 64), 0)
    p, _ = acl("rt.malloc", 4096, 0)
    q, _ = acl("rt.malloc", 4096, 0)
    acl("rt.set_memcpy_desc", d, 6, p, q, 64, 0)
    acl("rt.memcpy_async_with_desc", d, 6, s)
    acl("rt.synchronize_stream", s)
    acl("rt.set_memcpy_desc", 0, 6, p, q, 64, 0)
    acl("rt.set_memcpy_desc", d, 1, p, q, 64, 0)
    acl("rt.memcpy_async_with_desc", d, 1, s)


@group("topic:pointer attributes")
def _(acl: Recorder) -> None:
    ready(acl)
    a = host()
    p, _ = acl("rt.malloc", 4096, 0)
    h, _ = acl("rt.malloc_host", 4096)
    for x, note in ((p, "device"), (p + 8, "inside"), (h, "pinned"), (a, "pageable"), (0, "null"), (12345, "nothing")):
        acl("rt.pointer_get_attributes", x, note=note)


@group("topic:registered memory")
def _(acl: Recorder) -> None:
    ready(acl)
    m = mmap.mmap(-1, 1 << 16)
    KEEP.append(m)
    a = ctypes.addressof(ctypes.c_char.from_buffer(m))
    acl("rt.host_register", a, 1 << 16, 0)
    acl("rt.host_register", a, 1 << 16, 0, note="again")
    acl("rt.host_get_device_pointer", a, 0)
    acl("rt.pointer_get_attributes", a)
    acl("rt.host_unregister", a)
    acl("rt.host_unregister", a, note="again")
    for t in (1, 4, 8, 99):
        acl("rt.host_register", a, 1 << 16, t)
    acl("rt.host_unregister", a)
    for f in (0, 1, 2, 4, 8, 16, 64):
        acl("rt.host_register_v2", a, 1 << 16, f)
        acl("rt.host_get_device_pointer", a, 0)
        acl("rt.host_get_device_pointer", a, 1)
        acl("rt.host_unregister", a)
    acl("rt.host_get_device_pointer", a, 0, note="not registered")
    acl("rt.host_register", 0, 64, 0)
    acl("rt.host_register", a, 0, 0)


@group("topic:reductions and cache")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 4096, 0)
    q, _ = acl("rt.malloc", 4096, 0)
    for k in (10, 11, 12, 13, 0):
        acl("rt.reduce_async", p, q, 64, k, 0, s, 0)
    for t in (0, 1, 2, 3, 6, 27, 4, 99):
        acl("rt.reduce_async", p, q, 64, 10, t, s, 0)
    acl("rt.reduce_async", p, q, 0, 10, 0, s, 0)
    acl("rt.reduce_async", p, q, 64, 10, 0, s, 1)
    acl("rt.reduce_async", 0, q, 64, 10, 0, s, 0)
    for t in (0, 1, 2, 3, 9):
        acl("rt.cmo_async", p, 4096, t, s)
    acl("rt.cmo_async", p, 0, 0, s)
    acl("rt.cmo_async", 0, 8, 0, s)
    acl("rt.synchronize_stream", s)


@group("topic:values in memory")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 4096, 0)
    acl("rt.value_write", p, 5, 0, s)
    acl("rt.value_wait", p, 5, 0, s)
    acl("rt.value_wait", p, 5, 1, s)
    acl("rt.value_wait", p, 1, 2, s)
    acl("rt.synchronize_stream_with_timeout", s, 2000)
    acl("rt.value_write", p, 2**64 - 1, 0, s)
    acl("rt.value_write", p, -1, 0, s)
    acl("rt.value_write", p + 1, 5, 0, s)
    acl("rt.value_write", p, 5, 1, s)
    acl("rt.value_wait", p, 5, 9, s)
    acl("rt.value_write", 0, 5, 0, s)


@group("topic:allocators")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    d = acl("rt.allocator_create_desc")
    acl("rt.allocator_register", s, d, note="nothing set")
    acl("rt.allocator_set_obj_to_desc", d, 1234)
    acl("rt.allocator_register", s, d, note="no functions")
    acl("rt.allocator_set_alloc_func_to_desc", d, lambda a, n: None)
    acl("rt.allocator_set_free_func_to_desc", d, lambda a, b: None)
    acl("rt.allocator_register", s, d, note="two functions")
    acl("rt.allocator_set_get_addr_from_block_func_to_desc", d, lambda b: 0)
    acl("rt.allocator_register", s, d, note="without the advise function")
    acl("rt.allocator_unregister", s)
    acl("rt.allocator_set_alloc_advise_func_to_desc", d, lambda a, n, x: None)
    acl("rt.allocator_register", s, d)
    acl("rt.allocator_register", s, d, note="again")
    acl("rt.allocator_register", 0, d)
    for f in (None, 5):
        acl("rt.allocator_set_alloc_func_to_desc", d, f, note="no check of callables")
    acl("rt.allocator_unregister", s)
    acl("rt.allocator_unregister", s, note="again")
    acl("rt.allocator_destroy_desc", d)
    acl("rt.allocator_destroy_desc", d, note="again")


@group("topic:allocators at work")
def _(acl: Recorder) -> None:
    """Python allocators give the runtime nothing: the values that they return are dropped."""
    ready(acl)
    s = stream_of(acl)
    d = acl("rt.allocator_create_desc")
    p, _ = acl("rt.malloc", 1 << 16, 0)
    seen = []

    def alloc(*a):
        seen.append(("alloc", len(a), a[-1], type(a[0]).__name__))
        return p

    def free(*a):
        seen.append(("free", len(a)))

    def addr(*a):
        seen.append(("addr", len(a)))
        return p

    acl("rt.allocator_set_obj_to_desc", d, 99)
    acl("rt.allocator_set_alloc_func_to_desc", d, alloc)
    acl("rt.allocator_set_free_func_to_desc", d, free)
    acl("rt.allocator_set_get_addr_from_block_func_to_desc", d, addr)
    acl("rt.allocator_set_alloc_advise_func_to_desc", d, alloc)
    acl("rt.allocator_register", s, d)
    acl.note(
        "code of an operator with workspace",
        ctypes.c_int(acl.simulator.aclsimRunOperator(ctypes.c_void_p(s), ctypes.c_size_t(256))).value,
    )
    acl.note("seen", seen)


@group("topic:memory repair")
def _(acl: Recorder) -> None:
    ready(acl)
    for n in (0, 1, 128, 129):
        acl("rt.get_mem_uce_info", 0, n)
    acl("rt.get_mem_uce_info", 9, 1)
    for v in (
        [],
        [{}],
        [{"addr": 0, "len": 0}],
        [{"addr": 0, "len": 0, "reserved": [0] * 14}],
        [{"addr": 0, "len": 0, "reserved": [0] * 15}],
        [5],
        (),
        None,
        [{"addr": "x"}],
        [{"addr": 0, "len": -1}],
    ):
        acl("rt.mem_uce_repair", 0, v)
