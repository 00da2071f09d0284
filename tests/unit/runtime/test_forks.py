# SPDX-License-Identifier: Apache-2.0
"""Whatever other threads do while a thread forks, the child gets ``ForkedProcess`` or its answer, and never hangs."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import pytest
from support.programs import BEGINNING

import ascend_rt

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")

# in_child() runs a function in a fork; a child that hangs is killed, and fails the program.
PROGRAM = """
import gc, importlib, os, signal, sys, warnings
from importlib.machinery import PathFinder
import ascend_rt as rt
from ascend_rt import CachingAllocator, TaskFailed, on_task_failed, supports
from ascend_rt._runtime import locks, threads
from ascend_rt.errors import ForkedProcess

warnings.simplefilter("ignore", DeprecationWarning)  # newer releases of Python warn of forks beside threads

def in_child(function):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            function()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return child

def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def refused(function, *arguments):
    try:
        function(*arguments)
    except ForkedProcess:
        return True
    return False
"""


@pytest.fixture
def run_forking(run: Any, under_test: dict[str, str]) -> Any:
    """Return a function that runs a program, which begins as above and must end well."""

    def run_program(code: str) -> None:
        done = run("-c", BEGINNING + PROGRAM + code, **under_test)
        assert (done.returncode, done.stderr) == (0, "")

    return run_program


def test_objects_of_the_parent_can_be_dropped_and_closed_while_all_locks_were_held(run_forking: Any) -> None:
    run_forking("""
stream, buffer, allocator, reported = Stream(), Buffer(4096), CachingAllocator(), []
kept, event = buffer[:16], stream.record()
has_callbacks = supports("aclrtExceptionInfoCallbackRegister")
subscription = on_task_failed(reported.append) if has_callbacks else None
cached = allocator.allocate(64)
context = Context(0)
device.set_current()

def child():
    global buffer, kept, cached
    if subscription is not None:
        subscription.close()
    buffer.close()
    assert kept.is_closed
    del buffer, kept, cached
    gc.collect()
    for function in (Stream, stream.synchronize, event.record, context.set_current, device.reset):
        assert refused(function), function
    assert refused(Buffer, 64) and refused(allocator.allocate, 1 << 20)
    event.close(), stream.close(), context.close()

locks = list(locks._all)
assert len(locks) >= 4
held, forked = threading.Event(), threading.Event()
def hold():
    for lock in locks:
        lock.acquire()
    held.set()
    forked.wait()
    for lock in locks:
        lock.release()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
forked_child = in_child(child)
forked.set()
holder.join()
assert ended_well(forked_child)
""")


@pytest.mark.parametrize("module", ["versions", "graph"])
def test_an_import_of_another_thread_is_over_when_the_child_begins(
    interpreter: Any, under_test: dict[str, str], module: str
) -> None:
    """The import goes on when the fork waits for it, or else when the child is there, which would find it half done."""
    code = """
module = sys.argv[1]
assert module not in sys.modules, "no import to wait for"
entered, forked, main_thread = threading.Event(), threading.Event(), threading.get_ident()

def is_in_an_import():
    frame = sys._current_frames()[main_thread]
    while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None

class SlowFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != module or threading.get_ident() == main_thread:
            return None
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def execute_slowly(imported):
            entered.set()
            while not is_in_an_import() and not forked.wait(0.001):
                pass
            execute(imported)
        spec.loader.exec_module = execute_slowly
        return spec

sys.meta_path.insert(0, SlowFinder)
stream, event, buffer = Stream(), Event(), Buffer(64)
importing = threading.Thread(target=importlib.import_module, args=(module,))
importing.start()
entered.wait()

def child():
    for name in rt.__all__:
        getattr(rt, name)
    for function in (Stream, Event, stream.record, stream.synchronize, stream.capture().__enter__, device.reset,
                     lambda: Buffer(64), lambda: rt.copy(buffer, b""), lambda: device.name, event.synchronize,
                     lambda: device.properties, buffer.to_numpy, lambda: stream.flags, lib.aclrtCreateEvent):
        assert refused(function), function
    rt.version(), rt.supports("aclrtMalloc")

forked_child = in_child(child)
forked.set()
importing.join()
assert ended_well(forked_child)
"""
    done = interpreter("-c", BEGINNING + PROGRAM + code, f"ascend_rt.{module}", **under_test)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_late_import_is_made_before_a_fork(interpreter: Any) -> None:
    package = Path(ascend_rt.__file__).parent
    modules = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in package.rglob("*.py")}
    late = {f"ascend_rt.{name}" for name in {*ascend_rt._NAMES, *ascend_rt._MODULES}}
    for name, path in modules.items():
        if name.split(".")[1] in (
            "cli",
            "torch",
            "pyacl",
            "_startup",
        ):  # which begin programs, and import themselves whole
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for found in (node for function in functions for node in ast.walk(function)):
            if isinstance(found, ast.ImportFrom):
                late |= {str(found.module), *(f"{found.module}.{alias.name}" for alias in found.names)}
    program = "import sys; from ascend_rt._runtime import late_imports; late_imports.import_all(); print(*sys.modules)"
    imported = interpreter("-c", program).stdout.split()
    assert (late & {*modules}) - {*imported} == set()


def test_a_lock_of_the_thread_that_forks_stays_its_own(run_forking: Any) -> None:
    run_forking("""
lock = locks.new_lock()
def child():
    assert not locks.is_held_elsewhere(lock)
    lock.release()
    try:
        lock.release()
    except RuntimeError:
        return
    raise AssertionError("it was taken twice")
with lock:
    assert ended_well(in_child(child))
""")


def test_a_fork_while_another_thread_initialises_is_refused(run: Any) -> None:
    done = run(
        "-c",
        PROGRAM
        + """
import threading
from ascend_rt import Device, lib, library
library()
entered, forked, initialise = threading.Event(), threading.Event(), lib.aclInit
def initialise_slowly(path):
    entered.set()
    forked.wait()
    return initialise(path)
lib.aclInit = initialise_slowly
thread = threading.Thread(target=lambda: Device(0).set_current())
thread.start()
entered.wait()
def child():
    assert refused(Device(0).set_current)
forked_child = in_child(child)
forked.set()
thread.join()
assert ended_well(forked_child)
""",
        ASCEND_RT_BACKEND="sim",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_that_is_forked_out_of_a_wait_goes_on(run_forking: Any) -> None:
    run_forking("""
stream, gate, opener = Stream(), Event(manual_reset=True), Stream()
stream.wait(gate)
children = []
def fork(number, frame):
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(30)
    else:
        gate.record(opener)
signal.signal(signal.SIGUSR1, fork)
def interrupt():
    while not threads._waiters:
        pass
    os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=interrupt)
thread.start()
is_refused = refused(stream.synchronize)
if children[-1] == 0:
    os._exit(0 if is_refused else 1)
assert not is_refused
thread.join()
assert ended_well(children[-1])
""")


def test_the_locks_in_c_are_free_in_the_child(run_forking: Any) -> None:
    run_forking("""
is_over = False
def ask():
    found = ffi.new("ascend_rt_failed_task *")
    while not is_over:
        lib.ascend_rt_find_failed_task(0, 7, 7, found)
threads = [threading.Thread(target=ask) for _ in range(4)]
def child():
    end = ffi.new("uint64_t *", 2**64 - 1)
    lib.ascend_rt_find_failed_task(0, 7, 7, ffi.new("ascend_rt_failed_task *"))
    lib.ascend_rt_end_listening(end)
    lib.ascend_rt_await_left(ffi.NULL)
    assert lib.ascend_rt_close_gate(60_000) == 0
for thread in threads:
    thread.start()
try:
    for _ in range(60):  # in some of them, one of the threads has the lock
        assert ended_well(in_child(child))
finally:
    is_over = True
    for thread in threads:
        thread.join()
""")


def test_every_lock_of_the_package_is_renewed() -> None:
    makes_lock = re.compile(r"\b(R?Lock|allocate_lock|Condition|Semaphore)\(\)")
    package = Path(ascend_rt.__file__).parent
    sources = {path for path in package.rglob("*.py") if path.parent.name not in ("bench", "verify")}  # commands
    assert len(sources) > 50
    found = {(path.name, line.strip()) for path in sources for line in path.open() if makes_lock.search(line)}
    assert found == {
        ("locks.py", "lock = RLock()"),
        # These wake a thread, and are waited for with a limit.
        ("threads.py", "self._wake = _thread.allocate_lock()"),
        ("threads.py", "question = _thread.allocate_lock()"),
    }
