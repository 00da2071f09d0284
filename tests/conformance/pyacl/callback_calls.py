# SPDX-License-Identifier: Apache-2.0
"""Calls with functions in Python: callbacks of streams, reports, and callbacks for exceptions."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

from objects import ready, stream_of
from recorder import Recorder, group


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
        __module__ = "__main__"  # as when the calls were recorded

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
