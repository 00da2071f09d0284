# SPDX-License-Identifier: Apache-2.0
"""Objects that a reset of a device ends: their handles reach the library no more, and the error says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.threads import in_threads

import ascend_rt.pyacl as acl
from ascend_rt import (
    Buffer,
    CachingAllocator,
    Context,
    Device,
    Event,
    InvalidHandle,
    Notify,
    Stream,
    copy,
    fill_async,
    library,
    sim,
)
from ascend_rt._runtime import lifecycle
from ascend_rt.context import owner_of_new
from ascend_rt.errors import AclError, ClosedError

INVALID_HANDLE = 107017

Answers = dict[str, list[tuple[str, list[str]]]]  # name of a use -> what it has raised, and what it has called

# --- no call of the library ------------------------------------------------------------------------------------------

# A library in front of the simulator's that notes the name of each function that is called.
_HEAD = """\
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "acl.h"

static void *real;
static char noted[1 << 16];

__attribute__((constructor)) static void open_real(void) { real = dlopen(REAL, RTLD_NOW | RTLD_LOCAL); }

static void *note(const char *name) {
    if (strlen(noted) + strlen(name) + 2 < sizeof noted) {
        strcat(strcat(noted, name), " ");
    }
    return dlsym(real, name);
}

const char *noted_calls(void) { return noted; }
void forget_calls(void) { noted[0] = 0; }
"""


def forwarding(function: Any) -> str:
    """Return a function that notes its call and makes it."""
    values = ", ".join(parameter.name for parameter in function.parameters)
    call = f'((__typeof__(&{function.name}))note("{function.name}"))({values});'
    return f"{function.prototype} {{ {'' if function.returns == 'void' else 'return '}{call} }}"


# Uses of ended objects, positional and keyword. `live` has objects of the next epoch.
_SCRIPT = """
import asyncio, ctypes, gc, inspect, json, sys, types, warnings
import numpy as np
import ascend_rt as rt
from ascend_rt import *
from ascend_rt.errors import *
from ascend_rt.memory_pool import MemoryPool
from ascend_rt.random import Generator

warnings.simplefilter("error")
counting = ctypes.CDLL(sys.argv[1])
counting.noted_calls.restype = ctypes.c_char_p

if sys.argv[2] == "Python":  # no method takes its hot method while a function is replaced
    rt.lib.aclrtGetVersion = lambda *arguments: 0

addresses = []  # which no reset ends

class Live:
    def __init__(self):
        self.event, self.timed, self.gate = Event(), Event(timing=True), Event(manual_reset=True)
        self.stream, self.notify = Stream(), Notify()
        self.buffer, self.array = Buffer(4096), np.zeros(4096, np.uint8)

def make():
    made = dict(
        event=Event(), timed=Event(timing=True), gate=Event(manual_reset=True), shared=Event(ipc=True),
        raw=Event.with_flags(), stream=Stream(), notify=Notify(), buffer=Buffer(2 << 20), managed=ManagedBuffer(64),
        physical=PhysicalMemory(2 << 20, Device(0)), pool=MemoryPool(Device(0)))
    made["opened"] = Event.open(made["shared"].export())
    made["borrowed event"] = Event.from_handle(made["event"].handle)
    made["borrowed stream"] = Stream.from_handle(made["stream"].handle)
    made["default"] = Stream.default()
    made["view"] = made["buffer"][64:128]
    made["borrowed buffer"] = Buffer.from_handle(made["buffer"].handle, 64)
    made["exported"] = IpcMemory(made["buffer"])
    made["of pool"] = made["pool"].allocate(2 << 20, made["stream"])
    addresses.append(VirtualMemory(4 << 20))
    made["mapped"] = addresses[-1].map(made["physical"])
    made["virtual view"] = addresses[-1].buffer(64)
    with made["stream"].capture() as made["graph"]:
        made["stream"].launch_host_func(print)
    made["stream"].record(made["timed"])
    fill_async(made["buffer"], 1, made["stream"])
    return made

def use(name, act):
    gc.collect()
    counting.forget_calls()
    try:
        act()
        outcome = ""
    except BaseException as error:
        outcome = f"{type(error).__name__}: {error}"
    found = counting.noted_calls().decode().split()
    print(json.dumps([name, outcome, found]))

def enter(manager):
    with manager:
        pass

def spelled(method, *arguments):
    # A method by its arguments, positional and keyword.
    names = [p for p in inspect.signature(method).parameters][:len(arguments)]
    yield lambda: method(*arguments)
    if names and not any(inspect.signature(method).parameters[name].kind in (0, 2) for name in names):
        yield lambda: method(**dict(zip(names, arguments)))

def arguments(live):
    s = live.stream
    return {
        "Event.record": [(s,), ()], "Event.reset": [(s,), ()], "Event.synchronize": [(), (1.0,)],
        "Event.elapsed_time": [(live.timed,)], "Event.done": [()], "Event.export": [()],
        "Stream.record": [(), (live.event,)], "Stream.as_current": [()], "Stream.capture": [()],
        "Stream.wait": [(live.event,), (live.event, 1.0), (live.stream,), (live.notify,)],
        "Stream.synchronize": [(), (1.0,)], "Stream.done": [()], "Stream.check": [()], "Stream.abort": [()],
        "Stream.launch_host_func": [(print,)],
        "Notify.export": [()], "Notify.record": [(s,)], "Notify.wait": [(s,), (s, 1.0)],
        "Buffer.to_numpy": [()], "ManagedBuffer.prefetch": [],  # which no reset ends
        "MappedBuffer.allow": [(Device(0),)],
        "MemoryPool.allocate": [(64, s)], "MemoryPool.trim": [()], "MemoryPool.reset_peaks": [()],
        "PhysicalMemory.export": [()],
        "Graph.launch": [(s,)], "Graph.to_json": [()], "Graph.to_dot": [()], "Graph.update": [()],
    }

def uses(kind, it, live):
    given = arguments(live)
    for name in dir(type(it)):
        found = inspect.getattr_static(type(it), name)
        if name.startswith("_") or isinstance(found, (classmethod, staticmethod, str)) or name == "close":
            continue
        if name == "elapsed_time" and not it._has_time:
            continue  # a ValueError, whatever has ended
        if isinstance(found, (property, types.GetSetDescriptorType, types.MemberDescriptorType)):
            yield f"{kind}.{name}", lambda name=name: getattr(it, name)
            continue
        owner = next(base for base in type(it).__mro__ if name in vars(base))
        for values in given[f"{owner.__name__}.{name}"]:
            for act in spelled(getattr(it, name), *values):
                def complete(act=act):
                    result = act()
                    if inspect.isawaitable(result):
                        asyncio.run(asyncio.wait_for(result, 1))
                    elif hasattr(result, "__enter__") and not isinstance(result, rt._runtime.resource.Resource):
                        enter(result)
                yield f"{kind}.{name}", complete

Device(0).set_current()
old, thrown_away = make(), make()
generator = Generator(1, old["stream"])
old["stream"].synchronize()
thrown_away["stream"].synchronize()
Device(0).reset()
Device(0).set_current()
live = Live()
live.stream.synchronize()
left = {"managed"}  # managed memory is the process's, not the device's
for kind, it in old.items():
    if kind not in left:
        for name, act in uses(kind, it, live):
            use(name, act)
e, s, b = old["event"], old["stream"], old["buffer"]
others = {
    "record(ended)": lambda: live.stream.record(e), "record(event=ended)": lambda: live.stream.record(event=e),
    "wait(ended)": lambda: live.stream.wait(e), "wait(other=ended)": lambda: live.stream.wait(other=e),
    "wait(ended, 1)": lambda: live.stream.wait(e, 1.0), "wait(ended stream)": lambda: live.stream.wait(s),
    "wait(ended notify)": lambda: live.stream.wait(old["notify"]),
    "wait(opened)": lambda: live.stream.wait(old["opened"]),
    "record on": lambda: live.event.record(s), "record on stream=": lambda: live.event.record(stream=s),
    "reset on": lambda: live.gate.reset(s), "elapsed_time": lambda: live.timed.elapsed_time(old["timed"]),
    "notify on": lambda: live.notify.record(s), "wait for notify on": lambda: live.notify.wait(s),
    "reset_all": lambda: Notify.reset_all([live.notify, old["notify"]]),
    "copy to": lambda: copy(b, live.array), "copy from": lambda: copy(live.array, old["view"]),
    "copy_async to": lambda: copy_async(b, live.buffer, live.stream),
    "copy_async from": lambda: copy_async(live.buffer, b, live.stream),
    "copy_async on": lambda: copy_async(live.buffer, live.buffer, s),
    "copy_async stream=": lambda: copy_async(live.buffer, live.buffer, stream=s),
    "copy_2d": lambda: rt.copy_2d(b, live.array.reshape(64, 64), width=64, height=2),
    "copy_batch": lambda: rt.copy_batch([(live.buffer[:64], live.array[:64]), (old["view"], live.array[:64])]),
    "fill": lambda: rt.fill(b, 1), "fill_async": lambda: fill_async(b, 1, live.stream),
    "fill_async words": lambda: fill_async(b, 1, live.stream, itemsize=4),
    "fill_async on": lambda: fill_async(live.buffer, 1, s),
    "slice": lambda: b.__getitem__(slice(0, 8)), "dlpack": lambda: Buffer.from_dlpack(b),
    "IpcMemory": lambda: IpcMemory(b), "map": lambda: addresses[0].map(old["physical"]),
    "launch on": lambda: old["graph"].launch(s), "register": lambda: CachingAllocator().register(s),
    "random numbers": lambda: generator.uniform(live.buffer, 0, 1),
    "from_handle": lambda: Event.from_handle(old_number).synchronize(),
}
old_number = int(rt.ffi.cast("uintptr_t", next(n for n in rt._runtime.lifecycle.events)))
for name, act in others.items():
    use(f"arguments.{name}", act)
ended, thrown_away = ({k: it for k, it in made.items() if k not in left} for made in (old, thrown_away))
for kind, it in ended.items():
    use(f"repr.{kind}", lambda: repr(it) == f"<ascend_rt.{type(it).__name__} ended by a reset of device 0>" or 1 / 0)
    use(f"equality.{kind}", lambda: (it == it, it == live.event, hash(it)))
for number, (kind, it) in enumerate(ended.items()):
    use(f"close.{kind}", it.close if number % 2 else lambda: enter(it))
    use(f"close.{kind}", it.close)
    use(f"closed.{kind}", lambda: it.is_closed or 1 / 0)
for kind in list(thrown_away):
    use(f"garbage.{kind}", lambda: thrown_away.pop(kind, None) and None or gc.collect())
live.stream.record(live.event)
live.event.synchronize()
print("end")
"""


@pytest.fixture(scope="module")
def noting(declared: Any, tmp_path_factory: pytest.TempPathFactory, build: Any, backend: str) -> Path:
    """Return the path of the library that notes calls."""
    if backend != "sim":
        pytest.skip("the library that notes calls is in front of the simulator's")
    functions = [f for f in declared.functions if f.family != "aclsim" and not f.is_variadic]
    source = _HEAD + "\n".join(map(forwarding, functions))
    path = tmp_path_factory.mktemp("noting") / "libascendcl.so"
    found: Path = build(path, "-ldl", source=source, REAL=json.dumps(str(library().path)))
    return found


@pytest.fixture(scope="module", params=["C", pytest.param("Python", marks=pytest.mark.full)])
def answers(noting: Path, request: pytest.FixtureRequest) -> Answers:
    """Return what each use of an ended object has raised, and which functions of the library it has called."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "ASCEND_RT_SIM_CARDS") if name in os.environ}
    variables = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(noting), "OWNER": str(noting.parent)}
    command = [sys.executable, "-c", _SCRIPT, str(noting), request.param]
    done = subprocess.run(
        command, env=kept | variables, cwd=noting.parent, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    *lines, end = done.stdout.splitlines()
    assert end == "end", done.stdout
    found: Answers = {}
    for name, outcome, calls in map(json.loads, lines):
        found.setdefault(name, []).append((outcome, calls))
    return found


# Attributes of an ended object that are known without its handle.
QUIET = ("is_closed", "nbytes", "base", "offset", "key", "check")
SILENT = ("repr.", "equality.", "close.", "closed.", "garbage.")  # the uses that raise nothing


def test_nothing_of_an_ended_object_reaches_the_library(answers: Answers) -> None:
    reached = {name: found for name, found in answers.items() if any(calls for _, calls in found)}
    assert not reached


def test_an_ended_object_says_why_it_cannot_be_used(answers: Answers) -> None:
    uses = {name: found for name, found in answers.items() if not name.startswith(SILENT)}
    for name, found in uses.items():
        for outcome, _ in found:
            is_told = outcome.startswith("InvalidHandle: ") and "has ended, because device 0 was reset" in outcome
            assert is_told or (outcome == "" and name.partition(".")[2] in QUIET), (name, outcome)


def test_closing_and_collecting_an_ended_object_is_silent(answers: Answers) -> None:
    silent = {name: found for name, found in answers.items() if name.startswith(SILENT)}
    assert len(silent) > 100  # of each kind of object
    assert {outcome for found in silent.values() for outcome, _ in found} == {""}


# --- what a reset ends, and what not ---------------------------------------------------------------------------------


@pytest.fixture
def second(lib: Any) -> Iterator[Device]:
    """Return a device that no other test has left open; it is current, and open once."""
    if Device.count() < 2:
        pytest.skip("needs two devices")
    device = Device(1)
    device.set_current()
    device.reset(force=True)
    device.set_current()
    yield device
    if lifecycle.references_to(1):
        device.reset(force=True)
    Device(0).set_current()
    Device(0).reset()


def is_refused(use: Callable[[], object], device: int = 1) -> bool:
    """Return True if the use of an object is refused because its device was reset."""
    try:
        use()
    except InvalidHandle as error:
        return error.code == INVALID_HANDLE and f"because device {device} was reset" in error.message
    return False


pytestmark = pytest.mark.simulator(
    "internals", "the official runtime has a device for each process, and fails on no demand"
)


def test_an_event_ends_with_its_own_device_alone(second: Device) -> None:
    there = Event()
    Device(0).set_current()
    here, stream = Event(), Stream()
    assert (there._owner.epoch.device_id, here._owner.epoch.device_id) == (1, 0)
    second.reset()  # also takes the thread's context
    Device(0).set_current()
    assert is_refused(there.synchronize)
    assert is_refused(lambda: stream.wait(there))
    stream.record(here)
    here.synchronize()
    assert repr(there) == "<ascend_rt.Event ended by a reset of device 1>"
    Device(0).reset()


def test_only_the_last_of_several_resets_ends_anything(second: Device) -> None:
    second.set_current()  # a second user
    event, stream = Event(), Stream()
    second.reset()
    stream.record(event)
    event.synchronize()
    with second:
        pass
    assert event.is_done
    second.reset()
    assert is_refused(event.synchronize)
    assert is_refused(stream.synchronize)


def test_a_device_that_other_code_has_set_ends_nothing(second: Device, lib: Any) -> None:
    event, stream, notify = Event(), Stream(), Notify()
    assert lib.aclrtSetDevice(1) == 0
    second.reset()
    stream.record(event)
    event.synchronize()
    notify.record(stream)
    stream.synchronize()
    second.set_current()
    second.reset(force=True)
    assert is_refused(event.synchronize)


def test_a_reset_that_fails_ends_nothing(second: Device) -> None:
    event, stream, memory = Event(), Stream(), Buffer(64)
    view, borrowed = memory[8:16], Event.from_handle(event.handle)
    known = Event()
    known.record(stream)  # its handle is known in C
    closed = Event()
    with sim.faults():
        sim.fail_call("aclrtResetDevice", 507000)
        with pytest.raises(AclError, match="507000"):
            lifecycle.reset_device(1)
    for each in (event, known, borrowed):
        each.record(stream)
        each.record(stream=stream)
        each.synchronize()
    copy(view, b"somebody")
    closed.close()
    assert repr(event).startswith(f"<ascend_rt.Event {event.handle:#x} on device 1")
    second.reset()
    assert all(map(is_refused, (event.synchronize, known.synchronize, borrowed.synchronize, stream.synchronize)))
    assert is_refused(lambda: copy(view, b"somebody"))


def test_what_was_closed_while_a_reset_failed_stays_closed(second: Device, lib: Any) -> None:
    event, stream, refused = Event(), Stream(), []

    def reset(device_id: int) -> int:
        refused.append(is_refused(lambda: event.record(stream)))
        event.close()
        return 507000

    with lib.override("aclrtResetDevice", reset), pytest.raises(AclError, match="507000"):
        lifecycle.reset_device(1)
    assert refused == [True]
    with pytest.raises(ClosedError):
        event.synchronize()
    assert stream.record().synchronize() is None


def test_streams_end_with_their_context(second: Device) -> None:
    context = Context(1)
    with context:
        stream, borrowed, event = Stream(), Stream.default(), Event()
        stream.record(event)
        stream.synchronize()
    context.close()
    for each in (stream, borrowed):
        with pytest.raises(InvalidHandle, match="this stream has ended, because its context was destroyed"):
            each.synchronize()
        assert repr(each) == "<ascend_rt.Stream ended with its context>"
        each.close()
    assert event.is_done  # the device's


def test_streams_of_the_device_end_with_the_reset_that_an_explicit_context_outlives(second: Device) -> None:
    with Context(1) as context:
        inside = Stream()
    second.set_current()
    stream, event = Stream(), Event()
    second.reset()
    second.reset()
    assert is_refused(stream.synchronize)
    with context:
        inside.record(event)
        inside.synchronize()
        assert event.is_done
    context.close()


def test_streams_are_open_again_if_their_context_cannot_be_destroyed(second: Device) -> None:
    context = Context(1)
    with context:
        stream = Stream()
    with sim.faults():
        sim.fail_call("aclrtDestroyContext", 507000)
        with pytest.raises(AclError, match="507000"):
            context.close()
    with context:
        stream.synchronize()
    context.close()


def test_a_reset_resets_once(second: Device, override: Any) -> None:
    resets: list[int] = []

    def reset(device_id: int) -> int:
        resets.append(device_id)
        return int(real(device_id))

    real = override("aclrtResetDevice", reset)
    second.reset()
    assert resets == [1]


def test_an_explicit_context_keeps_its_device(second: Device) -> None:
    context = Context(1)
    with context:
        event, inside = Event(), Stream()
    second.reset()
    with context:
        inside.record(event)
        event.synchronize()
    context.close()
    assert is_refused(event.synchronize)


def test_a_borrowed_event_ends_with_the_device_of_its_owner(second: Device) -> None:
    event = Event()
    number = event.handle
    Device(0).set_current()
    borrowed = Event.from_handle(number)
    assert borrowed._owner.epoch.device_id == 1
    unknown = Event.from_handle(1 << 60)
    assert unknown._owner.epoch.device_id == 0
    second.reset()
    assert is_refused(borrowed.synchronize)
    assert is_refused(Event.from_handle(number).synchronize)  # the number of an ended event is known, too
    borrowed.close()
    Device(0).set_current()
    Device(0).reset()


def test_a_number_that_a_new_event_has_is_that_of_the_new_one(second: Device) -> None:
    with Event() as first:
        number = first.handle
    assert number not in lifecycle.events
    with Event() as event:
        assert lifecycle.events.get(event.handle) is event._owner


def test_the_next_epoch_begins_afresh(second: Device) -> None:
    old, allocator = Stream(), CachingAllocator()
    allocator.register(old)
    with old.as_current():
        second.reset()
        second.set_current()
        assert Stream.current() != old
        fill_async(Buffer(64), 0)
        Stream.current().synchronize()
    old.close()
    with Stream() as stream:
        assert stream._retention is not old._retention
        assert stream.record().synchronize() is None
    assert owner_of_new().epoch is not old._owner.epoch


def test_a_block_of_a_capture_may_end_after_its_device(second: Device) -> None:
    stream = Stream()
    with pytest.raises(AclError) as failed, stream.capture():
        second.reset()
    assert failed.value.code == INVALID_HANDLE
    second.set_current()
    stream = Stream()
    with pytest.raises(ZeroDivisionError), stream.capture():
        raise ZeroDivisionError(second.reset())


def test_threads_that_use_an_event_while_another_resets_its_device(second: Device) -> None:
    """Each use either reaches the library before the reset, or is refused."""
    begun, outcomes = threading.Barrier(3), []

    def use(act: Callable[[Event, Stream], object]) -> None:
        Device(1).set_current()
        event, stream = Event(), Stream()
        begun.wait()
        try:
            while True:
                act(event, stream)
        except AclError as error:  # NoContext: its thread's context was the device's
            outcomes.append((type(error).__name__, event._is_ended, stream._is_ended))
        event.close()
        stream.close()

    def reset() -> None:
        begun.wait()
        for _ in range(3):
            Device(1).reset()

    in_threads(
        lambda: use(lambda event, stream: stream.record(event)),
        lambda: use(lambda event, stream: event.synchronize(timeout=10)),
        reset,
    )
    assert [ended for _, *ended in outcomes] == [[True, True]] * 2
    assert {name for name, *_ in outcomes} <= {"InvalidHandle", "NoContext"}


def test_what_was_discarded_with_work_left_ends_silently(second: Device) -> None:
    streams, gate = [Stream()], threading.Event()
    streams[0].launch_host_func(gate.wait)
    with pytest.warns(ResourceWarning, match="discarded"):
        streams.pop()
    gate.set()
    second.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lifecycle.close_deferred()
    assert not lifecycle._deferred


def test_an_epoch_that_ended_lets_go_of_its_objects(second: Device) -> None:
    event, stream = Event(), Stream()
    epoch = event._owner.epoch
    second.reset()
    assert epoch.is_over
    del stream
    event.close()
    epoch.resume()  # nothing is left in it
    assert event.is_closed
    epoch.end()


# --- pyACL -----------------------------------------------------------------------------------------------------------


def codes(event: int, stream: int) -> list[int]:
    """Return what the functions of pyACL answer that take an event."""
    results = [
        acl.rt.record_event(event, stream),
        acl.rt.reset_event(event, stream),
        acl.rt.query_event(event),
        acl.rt.query_event_status(event),
        acl.rt.query_event_wait_status(event),
        acl.rt.synchronize_event(event),
        acl.rt.synchronize_event_with_timeout(event, 100),
        acl.rt.event_elapsed_time(event, event),
        acl.rt.event_get_timestamp(event),
        acl.rt.get_event_id(event),
        acl.rt.stream_wait_event(stream, event),
        acl.rt.destroy_event(event),
        acl.rt.destroy_event(event),
    ]
    return [result[-1] if isinstance(result, tuple) else result for result in results]


@pytest.mark.parametrize("reset", ["pyacl", "facade", "force"])
def test_an_event_of_pyacl_ends_with_its_device(second: Device, reset: str) -> None:
    second.reset()
    resets: dict[str, Callable[[], object]] = {
        "pyacl": lambda: acl.rt.reset_device(1),
        "facade": second.reset,
        "force": lambda: acl.rt.reset_device_force(1),
    }
    if reset == "facade":
        second.set_current()
    else:
        assert acl.rt.set_device(1) == 0
    (event, _), (with_flag, _), (stream, _) = acl.rt.create_event(), acl.rt.create_event_ex_with_flag(8), new_stream()
    facade = Event()
    assert acl.rt.record_event(event, stream) == acl.rt.synchronize_event(event) == 0
    assert acl.rt.record_event(facade.handle, stream) == 0
    number = facade.handle
    resets[reset]()
    second.set_current()
    stream, _ = new_stream()
    assert set(codes(event, stream)) == set(codes(with_flag, stream)) == set(codes(number, stream)) == {INVALID_HANDLE}
    assert is_refused(facade.synchronize)
    assert is_refused(Event.from_handle(event).synchronize)
    new, _ = acl.rt.create_event()
    assert acl.rt.record_event(new, stream) == acl.rt.synchronize_event(new) == acl.rt.destroy_event(new) == 0
    assert new not in lifecycle.events
    assert acl.rt.destroy_stream(stream) == 0


def new_stream() -> tuple[int, int]:
    stream, code = acl.rt.create_stream()
    return stream, code


def test_a_reset_by_pyacl_ends_only_with_the_last_reference(second: Device) -> None:
    event = Event()
    assert acl.rt.set_device(1) == acl.rt.set_device(1) == 0
    second.reset()
    assert event.is_done
    assert acl.rt.reset_device(1) == 0
    assert event.is_done
    assert acl.rt.reset_device(1) == 0
    assert is_refused(lambda: event.is_done)
    assert acl.rt.reset_device(1) == 507007


def test_a_reset_by_pyacl_may_take_the_reference_of_the_facade(second: Device) -> None:
    event = Event()
    assert acl.rt.reset_device(1) == 0  # of a device that pyACL has not set
    assert is_refused(event.synchronize)
    with pytest.raises(AclError, match="507007"):
        second.reset()


def test_a_reset_by_the_facade_may_take_the_reference_of_pyacl(second: Device) -> None:
    second.reset()
    assert acl.rt.set_device(1) == 0
    event = Event()
    second.reset()
    assert is_refused(event.synchronize)
    assert acl.rt.reset_device(1) == 507007


def test_a_reset_by_pyacl_that_fails_ends_nothing(second: Device) -> None:
    second.reset()
    assert acl.rt.set_device(1) == 0
    event, _ = acl.rt.create_event()
    ours = Event()
    with sim.faults():
        sim.fail_call("aclrtResetDevice", 507000)
        assert acl.rt.reset_device(1) == 507000
        assert acl.get_recent_err_msg() == "aclrtResetDevice: call 1 fails by fault injection"
        sim.fail_call("aclrtDestroyEvent", 507000)
        assert acl.rt.destroy_event(event) == 507000
    assert event in lifecycle.events
    assert acl.rt.query_event(event) == (0, 0)
    assert ours.is_done
    assert acl.rt.reset_device(1) == 0


def test_a_context_of_pyacl_keeps_its_device(second: Device) -> None:
    context, code = acl.rt.create_context(1)
    event = Event()
    assert code == 0
    second.reset()
    assert event.is_done
    assert acl.rt.destroy_context(context) == 0
    assert is_refused(lambda: event.is_done)
    assert acl.rt.destroy_context(context) != 0


def test_a_device_that_does_not_exist_has_no_epoch(device: Device) -> None:
    before = dict(lifecycle.owners)
    assert acl.rt.reset_device(99) == 107001
    with pytest.raises(AclError):
        Device(99).reset()
    assert lifecycle.owners == before


@pytest.mark.filterwarnings("error")
def test_a_device_number_that_c_cannot_take_is_refused(device: Device) -> None:
    with pytest.raises(OverflowError):
        Context(2**32)
