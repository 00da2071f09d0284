# SPDX-License-Identifier: Apache-2.0
"""Objects that a reset of a device has ended: no use of them reaches the library, and the error says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_rt import library

Answers = dict[str, list[tuple[str, list[str]]]]  # name of a use -> what it has raised, and what it has called
pytestmark = pytest.mark.simulator(
    "internals", "the official runtime has a device for each process, and fails on no demand"
)


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

addresses = []  # which no reset ends

class Live:
    def __init__(self):
        self.event, self.timed, self.gate = Event(), Event(timing=True), Event(manual_reset=True)
        self.stream, self.notify, self.queue = Stream(), Notify(), Queue()
        self.buffer, self.array = Buffer(4096), np.zeros(4096, np.uint8)

def make():
    made = dict(
        event=Event(), timed=Event(timing=True), gate=Event(manual_reset=True), shared=Event(ipc=True),
        raw=Event.with_flags(), stream=Stream(), notify=Notify(), queue=Queue(),
        buffer=Buffer(2 << 20), managed=ManagedBuffer(64), physical=PhysicalMemory(2 << 20, Device(0)),
        pool=MemoryPool(Device(0)))
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
        "Queue.grant": [(1,)], "Queue.put": [(1,), (1, 0.0)], "Queue.put_end": [(), (0.0,)], "Queue.get": [(), (0.0,)],
        "Queue.put_async": [(1,)], "Queue.put_end_async": [()], "Queue.get_async": [()],
        "Queue.forward_to": [(live.queue,)], "Queue.stop_forwarding": [(live.queue,)],
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
    "forward to": lambda: live.queue.forward_to(old["queue"]),
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


@pytest.fixture(scope="module")
def answers(noting: Path) -> Answers:
    """Return what each use of an ended object has raised, and which functions of the library it has called."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "ASCEND_RT_SIM_CARDS") if name in os.environ}
    variables = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(noting), "OWNER": str(noting.parent)}
    command = [sys.executable, "-c", _SCRIPT, str(noting)]
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
            is_reported = outcome.startswith("InvalidHandle: ") and "has ended, because device 0 was reset" in outcome
            assert is_reported or (outcome == "" and name.partition(".")[2] in QUIET), (name, outcome)


def test_closing_and_collecting_an_ended_object_is_silent(answers: Answers) -> None:
    silent = {name: found for name, found in answers.items() if name.startswith(SILENT)}
    assert len(silent) > 100  # one of each kind of object
    assert {outcome for found in silent.values() for outcome, _ in found} == {""}
