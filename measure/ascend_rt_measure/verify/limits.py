# SPDX-License-Identifier: Apache-2.0
"""In a separate process: find the limits of device 0, with the library in use.

``python -m ascend_rt_measure.verify.limits [--smoke] [--only CASE ...]`` prints of each limit

- ``function``: what was called, and ``by``: whether the limit was ``"asked"``, or found because objects were
  ``"created"`` or tasks ``"submitted"`` until it was reached;
- ``value``: the answer, or null if the function refused; or how many there were;
- ``code`` of the refusal, or 0;
- ``ended``, if the limit was not asked: ``"refused"``; ``"blocked"``, the call did not return while nothing ran; or
  ``"bound"``, that there were as many as are tried or that it took too long, so that the limit is not known.

Objects are destroyed before the next limit is looked for. Neither the memory of the device nor that of the host
is exhausted; nor are IPC events, which may end with the files that a process can open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ascend_rt._runtime.driver import call, ffi, lib
from ascend_rt_measure.verify.measuring import Call, Latch, Resources, Result, bound, perform, run

_QUIET_S = 0.5  # a submission that takes longer, while nothing runs, is blocked


class Effort(NamedTuple):
    """How far a limit is looked for."""

    most_objects: int
    most_seconds: float  # for one kind of object
    most_tasks: int


FULL = Effort(70_000, 5.0, 5_000)
SMOKE = Effort(100, 1.0, 5_000)

Case = Callable[[Resources, Effort], Result]


# --- asked -----------------------------------------------------------------------------------------------------------


def _asked(function: str, kinds: list[str], *arguments: int, answer: int = 0) -> Case:
    """Ask a function that takes arguments, and then pointers to what it answers; one of the answers is the value."""

    def ask(held: Resources, effort: Effort) -> Result:
        outs = [ffi.new(f"{kind} *") for kind in kinds]
        ask_for, _ = bound(function)
        code = ask_for(*arguments, *outs)
        return {"value": None if code else outs[answer][0], "code": code, "by": "asked", "function": function}

    return ask


# Attributes that identify a device, such as the numbers of chips and servers, are left out.
_ATTRIBUTES = (
    "AICPU_CORE_NUM",
    "AICORE_CORE_NUM",
    "CUBE_CORE_NUM",
    "VECTOR_CORE_NUM",
    "WARP_SIZE",
    "MAX_THREAD_PER_VECTOR_CORE",
    "UBUF_PER_VECTOR_CORE",
    "TOTAL_GLOBAL_MEM_SIZE",
    "L2_CACHE_SIZE",
    "CUST_OP_PRIVILEGE",
    "HD_CONNECT_TYPE",
    "DEVICE_FORM_FACTOR",
    "IS_VIRTUAL",
    "NPU_ARCH",
)
_INFORMATION = ("AI_CORE_NUM", "VECTOR_CORE_NUM", "L2_SIZE")  # which releases before 8.5 have, too
_FEATURES = ("TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV", "SYSTEM_MEMQ_EVENT_CROSS_DEV")
_TIME_LIMITS_US = (1, 5_000_000)  # the first shows the shortest, both the step between two


_ASKED = {
    "devices": _asked("aclrtGetDeviceCount", ["uint32_t"]),
    **{
        name.lower(): _asked("aclrtGetDeviceInfo", ["int64_t"], 0, getattr(lib, f"ACL_DEV_ATTR_{name}"))
        for name in _ATTRIBUTES
    },
    **{
        f"capability_{name.lower()}": _asked(
            "aclGetDeviceCapability", ["int64_t"], 0, getattr(lib, f"ACL_DEVICE_INFO_{name}")
        )
        for name in _INFORMATION
    },
    **{
        f"feature_{name.lower()}": _asked(
            "aclrtGetDeviceCapability", ["int32_t"], 0, getattr(lib, f"ACL_FEATURE_{name}")
        )
        for name in _FEATURES
    },
    **{
        f"{memory}_{part}": _asked("aclrtGetMemInfo", ["size_t", "size_t"], attribute, answer=answer)
        for memory, attribute in (("memory", lib.ACL_HBM_MEM), ("ddr_memory", lib.ACL_DDR_MEM))
        for answer, part in enumerate(("free", "total"))
    },
    **{
        f"stream_priority_{end}": _asked("aclrtDeviceGetStreamPriorityRange", ["int32_t", "int32_t"], answer=answer)
        for answer, end in enumerate(("least", "greatest"))
    },
    "streams_available": _asked("aclrtGetStreamAvailableNum", ["uint32_t"]),
    "events_available": _asked("aclrtGetEventAvailNum", ["uint32_t"]),
    "operator_timeout_interval_us": _asked("aclrtGetOpTimeOutInterval", ["uint64_t"]),
    "operator_timeout_ms": _asked("aclrtGetOpExecuteTimeout", ["uint32_t"]),
}

# They set the limit for the process, too: they come when its tasks are done.
_OPERATOR_TIMEOUTS = {
    f"operator_timeout_us_for_{asked}": _asked("aclrtSetOpExecuteTimeOutV2", ["uint64_t"], asked)
    for asked in _TIME_LIMITS_US
}


# --- created ---------------------------------------------------------------------------------------------------------


def _created(create: str, destroy: str, flags: tuple[int, ...], held: Resources, effort: Effort) -> Result:
    """Create objects until that is refused."""
    out = ffi.new("void **")
    create_one, arguments = bound(create, out, *flags)
    deadline = time.monotonic() + effort.most_seconds
    count = code = 0
    while count < effort.most_objects and time.monotonic() < deadline:
        code = create_one(*arguments)
        if code:
            break
        held.callback(perform, bound(destroy, out[0]))
        count += 1
    ended = "refused" if code else "bound"
    return {"value": count, "code": code, "by": "created", "function": create, "ended": ended}


_NEW_EVENT, _NEW_EX_EVENT, _NEW_NOTIFY = "aclrtCreateEventWithFlag", "aclrtCreateEventExWithFlag", "aclrtCreateNotify"
_CREATED = {
    "streams": ("aclrtCreateStream", "aclrtDestroyStream", ()),
    "events": ("aclrtCreateEvent", "aclrtDestroyEvent", ()),
    "events_sync": (_NEW_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_SYNC,)),
    "events_stream_progress": (_NEW_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_CAPTURE_STREAM_PROGRESS,)),
    "events_time_line": (_NEW_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_TIME_LINE,)),
    "events_device_use_only": (_NEW_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_DEVICE_USE_ONLY,)),
    "events_external": (_NEW_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_EXTERNAL,)),
    "events_ex_sync": (_NEW_EX_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_SYNC,)),
    "events_ex_stream_progress": (_NEW_EX_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_CAPTURE_STREAM_PROGRESS,)),
    "events_ex_time_line": (_NEW_EX_EVENT, "aclrtDestroyEvent", (lib.ACL_EVENT_TIME_LINE,)),
    "notifies": (_NEW_NOTIFY, "aclrtDestroyNotify", (lib.ACL_NOTIFY_DEFAULT,)),
    "notifies_device_use_only": (_NEW_NOTIFY, "aclrtDestroyNotify", (lib.ACL_NOTIFY_DEVICE_USE_ONLY,)),
}


# --- submitted -------------------------------------------------------------------------------------------------------


class _Submitter(threading.Thread):
    """Submits one task after the other until that is refused, or there are enough."""

    def __init__(self, task: Call, most: int) -> None:
        super().__init__(daemon=True)
        self.count = self.code = 0
        self._task = task
        self._most = most
        self._current = ffi.new("aclrtContext *")  # _context is Python's own, from 3.14 on
        call("aclrtGetCurrentContext", self._current)

    def run(self) -> None:
        lib.aclrtSetCurrentContext(self._current[0])  # if it fails, so do the submissions
        submit, arguments = self._task
        while self.count < self._most:
            self.code = submit(*arguments)
            if self.code:
                break
            self.count += 1


def _queue_depth(held: Resources, effort: Effort) -> Result:
    """Count the tasks that a stream takes while the first of them, a function of the host, does not end."""
    stream = held.stream()
    task = bound("aclrtMemsetAsync", held.device_memory(1), 1, 1, 1, stream)
    latch = Latch(held, stream)
    perform(task)  # raises if there is no such function
    call("aclrtSynchronizeStream", stream)
    latch.close()
    submitter = _Submitter(task, effort.most_tasks - 1)
    submitter.start()
    held.callback(submitter.join)
    held.callback(latch.open)
    seen = -1
    while submitter.is_alive() and seen != submitter.count:
        seen = submitter.count
        submitter.join(_QUIET_S)
    count, code = 1 + submitter.count, submitter.code
    ended = "refused" if code else "blocked" if submitter.is_alive() else "bound"
    return {"value": count, "code": code, "by": "submitted", "function": "aclrtMemsetAsync", "ended": ended}


# --- all of them -----------------------------------------------------------------------------------------------------

CASES: dict[str, Case] = {
    **_ASKED,
    **{name: partial(_created, *how) for name, how in _CREATED.items()},
    "queue_depth": _queue_depth,
    **_OPERATOR_TIMEOUTS,
}


def main() -> None:
    """Find the limits."""
    run("Find the limits of device 0.", CASES, FULL, SMOKE)


if __name__ == "__main__":
    main()
