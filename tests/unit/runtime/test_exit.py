# SPDX-License-Identifier: Apache-2.0
"""The end of the interpreter is bounded: whatever is pending, whatever other threads do, whatever never returns.

It aborts nothing. It names in one warning the objects that it cannot give back.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

# Every script has a device, a stream and an event that is never recorded. Pending work is waited for briefly here.
START = """
import ascend_rt as rt
import atexit, contextlib, os, sys, threading
from ascend_rt import Buffer, Context, Device, Event, Stream, copy_async, ffi, lib
from ascend_rt._runtime import lifecycle

lifecycle._WORK_MS = 100
Device(0).set_current()
stream, never = Stream(), Event(manual_reset=True)
"""

# For scripts in which a call does not return; long enough for those that do, on a busy machine.
SHORT_CALLS = "lifecycle._CALL_MS = 1000\n"

PENDING = {
    "a stream": "stream.wait(never)",
    "a stream that waits for another": "stream.wait(never); other = Stream(); other.wait(stream)",
    "a default stream": "Stream.default().wait(never)",
    "the default streams of two devices": """
        for device in (Device(0), Device(Device.count() - 1)):
            device.set_current()
            device.default_stream.wait(never)
    """,
    "a host function that has not run": "stream.wait(never); stream.launch_host_func(print, 'must not run')",
    "a stream with an allocator": "rt.CachingAllocator().register(stream); stream.wait(never)",
    "a host thread": """
        stream.wait(never)
        about_to_wait = threading.Event()
        def wait():
            Device(0).set_current()
            about_to_wait.set()
            with contextlib.suppress(rt.errors.RuntimeClosed):
                stream.synchronize()
        threading.Thread(target=wait, daemon=True).start()
        about_to_wait.wait()
    """,
    "a stream of an explicit context": """
        context = Context(0)
        with context:
            inner = Stream()
            inner.wait(never)
    """,
    "a stream that the raw layer has made": """
        raw = ffi.new("aclrtStream *")
        assert lib.aclrtCreateStream(raw) == 0
        assert lib.aclrtStreamWaitEvent(raw[0], ffi.cast("aclrtEvent", never.handle)) == 0
    """,
}

HELD = {
    "streams": "stream.record()",
    "default streams": "Stream.default().record()",
    "streams of the raw layer": """
        raw = ffi.new("aclrtStream *")
        assert lib.aclrtCreateStream(raw) == 0
        assert lib.aclrtRecordEvent(ffi.cast("aclrtEvent", never.handle), raw[0]) == 0
    """,
}

Finished = Callable[..., Ended]


@pytest.fixture
def finish(tmp_path: Path, programs: Programs) -> Finished:
    """Return a function that runs a script in a separate process, which must end."""
    return lambda script, start=START: programs.run("-c", start + textwrap.dedent(script), directory=tmp_path)


def warning_of(ended: Ended) -> str:
    """Return the text of the one warning that is all the process printed."""
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    found = re.fullmatch(r"\S+lifecycle\.py:\d+: AclWarning: ([^\n]+)\n(  warnings\.warn\([^\n]*\n)?", ended.stderr)
    assert found, ended.stderr
    return found[1]


@pytest.mark.parametrize("script", PENDING.values(), ids=PENDING.keys())
def test_pending_work_is_left_to_the_end_of_the_process(finish: Finished, script: str) -> None:
    assert re.search(r"work is still pending (on device|in a context)", warning_of(finish(script)))


@pytest.mark.parametrize("script", HELD.values(), ids=HELD.keys())
@pytest.mark.simulator("held tasks")
def test_a_simulator_that_is_held_does_not_hold_the_exit(finish: Finished, backend: str, script: str) -> None:
    if backend != "sim":
        pytest.skip("holds the simulator")
    ended = finish("lib.aclsimHold(1)\n" + textwrap.dedent(script))
    assert "work is still pending on device 0" in warning_of(ended)


@pytest.mark.simulator("held tasks")
def test_a_hold_with_nothing_pending_changes_nothing(finish: Finished, backend: str) -> None:
    if backend != "sim":
        pytest.skip("holds the simulator")
    ended = finish("lib.aclsimHold(1)")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_threads_that_make_waiting_streams_do_not_keep_the_process(finish: Finished) -> None:
    ended = finish(
        """
        kept, busy = [], threading.Barrier(4)
        def make_one():
            waiting = Stream()
            waiting.wait(never)
            kept.append(waiting)
        def make():
            Device(0).set_current()
            make_one()
            busy.wait()
            with contextlib.suppress(rt.errors.RuntimeClosed):
                while True:
                    make_one()
                    if len(kept) > 400:
                        kept.pop(0).close(force=True)
        for _ in range(3):
            threading.Thread(target=make, daemon=True).start()
        busy.wait()
        """
    )
    assert "work is still pending on device 0" in warning_of(ended)


def test_threads_that_make_streams_and_contexts_disturb_nothing(finish: Finished) -> None:
    ended = finish(
        """
        busy = threading.Barrier(4)
        def make():
            Device(0).set_current()
            busy.wait()
            with contextlib.suppress(rt.errors.RuntimeClosed):
                while True:
                    made = [Stream() for _ in range(20)]
                    with Context(0), Device(0):
                        pass
        for _ in range(3):
            threading.Thread(target=make, daemon=True).start()
        busy.wait()
        """
    )
    # Contexts and streams that were made last may be pending or gone; nothing else may be said.
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "Error" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_process_that_is_locked_for_a_snapshot_ends(finish: Finished, backend: str) -> None:
    if backend != "sim":
        pytest.skip("the vendor's lock is a request to the driver")
    ended = finish("assert lib.aclrtSnapShotProcessLock(os.getpid(), ffi.NULL) == 0", START + SHORT_CALLS)
    assert "aclrtSetDevice did not return within" in warning_of(ended)


def test_a_host_function_that_never_returns_does_not_keep_the_process(finish: Finished) -> None:
    ended = finish(
        """
        started = threading.Event()
        def work():
            started.set()
            threading.Event().wait()
        stream.launch_host_func(work)
        started.wait()
        """
    )
    assert "1 callback(s) do not return" in warning_of(ended)


def test_work_that_ends_soon_is_waited_for(finish: Finished) -> None:
    ended = finish(
        """
        lifecycle._WORK_MS = 30_000
        pinned, memory = rt.PinnedBuffer(64 << 20), Buffer(64 << 20)
        for _ in range(5):
            copy_async(memory, pinned, stream)
        with Context(0):
            inner = Stream()
            copy_async(Buffer(64 << 20), pinned, inner)
        """
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_what_pending_copies_use_is_never_freed(finish: Finished) -> None:
    ended = finish(
        """
        import numpy as np
        class Host(np.ndarray):
            def __del__(self):
                os.write(1, b"freed")
        page = 4096
        whole = np.zeros(3 * page, np.uint8)
        host = whole[-whole.ctypes.data % page :][: 2 * page].view(Host)
        registered, memory = rt.RegisteredMemory(host), Buffer(2 * page)
        for each in (stream, Stream.from_handle(0)):
            each.wait(never)
            copy_async(memory, host, each)
        """
    )
    assert "work is still pending on device 0" in warning_of(ended)


def test_a_stream_that_is_closed_after_the_end_lets_nothing_go(finish: Finished) -> None:
    ended = finish(
        """
        import weakref
        pinned, memory = rt.PinnedBuffer(64), Buffer(64)
        rt.CachingAllocator().register(stream)
        stream.wait(never)
        copy_async(memory, pinned, stream)
        used = weakref.ref(pinned)
        del pinned

        def last():
            stream.close()
            if used() is None:
                print("freed")
        """,
        "import atexit\natexit.register(lambda: last())\n" + START,  # the first one registered is called last
    )
    assert "work is still pending on device 0" in warning_of(ended)


def test_a_warning_that_is_an_error_leaves_nothing_undone(finish: Finished) -> None:
    ended = finish(
        """
        import warnings
        warnings.simplefilter("error")
        def call_late():
            with contextlib.suppress(rt.errors.RuntimeClosed):
                lib.aclrtSynchronizeDevice()
                print("the library was called")
        atexit._clear()  # run after the hook of the package, which atexit would run first
        atexit.register(call_late)
        atexit.register(lifecycle._give_back)
        stream.wait(never)
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "AclWarning" in ended.stderr


@pytest.mark.simulator("deadly")
def test_open_contexts_are_given_back_before_their_devices(finish: Finished) -> None:
    ended = finish(
        """
        kept, closed = Context(0), Context(0)
        closed.close()
        def check():
            device = ffi.new("int32_t *")
            use = somebody_else.aclrtSetCurrentContext(ctypes.c_void_p(handle))
            print(use, somebody_else.aclrtResetDevice(0))
        import ctypes
        somebody_else, handle = ctypes.CDLL(rt.library().path), kept.handle
        atexit._clear()  # run after the hook of the package
        atexit.register(check)
        atexit.register(lifecycle._give_back)
        """
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert ended.stdout == "107000 507007\n"


# --- look-alikes of the vendor's library -----------------------------------------------------------------------------

NEVER_RETURN = "for (;;) { pause(); }"

# A look-alike prints the names of these when they are called.
WATCHED = (
    "aclrtStreamAbort",
    "aclrtDestroyStreamForce",
    "aclrtDeviceTaskAbort",
    "aclrtResetDeviceForce",
    "aclrtSynchronizeDeviceWithTimeout",
    "aclrtSetDevice",
    "aclrtResetDevice",
    "aclFinalize",
)

# Reports the first entry to the program below.
ENTER = 'if (getenv("ENTRY")) { write(atoi(getenv("ENTRY")), "", 1); unsetenv("ENTRY"); }'
INSIDE = """
import _thread, os, signal, sys, threading, time
from ascend_rt import Device, Event, Stream
from ascend_rt._runtime import lifecycle
lifecycle._WORK_MS = 100
lifecycle._CALL_MS = 1000
device = Device(0)
device.set_current()
stream, event = Stream(), Event()
entry, entered = os.pipe()
os.environ["ENTRY"] = str(entered)

def await_entry():
    os.read(entry, 1)
"""
WAITS = ("stream.synchronize()", "event.synchronize()", "device.synchronize()", "device.reset()")

VENDOR = """
from ascend_rt import Device, Stream
from ascend_rt._runtime import lifecycle
lifecycle._WORK_MS = 100
lifecycle._CALL_MS = 1000
Device(1).set_current()
Device(1).set_current()
stream = Stream()
print("end", flush=True)
"""


@pytest.fixture
def vendor(build: Any, vendor_source: Any, declarations: Any, declared: Any, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that builds a look-alike in which some functions are replaced."""

    def make(**bodies: str) -> Path:
        def is_usual(function: Any) -> bool:
            return function.since == declarations.OLDEST and function.family not in declared.libraries

        source = vendor_source(lambda f: is_usual(f) and f.name not in WATCHED and f.name not in bodies)
        for function in declared.functions:
            if function.name in WATCHED or function.name in bodies:
                trace = f'puts("{function.name}"); fflush(stdout);' if function.name in WATCHED else ""
                source += f"{function.prototype} {{ {trace} {bodies.get(function.name, 'return 0;')} }}\n"
        return Path(build(tmp_path / "libascendcl.so", source=source))

    return make


def end_of(ended: Ended) -> list[str]:
    """Return what a look-alike was asked for at the end, after the program's last line."""
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.partition("end\n")[2].split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries")
class TestVendor:
    """The same with look-alikes of the vendor's library."""

    def test_a_device_at_rest_is_reset_as_often_as_it_was_set(self, run: Any, vendor: Any) -> None:
        ended = run("-c", VENDOR, ASCEND_RT_LIBRARY=vendor())
        waits = ["aclrtSetDevice", "aclrtSynchronizeDeviceWithTimeout"]
        assert end_of(ended) == [*waits, *["aclrtResetDevice"] * 3, "aclFinalize"]
        assert ended.stderr == ""

    def test_pending_work_is_neither_aborted_nor_waited_for_without_limit(self, run: Any, vendor: Any) -> None:
        aborts = dict.fromkeys(("aclrtStreamAbort", "aclrtDestroyStreamForce"), NEVER_RETURN)
        pending = vendor(aclrtSynchronizeDeviceWithTimeout="return 507046;", **aborts)
        ended = run("-c", VENDOR, ASCEND_RT_LIBRARY=pending)
        assert end_of(ended) == ["aclrtSetDevice", "aclrtSynchronizeDeviceWithTimeout"]
        assert "AclWarning: " in ended.stderr
        assert "work is still pending on device 1" in ended.stderr

    @pytest.mark.full
    @pytest.mark.parametrize("name", ["aclrtSynchronizeDeviceWithTimeout", "aclrtResetDevice", "aclFinalize"])
    def test_a_call_that_never_returns_does_not_keep_the_process(self, run: Any, vendor: Any, name: str) -> None:
        ended = run("-c", VENDOR, ASCEND_RT_LIBRARY=vendor(**{name: NEVER_RETURN}))
        assert end_of(ended)[-1] == name
        assert f"{name} did not return within" in ended.stderr

    @pytest.mark.parametrize("name", ["aclrtSetDevice", "aclrtSynchronizeDeviceWithTimeout"])
    def test_a_lost_device_is_reset(self, run: Any, vendor: Any, name: str) -> None:
        # aclrtSetDevice succeeds until the device is lost, at the end.
        lost = vendor(**{name: 'static int calls = 0; return ++calls == 3 || !strstr(__func__, "Set") ? 507010 : 0;'})
        ended = run("-c", VENDOR, ASCEND_RT_LIBRARY=lost)
        resets = 2 if name == "aclrtSetDevice" else 3
        assert end_of(ended)[-resets - 2 :] == [name, *["aclrtResetDevice"] * resets, "aclFinalize"]
        assert ended.stderr == ""

    def test_a_failure_keeps_nothing_else_from_being_given_back(self, run: Any, vendor: Any) -> None:
        timeout_of_a_task = "return 107020;"
        failed = vendor(aclrtSynchronizeDeviceWithTimeout=timeout_of_a_task, aclrtResetDevice="return 507899;")
        ended = run("-c", VENDOR, ASCEND_RT_LIBRARY=failed)
        assert end_of(ended)[-2:] == ["aclrtResetDevice", "aclFinalize"]
        assert ended.stderr.count("aclrtResetDevice: [507899 ") == 1
        assert "the vendor's own words" in ended.stderr

    def test_a_thread_inside_a_call_does_not_meet_the_end_of_the_library(self, run: Any, vendor: Any) -> None:
        destructor = "atexit(abort);"  # runs when one of the library would
        ended = run(
            "-c",
            'import atexit; atexit.register(print, "at exit")'
            + INSIDE
            + """
threading.Thread(target=stream.synchronize, daemon=True).start()
await_entry()
sys.exit(4)
""",
            ASCEND_RT_LIBRARY=vendor(aclrtSynchronizeStream=f"{destructor} {ENTER} {NEVER_RETURN}"),
        )
        assert ended.returncode == 4, ended.stderr
        assert ended.stdout.endswith("at exit\n")  # after the library was left, and written

    @pytest.mark.parametrize("waits", WAITS)
    def test_a_wait_that_is_left_behind_comes_back(self, run: Any, vendor: Any, waits: str) -> None:
        wait = f"{ENTER} usleep(timeout * 1000); return 507046;"
        ended = run(
            "-c",
            INSIDE
            + f"""
def interrupt():
    await_entry()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    {waits}
except KeyboardInterrupt:
    print("interrupted")
while _thread._count() > 0:
    time.sleep(0.001)
print("left")
""",
            ASCEND_RT_LIBRARY=vendor(
                aclrtStreamQuery=f"{ENTER} *status = ACL_STREAM_STATUS_NOT_READY; return 0;",
                aclrtQueryEventStatus=f"{ENTER} *status = ACL_EVENT_RECORDED_STATUS_NOT_READY; return 0;",
                aclrtSynchronizeStreamWithTimeout=wait,
                aclrtSynchronizeEventWithTimeout=wait,
                aclrtSynchronizeDeviceWithTimeout=wait,
                **dict.fromkeys(
                    ("aclrtSynchronizeStream", "aclrtSynchronizeEvent", "aclrtSynchronizeDevice"), NEVER_RETURN
                ),
            ),
        )
        assert "interrupted\nleft\n" in ended.stdout, ended.stderr

    @pytest.mark.parametrize("waits", [wait.replace("()", "(timeout=0.2)") for wait in WAITS[:3]])
    def test_the_limit_of_a_wait_is_the_vendors_to_report(self, run: Any, vendor: Any, waits: str) -> None:
        ended = run(
            "-c",
            f"""
from time import monotonic
from ascend_rt import Device, Event, Stream, Timeout
from ascend_rt._runtime import lifecycle
lifecycle._WORK_MS = 100
device = Device(0)
device.set_current()
stream, event = Stream(), Event()
begin = monotonic()
try:
    {waits}
except Timeout as error:
    print(error.code, 0.2 <= monotonic() - begin, "own words" in str(error))
""",
            ASCEND_RT_LIBRARY=vendor(
                aclrtStreamQuery="*status = ACL_STREAM_STATUS_NOT_READY; return 0;",
                aclrtQueryEventStatus="*status = ACL_EVENT_RECORDED_STATUS_NOT_READY; return 0;",
                aclrtSynchronizeStreamWithTimeout="usleep(timeout * 1000); return 507046;",
                aclrtSynchronizeEventWithTimeout="usleep(timeout * 1000); return 507046;",
                aclrtSynchronizeDeviceWithTimeout="usleep(timeout * 1000); return 507046;",
            ),
        )
        assert "507046 True True\n" in ended.stdout, ended.stderr

    def test_a_capture_of_another_thread_does_not_end_a_wait_for_a_device(self, run: Any, vendor: Any) -> None:
        # The wait has a limit of the library, then finds a capture twice, and then nothing more to wait for.
        body = """
            static int turns;
            ++turns;
            if (turns == 1) { usleep(timeout * 1000); return 507046; }
            if (turns < 4) return 107027;
            printf("%d turns\\n", turns); fflush(stdout);
            return 0;
        """
        program = """
from ascend_rt import Device
device = Device(0)
device.set_current()
device.synchronize()
print("synchronized", flush=True)
"""
        ended = run("-c", program, ASCEND_RT_LIBRARY=vendor(aclrtSynchronizeDeviceWithTimeout=body))
        assert "\n4 turns\nsynchronized\n" in ended.stdout, ended.stderr

    def test_a_capture_that_is_there_before_a_wait_for_a_device_is_an_error(self, run: Any, vendor: Any) -> None:
        program = """
from ascend_rt import AclError, Device
device = Device(0)
device.set_current()
try:
    device.synchronize()
except AclError as error:
    print(error.code)
"""
        ended = run("-c", program, ASCEND_RT_LIBRARY=vendor(aclrtSynchronizeDeviceWithTimeout="return 107027;"))
        assert "107027\n" in ended.stdout, ended.stderr
