# SPDX-License-Identifier: Apache-2.0
"""Parts of the programs that measure on device 0, case by case: see latencies.py and limits.py.

Such a program prints lines of JSON and nothing else: ``{"begin": case}`` before a case, and after it
``{"case": case, ...}`` with what was found, or with ``error``: the ``function`` that failed or is missing, and its
``code``; the other cases go on. A case that takes longer than ``CASE_LIMIT_S`` ends the process.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar

from ascend_rt._runtime.driver import call, check, ffi, lib, supports
from ascend_rt.errors import AclError
from ascend_rt_measure.verify.children import results
from ascend_rt_measure.verify.strict_json import dumps

CASE_LIMIT_S = 60.0

_REPORT_WAIT_MS = 100
_REPORTED = (0, lib.ACL_ERROR_RT_REPORT_TIMEOUT)

Result = dict[str, Any]
Call = tuple[Callable[..., int], tuple[Any, ...]]


# --- what a case works with ------------------------------------------------------------------------------------------


class Resources(ExitStack):
    """Objects of a case; destroyed at its end, the newest first."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[Any] = []  # alive until the streams are destroyed that may call them

    def create(self, kind: str, creator: str, destroyer: str, *arguments: Any) -> Any:
        """Create an object by a function whose first argument is where to put it."""
        out = ffi.new(f"{kind} *")
        call(creator, out, *arguments)
        self.callback(call, destroyer, out[0])
        return out[0]

    def stream(self) -> Any:
        """Create a stream."""
        return self.create("aclrtStream", "aclrtCreateStream", "aclrtDestroyStreamForce")

    def event(self, flags: int = lib.ACL_EVENT_SYNC) -> Any:
        """Create an event, by default one without a time stamp."""
        return self.create("aclrtEvent", "aclrtCreateEventExWithFlag", "aclrtDestroyEvent", flags)

    def device_memory(self, size: int) -> Any:
        """Allocate memory of the device."""
        return self.create("void *", "aclrtMalloc", "aclrtFree", size, lib.ACL_MEM_MALLOC_HUGE_FIRST)

    def pinned_memory(self, size: int) -> Any:
        """Allocate pinned memory of the host."""
        return self.create("void *", "aclrtMallocHost", "aclrtFreeHost", size)

    def drained(self, stream: Any) -> None:
        """Wait for the stream before what has been made so far is destroyed; a case that failed may have left work."""
        self.callback(lib.aclrtSynchronizeStream, stream)

    def host_function(self, function: Callable[[], object], stream: Any) -> Call:
        """Return the call that submits a function to a stream; it blocks the stream while it runs."""
        return bound("aclrtLaunchHostFunc", stream, self._entry(function), ffi.NULL)

    def reported_callback(self, function: Callable[[], object], stream: Any) -> Call:
        """Return such a call for a stream with a subscription, and begin a thread that runs what is reported."""
        subscribed, ended = threading.Event(), threading.Event()

        def process() -> None:
            subscribed.wait()
            while not ended.is_set() and lib.aclrtProcessReport(_REPORT_WAIT_MS) in _REPORTED:
                pass

        def end() -> None:
            ended.set()
            subscribed.set()
            thread.join()

        thread = threading.Thread(target=process, daemon=True)
        thread.start()
        self.callback(end)
        call("aclrtSubscribeReport", thread.ident, stream)
        self.callback(call, "aclrtUnSubscribeReport", thread.ident, stream)
        subscribed.set()
        return bound("aclrtLaunchCallback", self._entry(function), ffi.NULL, lib.ACL_CALLBACK_BLOCK, stream)

    def _entry(self, function: Callable[[], object]) -> Any:
        entry = ffi.callback("void(void *)", lambda _: function())
        self._entries.append(entry)
        return entry


class Latch:
    """Keeps a stream busy, by a function of the host that runs until the latch is opened."""

    def __init__(self, held: Resources, stream: Any) -> None:
        self.began_ns = self.ended_ns = 0
        self._is_running, self._is_open = threading.Event(), threading.Event()
        # Releases before 8.5 have no host functions.
        launcher = held.host_function if supports("aclrtLaunchHostFunc") else held.reported_callback
        self._launch = launcher(self._run, stream)
        held.drained(stream)
        held.callback(self.open)

    def close(self) -> None:
        """Submit the function, and wait until it runs."""
        self._is_running.clear()
        self._is_open.clear()
        perform(self._launch)
        self._is_running.wait()

    def open(self) -> None:
        """Let the function return."""
        self._is_open.set()

    def _run(self) -> None:
        self.began_ns = time.perf_counter_ns()
        self._is_running.set()
        self._is_open.wait()
        self.ended_ns = time.perf_counter_ns()


def bound(function: str, *arguments: Any) -> Call:
    """Return a function with its arguments."""
    return getattr(lib, function), arguments


def perform(one: Call) -> None:
    """Make a call; raise what it failed with."""
    function, arguments = one
    check(function(*arguments), function.__name__)


# --- the process -----------------------------------------------------------------------------------------------------


_Effort = TypeVar("_Effort")


def run(
    description: str, cases: Mapping[str, Callable[[Resources, _Effort], Result]], full: _Effort, smoke: _Effort
) -> None:
    """Be a program that prints what the cases find on device 0; a case that hangs ends the process."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="only show that everything works")
    parser.add_argument("--only", nargs="+", choices=cases, default=cases, metavar="CASE", help="only these cases")
    arguments = parser.parse_args()
    effort = smoke if arguments.smoke else full
    with results() as out, open(os.devnull, "w", encoding="utf-8") as nowhere:
        fault: AclError | None = None
        for number, name in enumerate(arguments.only):
            print(dumps({"begin": name}), file=out, flush=True)
            faulthandler.dump_traceback_later(CASE_LIMIT_S, exit=True, file=nowhere)
            if number == 0:
                fault = _open_device()
            result = _outcome(cases[name], effort, fault)
            print(dumps({"case": name, **result}), file=out, flush=True)
        if fault is None:
            lib.aclrtResetDevice(0)  # the result is kept whatever these answer
            lib.aclFinalize()
        faulthandler.cancel_dump_traceback_later()


def _open_device() -> AclError | None:
    """Set the device; return what failed."""
    try:
        call("aclInit", ffi.NULL)
        call("aclrtSetDevice", 0)
    except AclError as error:
        return error
    return None


def _outcome(case: Callable[[Resources, _Effort], Result], effort: _Effort, fault: AclError | None) -> Result:
    try:
        if fault is not None:
            raise fault
        with Resources() as held:
            return case(held, effort)
    except AclError as error:
        first = error
        while isinstance(first.__context__, AclError):  # later errors came while the case cleaned up
            first = first.__context__
        return {"error": {"function": first.function, "code": first.code}}
