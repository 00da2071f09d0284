# SPDX-License-Identifier: Apache-2.0
"""The ends: discarded objects, the interpreter's exit, forked children; and the GIL while the runtime waits."""

from __future__ import annotations

import contextlib
import copy as copies
import gc
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_rt import Buffer, Context, Device, Event, Stream, fill_async, lib
from ascend_rt._runtime import lifecycle
from ascend_rt.errors import AclError, ForkedProcess, Timeout
from ascend_rt.testing import Latch


def run_script(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a separate process; every script starts with a device and two streams."""
    start = """
        import contextlib, gc, os, sys, threading
        import ascend_rt as rt
        from ascend_rt import Buffer, Device, Event, PinnedBuffer, Stream, copy_async
        rt._runtime.lifecycle._WORK_MS = 60_000  # on a busy machine, what is pending may take long
        Device(0).set_current()
        a, b = Stream(), Stream()
    """
    script = textwrap.dedent(start) + textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=os.path.dirname(__file__),
        env={**os.environ, **environment},
    )


EXITS = {
    "objects that outlive the content of their modules": """
        import ascend_rt._runtime.resource, ctypes
        modules = rt.stream, ascend_rt._runtime.resource
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))  # those that are still there in the end are emptied then
        rt.stream.last, ascend_rt._runtime.resource.last = Stream.default(), Buffer(8)
    """,
    "a copy that was just started": """
        pinned, memory = PinnedBuffer(64 << 20), Buffer(64 << 20)
        for _ in range(20):
            copy_async(memory, pinned, a)
    """,
    "functions that run now": """
        started = threading.Event()
        def work():
            started.set()
            sum(range(100000))
        for _ in range(1000):
            a.launch_host_func(work)
        started.wait()
    """,
    "objects in a cycle": "cycle = [a, b, Event(), Buffer(64)]; cycle.append(cycle); del a, b",
    "objects in globals of other modules": "sys.kept = [a, b, Event(), Buffer(64), PinnedBuffer(64)]",
    "allocators that are registered": """
        from ascend_rt import CachingAllocator, sim
        for stream in (a, Device(0).default_stream):
            CachingAllocator().register(stream)
            if rt.library().backend == "sim":
                sim.run_operator(stream, 4096)
    """,
    "an allocator at work": """
        from ascend_rt import CachingAllocator, sim
        CachingAllocator().register(a)
        started = threading.Event()
        def work():
            with contextlib.suppress(Exception):  # the exit takes the stream and the runtime away
                Device(0).set_current()
                while rt.library().backend == "sim":
                    sim.run_operator(a, 4096)
                    started.set()
            started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """,
    "memory of every kind in a cycle": """
        virtual, memory = rt.VirtualMemory(4 << 20), rt.PhysicalMemory(2 << 20, Device(0))
        large = Buffer(4 << 20)
        cycle = [virtual, memory, virtual.map(memory), large, rt.IpcMemory(large)]
        with contextlib.suppress(rt.errors.NotSupported):
            cycle.append(rt.MemoryPool(Device(0)))
            cycle.append(cycle[-1].allocate(64, a))
        cycle.append(cycle)
        del virtual, memory, large
    """,
}


@pytest.mark.parametrize("script", EXITS.values(), ids=EXITS.keys())
def test_the_interpreter_ends_quietly(script: str) -> None:
    ended = run_script(script)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_an_error_in_a_function_is_printed() -> None:
    ended = run_script(
        """
        def fail(name):
            raise LookupError(f"no {name}")

        a.launch_host_func(fail, "bread")
        a.synchronize()
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "in fail" in ended.stderr
    assert ended.stderr.endswith("\nLookupError: no bread\n")


@pytest.mark.simulator("kernels")
def test_an_error_in_an_allocator_is_printed() -> None:
    ended = run_script(
        """
        def allocate(nbytes):
            raise LookupError(f"no {nbytes} bytes")

        from ascend_rt import sim
        rt.Allocator.from_functions(allocate, print).register(a)
        with contextlib.suppress(MemoryError):
            sim.run_operator(a, 100)
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "in allocate" in ended.stderr
    assert ended.stderr.endswith("\nLookupError: no 100 bytes\n")


ON_A_DEVICE = """
    def on_a_device():
        large, addresses, memory = Buffer(4 << 20), rt.VirtualMemory(4 << 20), rt.PhysicalMemory(2 << 20, Device(0))
        made = [large, rt.IpcMemory(large), memory, addresses, addresses.map(memory), Buffer(64), Event(), Stream()]
        with contextlib.suppress(rt.errors.NotSupported):
            made.append(rt.MemoryPool(Device(0)))
            made.append(made[-1].allocate(4 << 20, Stream()))
        return made
"""


@pytest.mark.parametrize("end", ["for it in old: it.close()", "del old[:]; gc.collect()", "pass"])
def test_what_went_with_its_device_is_not_given_back_again(end: str) -> None:
    ended = run_script(
        textwrap.dedent(ON_A_DEVICE)
        + textwrap.dedent(
            f"""
            old = on_a_device()
            Device(0).reset()
            Device(0).set_current()
            new = on_a_device()  # at the same addresses, as they come
            {end}
            free = Device(0).memory_info.free
            rt.copy(new[0][:5], b"stays")
            kept = bytearray(5)
            rt.copy(kept, new[0][:5])
            assert kept == b"stays"
            for it in reversed(new):
                it.close()
            assert Device(0).memory_info.free > free
            """
        )
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.simulator("faults")
def test_a_failed_reset_changes_nothing() -> None:
    ended = run_script(
        """
        from ascend_rt import sim
        free = Device(0).memory_info.free
        memory = Buffer(8 << 20)
        sim.fail_call("aclrtResetDevice", 507000)
        with contextlib.suppress(rt.errors.AclError):
            Device(0).reset()
        memory.close()
        assert Device(0).memory_info.free == free
        Device(0).reset()
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.simulator("faults")
def test_a_reset_with_force_undoes_all_that_was_set() -> None:
    ended = run_script(
        """
        from ascend_rt import sim
        Device(0).set_current()
        assert rt.lib.aclrtSetDevice(0) == 0  # other code in the process
        memory = Buffer(8 << 20)
        sim.fail_call("aclrtResetDeviceForce", 507000)
        with contextlib.suppress(rt.errors.AclError):
            Device(0).reset(force=True)
        a.synchronize()  # nothing has changed
        sim.lose_device(0)
        Device(0).reset(force=True)
        memory.close()
        with contextlib.suppress(rt.InvalidHandle, rt.NoContext):
            a.synchronize()
            print("the stream is still there")
        try:
            Device(0).reset(force=True)
        except rt.AclError as error:
            print(error.code)
        Device(0).set_current()
        with Stream() as stream:
            stream.record().synchronize()
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "507007\n", "")


def test_a_device_that_somebody_else_has_set_stays_open() -> None:
    ended = run_script(
        """
        rt.lib.aclrtSetDevice(0)
        free = Device(0).memory_info.free
        memory = Buffer(8 << 20)
        Device(0).reset()
        rt.copy(memory[:5], b"still")
        memory.close()
        assert Device(0).memory_info.free == free
        a.synchronize()
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_memory_keeps_the_context_that_keeps_its_device_open() -> None:
    ended = run_script(
        """
        def make():
            with rt.Context(1):
                made = [Buffer(4 << 20)]
                with contextlib.suppress(rt.errors.NotSupported):
                    made.append(rt.MemoryPool(Device(1)))
                return made

        if Device.count() > 1:
            memory, *pools = make()
            rt.copy(memory[:5], b"stays")
            assert all(pool.statistics.used == 0 for pool in pools)
            if rt.supports("aclrtGetPrimaryCtxState"):
                assert not rt._runtime.lifecycle._is_set(1)
            epoch = memory._owner.epoch
            del memory, pools[:]
            assert epoch.is_over
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_closing_the_last_context_of_a_device_takes_its_memory() -> None:
    ended = run_script(
        """
        if Device.count() > 1:
            context = rt.Context(1)
            with context:
                old = Buffer(4 << 20)
            context.close()
            with rt.Context(1):
                new = Buffer(4 << 20)
            old.close()
            rt.copy(new[:5], b"stays")
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.simulator("faults")
def test_what_could_not_be_closed_may_be_closed_again() -> None:
    ended = run_script(
        textwrap.dedent(ON_A_DEVICE)
        + textwrap.dedent(
            """
            from ascend_rt import sim
            free, made = Device(0).memory_info.free, on_a_device()
            made.append(rt.Context(0))
            names = ["Free", "IpcMemClose", "FreePhysical", "UnmapMem", "ReleaseMemAddress", "MemPoolDestroy"]
            names += ["MemPoolFreeAsync", "DestroyEvent", "DestroyContext", "DestroyStream"]
            for it in reversed(made):
                for name in names:
                    sim.fail_call("aclrt" + name, 507000)
                try:
                    it.close()
                    print("closed", it)
                except rt.errors.AclError as error:
                    assert not it.is_closed and it.handle, error
                sim.clear()
                it.close()
            assert Device(0).memory_info.free == free
            """
        )
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("make", [lambda: Buffer(64), Stream, Event, lambda: Buffer(64)[:8], Stream.default])
@pytest.mark.parametrize("twin", [copies.copy, copies.deepcopy, pickle.dumps])
def test_a_handle_has_one_owner(make: Any, twin: Any, device: Device) -> None:
    with make() as made, pytest.raises(TypeError, match="cannot be copied or pickled"):
        twin(made)


def test_two_blocks_that_end_at_once_leave_their_device_open() -> None:
    ended = run_script(
        """
        def leave_during_the_first_reset(device_id):
            rt.lib.aclrtResetDevice = reset
            block.__exit__(None, None, None)
            return reset(device_id)

        last = Device(Device.count() - 1)
        reset, block = rt.lib.aclrtResetDevice, last.__enter__()
        with last:
            memory = Buffer(64)
            rt.lib.aclrtResetDevice = leave_during_the_first_reset
        rt.copy(memory[:5], b"stays")
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_finalizer_may_set_a_device_while_devices_are_counted(device: Device) -> None:
    done = threading.Event()

    def collect() -> None:
        with lifecycle._lock, device:  # the collector runs wherever something is allocated, in there too
            pass
        done.set()

    threading.Thread(target=collect, daemon=True).start()
    assert done.wait(30)


def test_we_finalize_only_what_we_initialised() -> None:
    ended = run_script(
        """
        import atexit, ctypes
        somebody_else = ctypes.CDLL(rt.library().path)
        assert somebody_else.aclInit(b"") == 100002

        def check():
            count = ctypes.c_uint64()
            print(somebody_else.aclFinalizeReference(ctypes.byref(count)), count.value)

        atexit._clear()  # run after our hook, which atexit would run last in, first out
        atexit.register(check)
        atexit.register(rt._runtime.lifecycle._give_back)
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "0 0\n", "")


def test_without_a_free_descriptor_a_failure_is_reported_and_all_is_given_back() -> None:
    ended = run_script(
        """
        import resource
        from ascend_rt._runtime.error_texts import in_full
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        late = {"ascend_rt._generated.error_table", "ascend_rt._generated.functions"}  # what failures and exits need
        if rt.library().backend == "cann":
            late.remove("ascend_rt._generated.functions")  # which has reported what the library lacks
        assert not late & set(sys.modules)
        with contextlib.suppress(OSError):
            while True:
                os.dup(0)
        try:
            Device(99).set_current()
        except rt.InvalidArgument as error:
            print(in_full(error))
        """,
        ASCEND_RT_SIM_CARDS="separate",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(
        "aclrtSetDevice: [107001 aclError 107001] device 99 does not exist; there are 8\nhint: "
    )
    assert "its meaning cannot be read: [Errno 24] Too many open files" in ended.stdout


def test_a_configuration_before_us_is_the_only_one(child: Any, tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text("{}", encoding="utf-8")
    script = """
        import pickle
        codes = [lib.aclInit(sys.argv[1].encode()), lib.aclFinalize()]
        from ascend_rt import Device, errors
        try:
            Device(0).set_current()
        except errors.AclError as error:
            refusal = pickle.loads(pickle.dumps(error))
        codes.append(lib.aclInit(sys.argv[1].encode()))
        Device(0).set_current()
        reported([codes, refusal.code, refusal.function, refusal.message, refusal.hint])
    """
    codes, code, function, message, hint = child(script, path)
    assert (codes, code, function) == ([0, 0, 0], 100000, "aclInit")
    assert message.startswith("other code has initialised the runtime with a configuration and finalised it")
    assert "NULL" not in message  # the official library ends the process there
    assert "leave out aclFinalize" in hint


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_refuses_and_destroys_nothing(device: Device) -> None:
    ended = run_script(
        """
        event = Event()
        child = os.fork()
        if child == 0:
            try:
                event.record(a)
            except rt.errors.ForkedProcess as error:
                print(error)
            del a, b, event
            gc.collect()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        event.record(a)
        event.synchronize()
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "forked after its parent had used the runtime" in ended.stdout
    assert "spawn" in ended.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_the_simulator_itself_refuses_in_a_forked_child() -> None:
    ended = run_script(
        """
        import ctypes
        somebody_else = ctypes.CDLL(rt.library().path)
        child = os.fork()
        if child == 0:
            os._exit(0 if somebody_else.aclrtSynchronizeDevice() == 507000 else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_forked_child_may_load_if_its_parent_has_not() -> None:
    script = """
        import os, sys
        import ascend_rt as rt
        child = os.fork()
        if child == 0:
            rt.Device(0).set_current()
            rt.Stream().record().synchronize()
            sys.exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=os.path.dirname(__file__),  # not the source tree's root
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits threads the Linux way")
def test_what_runs_if_no_thread_can_be_started() -> None:
    ended = run_script(
        """
        import resource
        import numpy as np
        from ascend_rt._runtime import late_imports
        pinned, memory, received = PinnedBuffer(4096), Buffer(4096), np.zeros(4096, np.uint8)
        pinned[:] = 3
        if os.getuid() == 0:
            late_imports.import_all()  # another user may not reach the package, for instance below /root
            os.setuid(65534)  # the limit does not hold for root
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        copy_async(memory, pinned, a)
        b.wait(a)
        b.synchronize()  # helps: no other thread is there
        rt.copy(received, memory)
        assert np.all(received == 3)
        try:
            a.launch_host_func(print, "no thread is there to run it")
        except rt.errors.AclError as error:
            assert error.code == 207005, error
        a.synchronize()
        try:
            threading.Thread(target=print).start()
            print("threads can be started after all")
        except RuntimeError:
            os._exit(0)
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_discarded_objects_give_their_resources_back(device: Device, lib: Any, ffi: Any) -> None:
    def available() -> tuple[int, int, int]:
        streams, events = ffi.new("uint32_t *"), ffi.new("uint32_t *")
        assert lib.aclrtGetStreamAvailableNum(streams) == 0
        assert lib.aclrtGetEventAvailNum(events) == 0
        return streams[0], events[0], device.memory_info.free

    gc.collect()
    before = available()
    made = [Stream(), Event(manual_reset=True), Buffer(1 << 20)]
    made.append(made)  # only the cycle collector finds them
    assert available() != before
    del made
    gc.collect()
    assert available() == before


def synchronize_device() -> None:
    with contextlib.suppress(Timeout):
        Device(0).synchronize(timeout=0)


@pytest.mark.parametrize("look", [Stream, synchronize_device])
def test_a_stream_that_is_discarded_finishes_its_work(look: Callable[[], object], device: Device) -> None:
    ran: list[int] = []
    stream = Stream()
    with Latch(stream):
        stream.launch_host_func(ran.append, 1)
        done = stream.record()
        with pytest.warns(ResourceWarning, match="busy> was discarded; it is destroyed when its work is done"):
            del stream
        look()
        assert len(lifecycle._deferred) == 1
    done.synchronize()
    assert ran == [1]
    look()
    assert not lifecycle._deferred


@pytest.mark.parametrize("has_stream", [False, True])
def test_a_context_that_is_discarded_finishes_its_work(has_stream: bool, device: Device, stream: Stream) -> None:
    gate = Event(manual_reset=True)
    context = Context(0)
    with context:
        ours = Stream() if has_stream else Stream.default()
        ours.wait(gate, timeout=math.inf)
    cycle: list[object] = [context, ours]
    cycle.append(cycle)
    del context, ours, cycle
    with pytest.warns(ResourceWarning, match="was discarded; it is destroyed when its work is done"):
        gc.collect()
    device.synchronize()
    assert len(lifecycle._deferred) == 1 + has_stream
    gate.record(stream)
    while lifecycle._deferred:
        device.synchronize()


def test_a_warning_of_a_discarded_stream_that_is_an_error_loses_nothing(device: Device) -> None:
    stream = Stream()
    with Latch(stream), warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pytest.raises(ResourceWarning):
            stream._discard()
        assert list(lifecycle._deferred.values()) == [stream]
    stream.close()
    Stream().close()
    assert not lifecycle._deferred


def test_objects_discarded_without_memory_are_closed_later(stream: Stream, monkeypatch: Any) -> None:
    allocations = pytest.importorskip("_testcapi")  # belongs to the tests of CPython
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    destroyed: list[object] = []

    def destroy(handle: Any) -> int:
        destroyed.append(handle)
        return int(original(handle))

    memory, dropped = Buffer(8), list[Any]()
    with lib.override("aclmdlRIDestroy", destroy) as original:
        for _ in range(3):
            with stream.capture() as graph:
                fill_async(memory, 0, stream)
            dropped.append(graph)
            del graph
        allocations.set_nomemory(0, 0)
        dropped.clear()
        allocations.remove_mem_hooks()
        assert destroyed == []
        Stream().close()
        assert len(destroyed) == 3


def test_a_failed_creation_leaves_nothing(device: Device) -> None:
    free = device.memory_info.free
    for _ in range(3):
        with pytest.raises(MemoryError):
            Buffer(1 << 50)
    gc.collect()
    assert device.memory_info.free == free


WAITS = {
    "stream": lambda stream, event: stream.synchronize(),
    "stream with a limit": lambda stream, event: stream.synchronize(timeout=60),
    "event": lambda stream, event: event.synchronize(),
    "device": lambda stream, event: Device(0).synchronize(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_the_gil_is_free_while_the_runtime_waits(wait: Any, device: Device, stream: Stream) -> None:
    # If the waiting thread held the GIL, the latch could not be released and the test would hang.
    latch = Latch(stream)
    event = stream.record()

    def release() -> None:
        device.set_current()
        latch.release()
        device.reset()

    thread = threading.Thread(target=release)
    thread.start()
    wait(stream, event)
    thread.join()
    assert event.is_done


@pytest.mark.simulator("internals")
@pytest.mark.parametrize("where", ["Device(0)", "a.as_current()"])
@pytest.mark.parametrize("use", ["Stream", "event.record"])
def test_the_gil_is_free_while_a_snapshot_locks_the_process(use: str, where: str) -> None:
    # The thread is not interrupted before the call. The simulator, when it looks for deadlocks, would free the GIL too.
    ended = run_script(
        f"""
        event, ready, begin, entering = Event(), *(threading.Event() for _ in range(3))
        event.record()

        def work():
            with {where}:
                ready.set()
                begin.wait()
                entering.set()
                {use}()

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        rt.lib.aclsimSetThreadProvider(rt.ffi.NULL)
        assert rt.lib.aclrtSnapShotProcessLock(os.getpid(), rt.ffi.NULL) == 0
        sys.setswitchinterval(1000)
        begin.set()
        entering.wait()
        assert rt.lib.aclrtSnapShotProcessUnlock(os.getpid(), rt.ffi.NULL) == 0
        thread.join()
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_many_threads_share_a_stream(device: Device, stream: Stream) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            device.set_current()
            for _ in range(200):
                stream.record().synchronize()
            device.reset()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_fork_is_no_failure_of_the_runtime() -> None:
    assert not issubclass(ForkedProcess, AclError)
