# SPDX-License-Identifier: Apache-2.0
"""Events and notifies that two processes share; every step waits for the other process's answer, none for time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.handles import raw

from ascend_rt import sim
from ascend_rt.testing import Latch

GARBAGE_HANDLE = b"no such event"

pytestmark = pytest.mark.usefixtures("no_shared_memory_is_left")


@pytest.fixture
def event(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateEventExWithFlag(out, lib.ACL_EVENT_IPC) == 0
    yield out[0]
    assert lib.aclrtDestroyEvent(out[0]) == 0


def name_of(lib: Any, ffi: Any, event: Any) -> bytes:
    handle = ffi.new("aclrtIpcEventHandle *")
    assert lib.aclrtIpcGetEventHandle(event, handle) == 0
    return bytes(ffi.buffer(handle.reserved))


OPEN = (
    "lib.aclrtIpcOpenEventHandle(ffi.new('aclrtIpcEventHandle *', [{name!r}])[0],"
    " objects.setdefault('event', ffi.new('aclrtEvent *')))"
)
STATUS = "[(s := ffi.new('aclrtEventRecordedStatus *')), lib.aclrtQueryEventStatus(objects['event'][0], s), s[0]][1:]"
CREATE = "lib.aclrtCreateEventExWithFlag(objects.setdefault('event', ffi.new('aclrtEvent *')), 0x40)"
CLOSE = "lib.aclrtDestroyEvent(objects['event'][0])"
NAME = (
    "[(h := ffi.new('aclrtIpcEventHandle *')), lib.aclrtIpcGetEventHandle(objects['event'][0], h)]"
    " and bytes(ffi.buffer(h.reserved))"
)


def test_another_process_sees_and_waits_for_a_record(lib, ffi, stream, event, process) -> None:
    assert process(OPEN.format(name=name_of(lib, ffi, event))) == "0"
    assert process(STATUS) == "[0, 1]"  # never recorded counts as complete
    with Latch(stream):
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == 0
        assert process(STATUS) == "[0, 0]"
        assert process("lib.aclrtStreamWaitEvent(raw, objects['event'][0])") == "0"
        assert process("stream.is_done") == "False"
        assert process("lib.aclrtSynchronizeEventWithTimeout(objects['event'][0], 20)") == "507047"
    assert process("stream.synchronize()") == "None"
    assert process("lib.aclrtSynchronizeEvent(objects['event'][0])") == "0"
    assert process(STATUS) == "[0, 1]"
    assert process(CLOSE) == "0"


@pytest.mark.simulator("held tasks")
def test_a_record_of_another_process_releases_a_stream_here(lib, ffi, stream, event, process) -> None:
    assert process(OPEN.format(name=name_of(lib, ffi, event))) == "0"
    assert process("[__import__('ascend_rt.sim'), lib.aclsimHold(1)][1]") == "0"
    assert process("lib.aclrtRecordEvent(objects['event'][0], raw)") == "0"
    assert lib.aclrtStreamWaitEvent(raw(ffi, stream), event) == 0
    assert not stream.is_done
    assert process("lib.aclsimHold(0)") == "0"
    stream.synchronize()
    assert process(CLOSE) == "0"


def test_a_wait_is_bound_to_the_record_it_was_issued_for(lib, ffi, stream, other, event, process) -> None:
    assert process(OPEN.format(name=name_of(lib, ffi, event))) == "0"
    with Latch(stream):
        assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == 0
        other.synchronize()  # nothing was recorded
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == 0
        assert lib.aclrtStreamWaitEvent(raw(ffi, other), event) == 0
        assert not other.is_done
    other.synchronize()
    assert process(CLOSE) == "0"


@pytest.mark.simulator("faults")
def test_the_newest_record_counts_and_not_the_own_one(lib, ffi, stream, other, event) -> None:
    handle, again = ffi.new("aclrtIpcEventHandle *"), ffi.new("aclrtEvent *")
    assert lib.aclrtIpcGetEventHandle(event, handle) == 0
    assert lib.aclrtIpcOpenEventHandle(handle[0], again) == 0
    with Latch(stream), sim.faults():
        assert lib.aclrtRecordEvent(event, raw(ffi, stream)) == 0  # pending
        sim.delay_tasks(0.02, other)
        assert lib.aclrtRecordEvent(again[0], raw(ffi, other)) == 0  # so is this one, when the wait begins
        assert lib.aclrtSynchronizeEventWithTimeout(event, 10_000) == 0
    assert lib.aclrtDestroyEvent(again[0]) == 0


def test_an_event_outlives_the_process_that_made_it(lib, ffi, stream, process) -> None:
    assert process(CREATE) == "0"
    name = eval(process(NAME))
    opened = ffi.new("aclrtEvent *")
    assert lib.aclrtIpcOpenEventHandle(ffi.new("aclrtIpcEventHandle *", [name])[0], opened) == 0
    assert process(CLOSE) == "0"
    assert lib.aclrtRecordEvent(opened[0], raw(ffi, stream)) == 0
    assert lib.aclrtSynchronizeEvent(opened[0]) == 0
    assert lib.aclrtDestroyEvent(opened[0]) == 0
    assert lib.aclrtIpcOpenEventHandle(ffi.new("aclrtIpcEventHandle *", [name])[0], opened) == 107000


def test_a_process_that_ends_without_destroying_leaves_nothing(process) -> None:
    # The fixture of all tests here looks at what is left.
    assert process(CREATE) == "0"


def shared_by(process: Any) -> list[Path]:
    return list(Path("/dev/shm").glob(f"ascend_rt-{process.pid}.*"))


@pytest.mark.simulator("internals")
def test_what_a_killed_process_leaves_is_removed_by_the_next_one(new_process: Callable[[], Any]) -> None:
    killed, alive = new_process(), new_process()
    assert killed(CREATE) == alive(CREATE) == "0"
    assert len(shared_by(killed)) == len(shared_by(alive)) == 1
    killed.kill()
    assert new_process()("Device(0).id") == "0"  # it shares nothing itself
    assert not shared_by(killed)
    assert len(shared_by(alive)) == 1  # it is still in use


@pytest.mark.simulator("internals")
def test_an_event_of_a_killed_process_ends_with_its_last_user(lib, ffi, stream, process) -> None:
    assert process(CREATE) == "0"
    name = eval(process(NAME))
    opened = ffi.new("aclrtEvent *")
    assert lib.aclrtIpcOpenEventHandle(ffi.new("aclrtIpcEventHandle *", [name])[0], opened) == 0
    process.kill()
    assert lib.aclrtRecordEvent(opened[0], raw(ffi, stream)) == 0
    assert lib.aclrtSynchronizeEvent(opened[0]) == 0
    assert lib.aclrtDestroyEvent(opened[0]) == 0
    assert not shared_by(process)


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("aclrtIpcGetEventHandle", ("NULL", "handle"), 100000),
        ("aclrtIpcGetEventHandle", ("event", "NULL"), 100000),
        ("aclrtIpcGetEventHandle", ("garbage", "handle"), 107017),
        ("aclrtIpcGetEventHandle", ("plain", "handle"), 107000),
        ("aclrtIpcOpenEventHandle", ("by value", "NULL"), 100000),
        ("aclrtIpcOpenEventHandle", ("by value", "out"), 107000),
        ("aclrtResetEvent", ("event", "stream"), 207000),
        ("aclrtEventGetTimestamp", ("event", "number"), 207000),
        ("aclrtGetEventId", ("event", "id"), 207000),
    ],
)
def test_bad_arguments(lib, ffi, stream, event, function: str, arguments: tuple, code: int) -> None:
    plain = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateEvent(plain) == 0
    handle = ffi.new("aclrtIpcEventHandle *", [GARBAGE_HANDLE])
    values = {
        "NULL": ffi.NULL,
        "event": event,
        "plain": plain[0],
        "garbage": ffi.cast("void *", 0x1234567800),
        "handle": handle,
        "by value": handle[0],
        "out": ffi.new("aclrtEvent *"),
        "stream": raw(ffi, stream),
        "number": ffi.new("uint64_t *"),
        "id": ffi.new("uint32_t *"),
    }
    assert getattr(lib, function)(*(values[a] for a in arguments)) == code
    assert lib.aclrtDestroyEvent(plain[0]) == 0


# --- notifies --------------------------------------------------------------------------------------------------------


IMPORT = "lib.aclrtNotifyImportByKey(objects.setdefault('notify', ffi.new('aclrtNotify *')), {key!r}, 0)"
RECORD = "lib.aclrtRecordNotify(objects['notify'][0], raw)"
GIVE_BACK = "lib.aclrtDestroyNotify(objects['notify'][0])"


def export(lib: Any, ffi: Any, notify: Any, flags: int) -> bytes:
    key = ffi.new("char[65]")
    assert lib.aclrtNotifyGetExportKey(notify, key, 65, flags) == 0
    return bytes(ffi.string(key))


def test_a_notify_between_processes(lib, ffi, stream, notify, process) -> None:
    key = export(lib, ffi, notify, lib.ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)
    assert process(IMPORT.format(key=key)) == "0"
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, stream), 0) == 0
    assert not stream.is_done
    assert process(RECORD) == "0"
    stream.synchronize()
    assert process("lib.aclrtWaitAndResetNotify(objects['notify'][0], raw, 0)") == "0"
    assert process("stream.is_done") == "False"
    assert lib.aclrtRecordNotify(notify, raw(ffi, stream)) == 0
    assert process("stream.synchronize()") == "None"
    assert process(GIVE_BACK) == "0"


def test_a_wait_from_before_the_export_passes_too(lib, ffi, stream, notify, process) -> None:
    assert lib.aclrtWaitAndResetNotify(notify, raw(ffi, stream), 0) == 0
    key = export(lib, ffi, notify, lib.ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)
    assert process(IMPORT.format(key=key)) == "0"
    assert not stream.is_done
    assert process(RECORD) == "0"
    stream.synchronize(timeout=20)
    assert process(GIVE_BACK) == "0"


def test_only_processes_that_were_named_may_import(lib, ffi, notify, process) -> None:
    key = export(lib, ffi, notify, lib.ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT)
    assert process(IMPORT.format(key=key)) == "207006"
    pid = ffi.new("int32_t[1]", [process.pid])
    assert lib.aclrtNotifySetImportPid(notify, pid, 1) == 0
    assert process(IMPORT.format(key=key)) == "0"
    assert process(GIVE_BACK) == "0"


def test_the_exporter_may_import_and_export_once(lib, ffi, notify) -> None:
    key = export(lib, ffi, notify, 0)
    again = ffi.new("aclrtNotify *")
    assert lib.aclrtNotifyImportByKey(again, key, 0) == 0
    assert lib.aclrtDestroyNotify(again[0]) == 0
    assert lib.aclrtNotifyGetExportKey(notify, ffi.new("char[65]"), 65, 0) == 507000
