# SPDX-License-Identifier: Apache-2.0
"""The calls that were made of the vendor's extension: ``python calls.py PREFIX…`` makes those of the groups anew.

For most functions there is a group of calls with wrong arguments, and with null arguments before and after ``init``.
The other groups are about a topic.
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy
from recorder import Recorder, group, main

DATA = Path(__file__).resolve().parents[2] / "data" / "pyacl"

# --- arguments -------------------------------------------------------------------------------------------------------

FORMATS = json.loads((DATA / "signatures.json").read_text(encoding="utf-8"))

# Valid and wrong arguments for each letter of a format.
VALID: dict[str, Any] = {**dict.fromkeys("kKiIlLHb", 0), "f": 1.0, "s": "x"}
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("kKI", ("x", 1.5, None)),
    "i": ("x", 1.5, None, 2**31, -(2**31) - 1),
    **dict.fromkeys("lL", ("x", 1.5, 2**63)),
    "H": ("x", 1.5),
    "f": ("x", None),
    "s": (1, None, b"x", "a\0b"),
    "O": (),
}


def nothing(*arguments: object) -> None:
    pass


OBJECTS: dict[str, tuple[Any, ...]] = {
    "acl.rt.allocator_set_alloc_advise_func_to_desc": (nothing,),
    "acl.rt.allocator_set_alloc_func_to_desc": (nothing,),
    "acl.rt.allocator_set_free_func_to_desc": (nothing,),
    "acl.rt.allocator_set_get_addr_from_block_func_to_desc": (nothing,),
    "acl.rt.binary_load_from_file": ([],),
    "acl.rt.ipc_mem_set_import_pid": ([],),
    "acl.rt.launch_callback": (nothing, []),
    "acl.rt.malloc_physical": ({},),
    "acl.rt.malloc_with_cfg": ({},),
    "acl.rt.mem_set_pid_to_shareable_handle": ([],),
    "acl.rt.mem_uce_repair": ([],),
    "acl.rt.set_stream_attribute": ({},),
    "acl.util.bytes_to_ptr": (b"x",),
    "acl.util.numpy_to_ptr": (b"x",),
    "acl.util.ptr_to_numpy": ((1,),),
    "acl.util.start_thread": (nothing, []),
}
# Results that depend on the machine.
LOOSE = {
    "acl.rt.get_mem_info": (0, 1),
    "acl.rt.device_get_bare_tgid": (0,),
    "acl.rt.get_event_avail_num": (0,),
}


def arguments(name: str) -> None:
    @group(f"args:{name}")
    def run(acl: Recorder) -> None:
        short = name.removeprefix("acl.")
        letters = FORMATS[name].replace("|", "")
        objects = iter(OBJECTS.get(name, ()))
        valid = [next(objects) if letter == "O" else VALID[letter] for letter in letters]
        loose = LOOSE.get(name, ())
        if letters:
            if "|" not in FORMATS[name]:
                acl(short)
            if len(letters) > 1:
                acl(short, *valid[:-1], note="one too few")
            acl(short, *valid, 0, note="one too many")
            for i, letter in enumerate(letters):
                for wrong in WRONG[letter]:
                    acl(short, *valid[:i], wrong, *valid[i + 1 :], note=f"argument {i + 1}")
        acl(short, keywords={"stream": 0})
        acl(short, *valid, loose=loose, note="before init")
        acl("init")
        acl("rt.set_device", 0)
        if not letters:
            acl(short, 1, loose=loose, note="an argument that is not wanted")
        acl(short, *valid, loose=loose, note="after init and set_device")


for recorded in json.loads((DATA / "observed.json").read_text(encoding="utf-8")):
    if recorded["group"].startswith("args:"):
        arguments(recorded["group"].removeprefix("args:"))


# --- topics ----------------------------------------------------------------------------------------------------------


def ready(acl):
    acl("init")
    acl("rt.set_device", 0)


def stream_of(acl):
    return acl("rt.create_stream")[0]


def host(size: int = 64) -> int:
    """Pageable host memory that lives as long as the process."""
    KEEP.append(ctypes.create_string_buffer(size))
    return ctypes.addressof(KEEP[-1])


KEEP: list[Any] = []


@group("topic:module")
def _(acl: Recorder) -> None:
    m = acl.module
    for sub in ("rt", "mdl", "media", "op", "blas", "util", "prof", "himpi", "fv"):
        s = getattr(m, sub, None)
        acl.note(f"type of acl.{sub}", type(s).__name__)
        acl.note(f"name of acl.{sub}", getattr(s, "__name__", None))
    acl.note("acl.rt in sys.modules", f"{m.__name__}.rt" in sys.modules)
    acl.note("integer constants in acl", [n for n in dir(m) if isinstance(getattr(m, n), int)])
    acl.note("integer constants in acl.rt", [n for n in dir(m.rt) if isinstance(getattr(m.rt, n), int)])
    acl.note(
        "functions of acl",
        sorted(n for n in dir(m) if callable(getattr(m, n)) and not n.startswith("_") and "tensor" not in n),
    )
    acl.note(
        "functions of acl.rt", sorted(n for n in dir(m.rt) if callable(getattr(m.rt, n)) and not n.startswith("_"))
    )
    acl.note(
        "functions of acl.util",
        sorted(n for n in dir(m.util) if callable(getattr(m.util, n)) and not n.startswith("_")),
    )
    acl.note("type of a function", type(m.rt.malloc).__name__)
    acl.note("__name__ of a function", m.rt.malloc.__name__)
    acl.note("__module__ of a function", m.rt.malloc.__module__)


@group("topic:configuration files")
def _(acl: Recorder) -> None:
    d = tempfile.mkdtemp()
    acl("init", "/no/such/file.json")
    acl("get_recent_err_msg", loose=True)
    for i, text in enumerate(("{}", "", "[", '{"err_msg_mode": "1"}')):
        path = Path(d, f"{i}.json")
        path.write_text(text)
        acl("init", str(path), note=repr(text))
        acl("finalize")


@group("topic:top level")
def _(acl: Recorder) -> None:
    acl("get_soc_name")
    acl("get_version")
    for t in (-1, 0, 1, 2, 3, 6, 9, 11, 12, 27, 1000):
        acl("data_type_size", t)
    for v in (0.0, 1.0, -2.5, 65504.0, 1e9, float("inf"), float("nan"), 1):
        acl("float_to_float16", v)
    for v in (0, 15360, 31744, 65535, 65536, -1):
        acl("float16_to_float", v)
    a = host()
    d = acl("create_data_buffer", a, 64)
    acl("get_data_buffer_addr", d)
    acl("get_data_buffer_size", d)
    acl("get_data_buffer_size_v2", d)
    acl("update_data_buffer", d, a, 2**33 + 5)
    acl("get_data_buffer_size", d, note="32 bits")
    acl("get_data_buffer_size_v2", d)
    acl("destroy_data_buffer", d)
    acl("create_data_buffer", 0, 0)
    acl("app_log", 1, "text %s %d")
    acl("app_log", 9, "text")
    acl("app_log", 0, "umlaut ü")
    for p in ("runtime", "", "no-such"):
        acl("get_version_str", p)
    for p in (0, 1, 99):
        acl("get_cann_version", p)
    acl("get_cann_attribute_list")
    for i in (0, 1, 2, 3):
        acl("get_device_capability", 0, i)
    acl("get_device_capability", 7, 0)
    acl("init")
    acl("get_device_capability", 0, 0)


@group("topic:overflow")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 512, 0)
    acl("rt.set_device_sat_mode", 0)
    acl("rt.get_stream_overflow_switch", s)
    acl("rt.set_stream_overflow_switch", s, 1)
    acl("rt.get_stream_overflow_switch", s)
    acl("rt.set_stream_overflow_switch", s, 2)
    acl("rt.set_device_sat_mode", 1)
    acl("rt.get_stream_overflow_switch", s)
    acl("rt.set_stream_overflow_switch", s, 1)
    acl("rt.get_overflow_status", p, 64, s)
    acl("rt.get_overflow_status", p, 1, s)
    acl("rt.reset_overflow_status", s)
    acl("rt.synchronize_stream", s)


@group("topic:streams")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    acl("rt.stream_get_id", s)
    acl("rt.stream_query", s)
    acl("rt.synchronize_stream", s)
    for t in (-1, 0, 1, 100, -2):
        acl("rt.synchronize_stream_with_timeout", s, t)
    for p, f in ((0, 0), (0, 1), (7, 2), (8, 0), (0, 4), (0, 8), (0, 16), (0, 32), (0, 64), (-1, 0), (0, -1)):
        acl("rt.create_stream_with_config", p, f)
    for m in (0, 1, 2):
        acl("rt.set_stream_failure_mode", s, m)
    acl("rt.stream_abort", s)
    for h in (s + 8, 12345678901, 1):
        acl("rt.synchronize_stream", h, note="no stream")
    acl("rt.destroy_stream", s)
    acl("rt.destroy_stream", s, note="again")
    acl("rt.stream_query", s, note="destroyed")
    acl("rt.destroy_stream_force", stream_of(acl))
    d, _ = acl("rt.ctx_get_current_default_stream")
    acl("rt.destroy_stream", d, note="default stream")
    acl("rt.synchronize_stream", d)
    acl("rt.synchronize_stream", 0)
    acl("rt.get_stream_available_num", loose=(0,))


@group("topic:stream resources")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    for t in (0, 1, 2):
        acl("rt.get_stream_res_limit", s, t)
    acl("rt.set_stream_res_limit", s, 0, 4)
    acl("rt.get_stream_res_limit", s, 0)
    acl("rt.set_stream_res_limit", s, 0, 100000)
    acl("rt.set_stream_res_limit", s, 7, 1)
    acl("rt.get_res_in_current_thread", 0)
    acl("rt.use_stream_res_in_current_thread", s)
    acl("rt.get_res_in_current_thread", 0)
    acl("rt.unuse_stream_res_in_current_thread", s)
    acl("rt.get_res_in_current_thread", 0)
    acl("rt.reset_stream_res_limit", s)
    acl("rt.get_stream_res_limit", s, 0)


@group("topic:events")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    e, _ = acl("rt.create_event")
    for f in ("query_event", "query_event_status", "query_event_wait_status"):
        acl(f"rt.{f}", e, note="never recorded")
    acl("rt.synchronize_event", e, note="never recorded")
    acl("rt.event_get_timestamp", e, note="never recorded")
    acl("rt.record_event", e, s)
    acl("rt.synchronize_event", e)
    for f in ("query_event", "query_event_status", "query_event_wait_status"):
        acl(f"rt.{f}", e, note="complete")
    acl("rt.synchronize_event_with_timeout", e, 10)
    acl("rt.synchronize_event_with_timeout", e, 0)
    acl("rt.synchronize_event_with_timeout", e, -5)
    acl("rt.event_get_timestamp", e)
    acl("rt.get_event_id", e)
    t = stream_of(acl)
    acl("rt.stream_wait_event", t, e)
    acl("rt.synchronize_stream", t)
    acl("rt.query_event_wait_status", e)
    acl("rt.reset_event", e, s)
    acl("rt.reset_event", e, 0)
    acl("rt.stream_wait_event", e, t, note="arguments the other way round")
    acl("rt.record_event", s, e, note="arguments the other way round")
    acl("rt.destroy_event", e)
    acl("rt.destroy_event", e, note="again")
    acl("rt.query_event", e, note="destroyed")
    acl("rt.record_event", 0, s)
    acl("rt.record_event", 99, s)
    acl("rt.get_event_avail_num", loose=(0,))


@group("topic:elapsed time")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    a, b = acl("rt.create_event")[0], acl("rt.create_event")[0]
    acl("rt.event_elapsed_time", a, b, note="never recorded")
    acl("rt.record_event", a, s)
    acl("rt.event_elapsed_time", a, b, note="end never recorded")
    acl("rt.synchronize_stream", s)
    time.sleep(0.002)
    acl("rt.record_event", b, s)
    acl("rt.synchronize_stream", s)
    acl("rt.event_elapsed_time", a, b)
    acl("rt.event_elapsed_time", b, a, note="reversed")
    acl("rt.event_elapsed_time", a, a)
    acl.note("milliseconds", 1.9 < acl.module.rt.event_elapsed_time(a, b)[0] < 2000)
    c, _ = acl("rt.create_event_with_flag", 1)
    acl("rt.record_event", c, s)
    acl("rt.synchronize_stream", s)
    acl("rt.event_elapsed_time", a, c, note="end without time line")
    acl("rt.destroy_event", b)
    acl("rt.event_elapsed_time", a, b, note="end destroyed")


@group("topic:GIL")
def _(acl: Recorder) -> None:
    """Which waiting calls let other Python threads run (needs aclsimHold)."""
    ready(acl)
    s = stream_of(acl)
    e, _ = acl("rt.create_event")
    p, _ = acl("rt.malloc", 64, 0)
    acl.simulator.aclsimHold(1)
    acl("rt.memset_async", p, 64, 1, 64, s)
    acl("rt.record_event", e, s)
    # Another thread gets the GIL only when this one gives it away: CPython takes it after a thousand seconds.
    sys.setswitchinterval(1000)
    waits = (
        ("rt.synchronize_stream_with_timeout", (s, 200)),
        ("rt.synchronize_event_with_timeout", (e, 200)),
        ("rt.synchronize_device_with_timeout", (200,)),
    )
    for name, args in waits:
        is_waiting, ran = threading.Lock(), []
        is_waiting.acquire()
        other = threading.Thread(target=lambda lock=is_waiting, ran=ran: ran.append(lock.acquire()))
        other.start()
        is_waiting.release()
        acl(name, *args)
        acl.note(f"other threads ran during acl.{name}", bool(ran))
        other.join()
    threading.Thread(target=acl.simulator.aclsimHold, args=(0,)).start()
    acl("rt.synchronize_stream", s, note="another Python thread ends the wait")
    acl.note("released", True)


@group("topic:notifies")
def _(acl: Recorder) -> None:
    ready(acl)
    s, t = stream_of(acl), stream_of(acl)
    n, _ = acl("rt.create_notify", 0)
    for f in (1, 2, 4):
        acl("rt.create_notify", f)
    acl("rt.get_notify_id", n)
    acl("rt.record_notify", n, s)
    acl("rt.wait_and_reset_notify", n, t, 0)
    acl("rt.synchronize_stream", t)
    for v in (1000, 2**32 - 1):
        acl("rt.record_notify", n, s)
        acl("rt.wait_and_reset_notify", n, t, v)
        acl("rt.synchronize_stream", t)
    for v in (2**32, -1, 2**63, -(2**63), 1.0):
        acl("rt.wait_and_reset_notify", n, t, v)
    acl("rt.notify_batch_reset", [n])
    acl("rt.notify_batch_reset", [n, n])
    acl("rt.notify_batch_reset", [])
    acl("rt.notify_batch_reset", [0])
    for v in ((n,), {n: 1}, None, n, [None], [1.5], ["x"], [-1], [2**64], [True]):
        acl("rt.notify_batch_reset", v)
    acl("rt.destroy_notify", n)
    acl("rt.destroy_notify", n)
    acl("rt.record_notify", n, s)


@group("topic:notifies between processes")
def _(acl: Recorder) -> None:
    ready(acl)
    n, _ = acl("rt.create_notify", 0)
    for length in (0, 64, 65, 128, 1023, 1024, -1):
        acl("rt.notify_get_export_key", n, length, 0)
    for f in (1, 2):
        acl("rt.notify_get_export_key", n, 65, f)
    k = acl("rt.notify_get_export_key", acl("rt.create_notify", 0)[0], 65, 0)
    key = (k or ("",))[0]
    acl.note("length of a key", len(key) > 0)
    for v in ([], [1], [os.getpid(), 2], (1,), None, [1.5], [2**31], [2**63], ["1"], [True]):
        acl("rt.notify_set_import_pid", n, v)
    acl("rt.notify_import_by_key", key, 0, note="in the same process")
    acl("rt.notify_import_by_key", key, 2, note="enable peer access")
    acl("rt.notify_import_by_key", "x", 0)
    acl("rt.notify_import_by_key", "", 0)
    for wrong in (1, None, b"x", "a\0b"):
        acl("rt.notify_import_by_key", wrong, 0)


@group("topic:callbacks with threading.Thread")
def _(acl: Recorder) -> None:
    ready(acl)
    context, _ = acl("rt.get_context")
    s = stream_of(acl)
    seen, stop, codes = [], [], set()
    changed = threading.Condition()

    def loop() -> None:
        acl.module.rt.set_context(context)
        while not stop:
            code = acl.module.rt.process_report(20)
            with changed:
                codes.add(code)
                changed.notify()

    def wait_for(code: int) -> None:
        with changed:
            changed.wait_for(lambda: code in codes)

    t = threading.Thread(target=loop)
    t.start()
    wait_for(107012)  # it is not subscribed
    acl("rt.subscribe_report", t.ident, s)
    wait_for(507012)  # there is nothing to do
    acl("rt.launch_callback", lambda a: seen.append(a), [3], 1, s)
    acl("rt.synchronize_stream", s)
    wait_for(0)
    acl.note("seen", seen)
    acl("rt.unsubscribe_report", t.ident, s)
    stop.append(1)
    t.join()
    acl.note("codes of process_report", sorted(codes))


@group("topic:process_report")
def _(acl: Recorder) -> None:
    acl("rt.process_report", 10, note="before init")
    ready(acl)
    s = stream_of(acl)
    for t in (10, 0, -1, -2):
        acl("rt.process_report", t, note="not subscribed")
    me = threading.get_ident()
    acl("rt.subscribe_report", me, s)
    acl("rt.process_report", 10, note="nothing to do")
    acl("rt.process_report", 0)
    acl("rt.process_report", -2)
    seen = []
    acl("rt.launch_callback", lambda a: seen.append(a), "one", 1, s)
    acl("rt.launch_callback", lambda a: seen.append(a), "two", 1, s)
    acl("rt.process_report", 1000, note="two callbacks")
    while len(seen) < 2:
        acl.module.rt.process_report(1000)
    acl.note("seen", seen)
    acl("rt.synchronize_stream", s)
    acl("rt.unsubscribe_report", me, s)


@group("topic:references of callbacks")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    acl("rt.subscribe_report", threading.get_ident(), s)

    class Thing:
        pass

    x = Thing()
    alive = weakref.ref(x)
    done = []
    acl("rt.launch_callback", lambda a: done.append(type(a).__name__), x, 1, s)
    del x
    gc.collect()
    acl.note("argument kept until the call", alive() is not None)
    acl.module.rt.process_report(1000)
    acl("rt.synchronize_stream", s)
    gc.collect()
    acl.note("called", done)
    acl.note("argument given back after the call", alive() is None)


@group("topic:exception callbacks")
def _(acl: Recorder) -> None:
    ready(acl)
    for v in (None, 5, "x", [], len):
        acl("rt.set_exception_info_callback", v)
    acl("rt.set_exception_info_callback")
    acl("rt.set_exception_info_callback", None, None)
    for f in ("error_code", "task_id", "stream_id", "thread_id", "device_id"):
        acl(f"rt.get_{f}_from_exception_info", 0)
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 64, 0)
    seen = []

    def callback(*args):
        m = acl.module.rt
        i = args[0]
        seen.append(
            (
                len(args),
                type(i).__name__,
                m.get_error_code_from_exception_info(i),
                m.get_device_id_from_exception_info(i),
                m.get_stream_id_from_exception_info(i) == m.stream_get_id(s)[0],
                type(m.get_task_id_from_exception_info(i)).__name__,
                type(m.get_thread_id_from_exception_info(i)).__name__,
            )
        )

    acl("rt.set_exception_info_callback", callback)
    acl.simulator.aclsimFailTask(ctypes.c_void_p(s), ctypes.c_uint64(1), 507015)
    acl("rt.memset_async", p, 64, 1, 64, s)
    acl("rt.synchronize_stream", s)
    acl("rt.synchronize_stream", s, note="again")
    acl("rt.get_last_error", 0)
    acl.note("seen", seen)
    acl("rt.set_exception_info_callback", None)
    acl("rt.memset_async", p, 64, 1, 64, s)
    acl("rt.synchronize_stream", s)


@group("topic:exception callbacks that raise")
def _(acl: Recorder) -> None:
    ready(acl)
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 64, 0)
    seen = []

    def callback(i):
        seen.append(1)
        raise ValueError("no")

    acl("rt.set_exception_info_callback", callback)
    acl.simulator.aclsimFailTask(ctypes.c_void_p(s), ctypes.c_uint64(1), 507015)
    acl("rt.memset_async", p, 64, 1, 64, s)
    acl("rt.synchronize_stream", s)
    acl.note("seen", seen)


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


@group("topic:kernels")
def _(acl: Recorder) -> None:
    ready(acl)
    for v in ((), None, [5], [{}], [{"type": 1, "value": 1}], [{"type": "x"}], [{"type": 1, "value": -1}], [None]):
        acl("rt.binary_load_from_file", "/no/such.o", v)
        acl("rt.binary_load_from_data", 0, 0, v)
    acl("rt.binary_load_from_file", "", [])
    for n in (0, 1023, 1024, 2**32):
        acl("rt.get_function_name", 0, n)
    for a, b in (("", "k"), ("f", ""), ("f", "k")):
        acl("rt.register_cpu_func", 0, a, b)
    for v in ((), None, [5], [{}], [{"id": 1, "value": 1}], [{"id": 1, "value": -1}]):
        acl("rt.launch_kernel_with_config", 0, 1, 0, v, 0, 0)
    a = host()
    b = acl("rt.create_binary", a, 64)
    acl("rt.binary_load", b or 0)
    acl("rt.destroy_binary", b or 0)


@group("topic:groups of cores")
def _(acl: Recorder) -> None:
    ready(acl)
    acl("rt.get_group_count", 0)
    acl("rt.get_group_count", 77)
    g = acl("rt.create_group_info")
    acl("rt.get_all_group_info", g or 0)
    for a in (0, 1, 2, 99):
        acl("rt.get_group_info_detail", g or 0, 0, a)
    acl("rt.set_group", 0)
    acl("rt.destroy_group_info", g or 0)


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


@group("topic:time limits")
def _(acl: Recorder) -> None:
    ready(acl)
    acl("rt.get_op_execute_timeout", loose=())
    acl("rt.get_op_timeout_interval", loose=())
    for v in (0, 1, 100, 2**32 - 1):
        acl("rt.set_op_execute_time_out", v)
        acl("rt.get_op_execute_timeout")
        acl("rt.set_op_wait_timeout", v)
    for v in (0, 1, 10**6, 2**63):
        acl("rt.set_op_execute_timeout_v2", v)
    acl("rt.get_thread_last_task_id")
    s = stream_of(acl)
    p, _ = acl("rt.malloc", 64, 0)
    acl("rt.memset_async", p, 64, 0, 64, s)
    acl("rt.get_thread_last_task_id")


@group("topic:bytes and numpy")
def _(acl: Recorder) -> None:
    b = b"0123456789"
    p = acl("util.bytes_to_ptr", b)
    acl("util.ptr_to_bytes", p, 4)
    acl("util.ptr_to_bytes", p, 0)
    acl("util.ptr_to_bytes", p, -1)
    for v in (bytearray(b"x"), memoryview(b"x"), "x", None, 5, numpy.zeros(3)):
        acl("util.bytes_to_ptr", v)
    acl("util.bytes_to_ptr", b"")
    a = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    p = acl("util.numpy_to_ptr", a)
    acl.note("is the array's address", p == a.ctypes.data)
    acl("util.numpy_to_ptr", a[:, ::2], note="not contiguous")
    acl("util.numpy_to_ptr", [1, 2])
    acl("util.numpy_to_ptr", numpy.int32(5))
    r = acl("util.numpy_contiguous_to_ptr", a[:, ::2])
    acl.note("copy is contiguous", bool(r and r[1].flags.c_contiguous))
    r = acl("util.numpy_contiguous_to_ptr", a)
    acl.note("same array", bool(r and r[1] is a))
    for args in (
        (a.ctypes.data, (2, 3), 5),
        (a.ctypes.data, (6,), 5),
        (a.ctypes.data, (), 5),
        (a.ctypes.data, [6], 5),
        (a.ctypes.data, ("x",), 5),
        (a.ctypes.data, (1.5,), 5),
        (0, (1,), 5),
    ):
        v = acl("util.ptr_to_numpy", *args)
        if v is not None and args[0]:
            acl.note(
                "array", (str(v.dtype), v.shape, v.flags.writeable, v.flags.owndata, v.tolist() if v.size < 10 else 0)
            )
    v = acl.module.util.ptr_to_numpy(a.ctypes.data, (6,), 5)
    v[0] = 99
    acl.note("writes through", int(a[0, 0]))


@group("topic:profiling")
def _(acl: Recorder) -> None:
    ready(acl)
    acl("prof.init", "/tmp")
    acl("prof.init", "")
    for v in ([], [0], (0,), ["x"], [1.5], [-1], None):
        acl("prof.create_config", v, 0, 0, 0)
    acl("prof.create_config", [0], 1, 0, 3)
    acl("prof.create_stamp")
    acl("prof.create_step_info")
    acl("prof.set_config", 1, "x")
    acl("prof.set_config", 99, "")
    acl("prof.finalize")


@group("exit:nothing initialised")
def _(acl: Recorder) -> None:
    pass


@group("exit:left initialised")
def _(acl: Recorder) -> None:
    ready(acl)
    stream_of(acl)
    acl("rt.create_event")
    acl("rt.malloc", 64, 0)


@group("topic:whole interpreter")
def _(acl: Recorder) -> None:
    """Exit status of a program that leaves things behind."""
    for text in (
        "pass",
        "acl.init()",
        "acl.init(); acl.rt.set_device(0); s = acl.rt.create_stream()[0]",
        "acl.init(); acl.rt.set_device(0); import threading; s = acl.rt.create_stream()[0]; "
        "acl.rt.subscribe_report(threading.get_ident(), s); acl.rt.launch_callback(print, [], 1, s)",
        "acl.init(); acl.rt.set_device(0); acl.rt.set_exception_info_callback(print)",
    ):
        code = f"import importlib; acl = importlib.import_module({acl.module.__name__!r}); {text}"
        try:
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
            acl.note(text, (out.returncode, out.stdout, out.stderr[-60:]))
        except subprocess.TimeoutExpired:
            acl.note(text, "hangs")


@group("topic:synchronization chapter")
def _(acl: Recorder) -> None:
    """Two streams, events between them, callbacks, elapsed time."""
    ready(acl)
    context, _ = acl("rt.get_context")
    a, b = stream_of(acl), stream_of(acl)
    stop, order = [], []

    def loop(args: list[int]) -> None:
        acl.module.rt.set_context(args[0])
        while not stop:
            acl.module.rt.process_report(20)

    tid, _ = acl("util.start_thread", loop, [context])
    acl("rt.subscribe_report", tid, a)
    acl("rt.subscribe_report", tid, b)
    start, _ = acl("rt.create_event")
    end, _ = acl("rt.create_event")
    between, _ = acl("rt.create_event_with_flag", 1)
    acl("rt.record_event", start, a)
    is_all_launched = threading.Event()
    acl("rt.launch_callback", lambda x: (is_all_launched.wait(), order.append("a")), [], 1, a)
    acl("rt.record_event", between, a)
    acl("rt.stream_wait_event", b, between)
    acl("rt.launch_callback", lambda x: order.append("b"), [], 1, b)
    acl("rt.record_event", end, b)
    is_all_launched.set()
    acl("rt.synchronize_event", end)
    acl("rt.synchronize_device")
    acl.note("order", order)
    acl("rt.event_elapsed_time", start, end)
    acl("rt.reset_event", between, b)
    acl("rt.synchronize_stream", b)
    acl("rt.unsubscribe_report", tid, a)
    acl("rt.unsubscribe_report", tid, b)
    stop.append(1)
    acl("util.stop_thread", tid)
    for e in (start, end, between):
        acl("rt.destroy_event", e)
    for s in (a, b):
        acl("rt.destroy_stream", s)
    acl("rt.reset_device", 0)
    acl("finalize")


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
