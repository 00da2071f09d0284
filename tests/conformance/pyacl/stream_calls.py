# SPDX-License-Identifier: Apache-2.0
"""Calls for streams, events, notifies, kernels, and limits of time and of cores."""

from __future__ import annotations

import os
import sys
import threading
import time

from objects import host, ready, stream_of
from recorder import Recorder, group


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
