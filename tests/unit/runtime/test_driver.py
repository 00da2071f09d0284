# SPDX-License-Identifier: Apache-2.0
"""The seam: what the C functions are once a library is loaded, and what takes their place where none may be called.

A process has one library, so most cases run in separate processes.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_rt._runtime import driver

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries")


def test_an_error_has_the_librarys_text(run, build, tmp_path: Path) -> None:
    code = """if True:
        from ascend_rt._runtime.driver import check, ffi, lib
        check(0, "aclrtDestroyEvent")
        check(lib.aclrtDestroyEvent(ffi.NULL), "aclrtDestroyEvent")
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=build(tmp_path / "libascendcl.so"))
    assert "aclrtDestroyEvent: [107017 ACL_ERROR_RT_INVALID_HANDLE] the vendor's own words" in result.stderr


def test_functions_are_cffis_own_and_plain_attributes(run) -> None:
    code = """if True:
        from ascend_rt import _aclrt
        from ascend_rt._runtime.driver import lib
        assert lib.ACL_EVENT_TIME_LINE == 8
        assert "libascendcl" not in open("/proc/self/maps").read()
        assert lib.aclrtRecordEvent is _aclrt.lib.aclrtRecordEvent
        assert "aclrtRecordEvent" in vars(lib)
        assert not hasattr(lib, "aclrtNoSuchFunction")
    """
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr


def test_the_simulator_loads_after_other_libraries_in_c_plus_plus(interpreter) -> None:
    """Their thread-local variables of the C++ library are not those of the simulator."""
    code = """if True:
        import ctypes
        ctypes.CDLL("libstdc++.so.6").__cxa_get_globals()
        from ascend_rt import library
        library()
    """
    result = interpreter("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr


def test_threads_may_be_first_together(run) -> None:
    code = """if True:
        import threading
        from ascend_rt._runtime.driver import lib
        start, found = threading.Barrier(16), []
        def first():
            start.wait()
            found.append(lib.aclrtRecordEvent)
        threads = [threading.Thread(target=first) for _ in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(found) == 16 and len(set(found)) == 1
    """
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr


def test_any_thread_that_loads_the_library_knows_the_main_thread() -> None:
    with ThreadPoolExecutor() as threads:
        assert threads.submit(driver._main_thread).result() == threading.main_thread().ident


def test_the_main_thread_is_known_without_threading(interpreter) -> None:
    code = """if True:
        import sys
        from ascend_rt._runtime import driver
        assert "threading" not in sys.modules
        found = driver._main_thread()
        import threading
        assert found == driver._main_thread() == threading.main_thread().ident
    """
    result = interpreter("-c", code)
    assert result.returncode == 0, result.stderr


def test_a_closed_gate_keeps_callbacks_out_of_python(run) -> None:
    code = """if True:
        from ascend_rt import _aclrt
        calls = []
        @_aclrt.ffi.def_extern()
        def ascend_rt_python_release(kernel):
            calls.append(_aclrt.lib.ascend_rt_close_gate(0))
        entry = _aclrt.lib.ascend_rt_release_entry
        entry(_aclrt.ffi.NULL)
        assert calls == [1], "closing reports that one callback is inside"
        entry(_aclrt.ffi.NULL)
        assert calls == [1], "the closed gate lets no thread in"
        assert _aclrt.lib.ascend_rt_close_gate(0) == 0
        _aclrt.lib.ascend_rt_open_gate()
        entry(_aclrt.ffi.NULL)
        assert calls == [1, 1]
    """
    result = run("-c", code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("answer", "is_ours"), [(0, True), (100002, False)])
def test_an_old_library_is_finalized_only_if_we_initialised_it(
    run, build, vendor_source, declarations, tmp_path: Path, answer: int, is_ours: bool
) -> None:
    source = vendor_source(lambda f: f.since == declarations.OLDEST and f.name != "aclInit")
    source += f"aclError aclInit(const char *path) {{ (void)path; return {answer}; }}\n"
    vendor = build(tmp_path / "libascendcl.so", source=source)
    code = "from ascend_rt import Device; print(Device.count())"
    result = run("-c", code, ASCEND_RT_LIBRARY=vendor, TRACE="1")
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(result.stdout.split()) == (["2", "finalized"] if is_ours else ["2"])


# --- fork ------------------------------------------------------------------------------------------------------------

FORK = """
import os, sys
import ascend_rt
from ascend_rt._runtime import driver
from ascend_rt._runtime.driver import lib
from ascend_rt.errors import ForkedProcess
{before}
child = os.fork()
if child == 0:
    try:
        lib.aclrtGetDeviceCount(driver.ffi.new("uint32_t *"))
        print("called", driver.usable(), flush=True)
    except ForkedProcess as error:
        assert lib.ACL_EVENT_TIME_LINE == 8  # constants stay
        print("refused", driver.usable(), error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert driver.usable()
"""


def test_a_child_of_a_process_that_used_the_library_is_refused(run) -> None:
    result = run("-c", FORK.format(before="driver.load()"), ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("refused False")
    assert "spawn" in result.stdout


def test_a_child_of_a_process_that_did_not_use_the_library_may(run) -> None:
    result = run("-c", FORK.format(before=""), ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("called True")


def test_a_fork_while_another_thread_loads_is_refused_not_stuck(run, build, tmp_path: Path) -> None:
    # The constructor waits for the other end of a FIFO: the thread is inside the load for as long as the child needs.
    wait = 'if (getenv("GATE")) { FILE *gate = fopen(getenv("GATE"), "r"); getc(gate); fclose(gate); }'
    vendor = build(tmp_path / "libascendcl.so", AT_LOAD=wait)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    before = f"""
import threading
from ascend_rt.backends.cann import inspection
inspection.probe_in_child(({str(vendor)!r},))  # so that only this process waits in the constructor
os.environ["GATE"] = {str(gate)!r}
loader = threading.Thread(target=driver.load)
loader.start()
writer = os.open({str(gate)!r}, os.O_WRONLY)  # returns when the constructor has opened the other end
"""
    after = 'os.write(writer, b"x"); loader.join()\n'
    code = FORK.format(before=before).replace("assert driver.usable()", after + "assert driver.usable()")
    result = run("-c", code, ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("refused False")


# --- raw calls are safe ----------------------------------------------------------------------------------------------

# Calls every documented function with nothing: NULL, 0, {0}. The value of the answer does not matter.
CALL_ALL = """
from ascend_rt import ffi, lib
from ascend_rt._generated.functions import FUNCTIONS

def nothing(type_):
    if type_.kind == "struct":
        return ffi.new(f"{type_.cname} *")[0]
    return ffi.NULL if type_.kind in ("pointer", "function") else 0

def call_all(skip=()):
    answers = {}
    for name in FUNCTIONS:
        if name not in skip:
            function = getattr(lib, name)
            answers[name] = function(*map(nothing, ffi.typeof(function).args))
    return answers
"""


def test_every_function_may_be_called_before_init_and_after_finalize(run) -> None:
    code = (
        CALL_ALL
        + """
before = call_all()
assert len(before) == 509
assert lib.aclInit(ffi.NULL) in (0, 100002)
while lib.aclFinalizeReference(ffi.NULL) == 0:
    pass
after = call_all()
assert after.keys() == before.keys()
lib.aclrtResetDeviceForce(0)
assert lib.aclrtCreateStream(ffi.new("aclrtStream *")) == 107002
print("alive")
"""
    )
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert (result.returncode, result.stdout) == (0, "alive\n"), result.stderr


def test_every_function_may_be_called_with_a_device_and_nothing_else(run) -> None:
    code = (
        CALL_ALL
        + """
from ascend_rt import Device
Device(0).set_current()
answers = call_all()
from ascend_rt import supports
assert all(supports(name) for name in answers)
print("alive")
"""
    )
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert (result.returncode, result.stdout) == (0, "alive\n"), result.stderr


def test_after_a_fork_every_function_refuses_and_the_module_reaches_no_library(run) -> None:
    code = (
        CALL_ALL
        + """
import os
from ascend_rt import Device, _aclrt
from ascend_rt.errors import ForkedProcess
Device(0).set_current()
child = os.fork()
if child == 0:
    refused = 0
    for name in FUNCTIONS:
        try:
            getattr(lib, name)()
        except ForkedProcess:
            refused += 1
    raw = _aclrt.lib.aclrtGetDeviceCount(ffi.new("uint32_t *"))
    os._exit(0 if (refused, raw) == (509, _aclrt.lib.ASCEND_RT_REFUSED) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert Device.count() == 8
"""
    )
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr


def test_a_call_at_the_interpreters_end_is_an_exception(run) -> None:
    code = """if True:
        import atexit, os
        from ascend_rt import Device, Stream, ffi, lib, _aclrt
        from ascend_rt.errors import RuntimeClosed

        class Late:
            def __del__(self):
                try:
                    lib.aclrtSynchronizeDevice()
                except RuntimeClosed as error:
                    raw = _aclrt.lib.aclrtSynchronizeDevice()
                    os.write(1, f"{error} / {raw}\\n".encode())

        late = Late()
        atexit.register(lambda: late.__del__())  # registered before ours, so called after it
        Device(0).set_current()
        stream = Stream()
    """
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert (result.returncode, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first.startswith("aclrtSynchronizeDevice: ")
    assert "is exiting" in first
    assert first.endswith(f"/ {driver.lib.ASCEND_RT_REFUSED}")
    assert second == first


NULL, BYTES, NUMBER = "ffi.NULL", "b'x'", "3"


@pytest.mark.parametrize(
    ("function", "arguments", "parameter", "error"),
    [
        ("aclrtRecordEvent", ("'x'", NULL), "event", TypeError),
        ("aclrtRecordEvent", (NULL, NUMBER), "stream", TypeError),
        ("aclrtSetDevice", ("None",), "deviceId", TypeError),
        ("aclrtSetDevice", ("2**31",), "deviceId", OverflowError),
        ("aclrtSetDevice", ("Decimal('1.9')",), "deviceId", TypeError),
        ("aclrtSetDevice", ("np.float32(1)",), "deviceId", TypeError),
        ("aclrtMalloc", (NULL, "Fraction(64)", "0"), "size", TypeError),
        ("aclrtMalloc", (NULL, "64", "Decimal(0)"), "policy", TypeError),
        ("aclrtMemcpy", (NULL, "-1", NULL, "1", "1"), "destMax", OverflowError),
        ("aclrtMemcpy", (NULL, "1", NULL, "1", "'to'"), "kind", TypeError),
        ("aclrtGetDeviceCount", ("ffi.new('int8_t *')",), "count", TypeError),
        ("aclInit", ("'text'",), "configPath", TypeError),
        ("aclFloatToFloat16", (BYTES,), "value", TypeError),
        ("aclFloat16ToFloat", ("1.5",), "value", TypeError),
        ("aclrtLaunchHostFunc", (NULL, "print", NULL), "fn", TypeError),
        ("aclrtIpcOpenEventHandle", (NUMBER, NULL), "handle", TypeError),
        ("aclprofCreateSubscribeConfig", ("1000", "1", NULL), "timeInfoSwitch", OverflowError),
        ("acldumpRegCallback", (NUMBER, NUMBER), "messageCallback", TypeError),
        ("aclAppLog", ("1", BYTES, BYTES, "1", "'text'"), "fmt", TypeError),
    ],
)
def test_a_wrong_argument_is_named(lib, ffi, backend, function, arguments, parameter, error) -> None:
    from ascend_rt import supports

    if not supports(function) and backend == "cann":
        pytest.skip("the library lacks the function")
    names = {"ffi": ffi, "np": np, "Decimal": Decimal, "Fraction": Fraction}
    values = [eval(argument, names) for argument in arguments]
    with pytest.raises(error, match=rf"^{function}: argument '{parameter}': \w"):
        getattr(lib, function)(*values)


@pytest.mark.parametrize("number", [1, True, np.int32(1), np.array(1), IntEnum("One", "one").one])
def test_whatever_has_an_index_is_an_integer(number: Any, lib, ffi) -> None:
    out = ffi.new("int64_t *")
    assert lib.aclrtGetDeviceInfo(0, number, out) == lib.aclrtGetDeviceInfo(0, 1, out)


@pytest.mark.parametrize("name", ["int", "uint64_t", "aclrtDevAttr"])
def test_numbers_of_cffi_are_integers(name: str, lib, ffi) -> None:
    out = ffi.new("int64_t *")
    number = ffi.cast(name, 1)
    assert lib.aclrtGetDeviceInfo(ffi.cast("int", 0), number, out) == lib.aclrtGetDeviceInfo(0, 1, out)


def test_a_wrong_number_of_arguments_is_a_type_error(lib, ffi) -> None:
    with pytest.raises(TypeError, match=r"aclrtRecordEvent.*2 arguments"):
        lib.aclrtRecordEvent(ffi.NULL)
    with pytest.raises(TypeError, match="aclrtSetDevice"):
        lib.aclrtSetDevice()


def test_minus_one_is_a_number_like_others(lib, device) -> None:
    assert lib.aclrtSetDevice(-1) == 107001


def test_the_text_of_a_log_entry_is_taken_as_it_is(lib) -> None:
    assert lib.aclAppLog(lib.ACL_INFO, b"f", b"f.py", 1, b"100 %s %n done") is None
