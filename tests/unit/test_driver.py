# SPDX-License-Identifier: Apache-2.0
"""The seam: which library is chosen, what is refused and why, and what the functions are afterwards.

The choice is made once per process, so each case runs in a process of its own.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

SHOW = "from ascend_rt import library; x = library(); print(x.backend, x.path, sep='|')"
PRELOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); " + SHOW

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries")


@pytest.fixture(scope="module")
def sim_path() -> Path:
    from ascend_rt.backends import sim

    return sim.library_path()


def chosen(result) -> tuple[str, Path]:
    """Return backend and path that `SHOW` printed."""
    assert result.returncode == 0, result.stderr
    backend, path = result.stdout.strip().splitlines()[-1].split("|")
    assert Path(path).is_absolute()
    return backend, Path(path)


def refusal(result) -> str:
    """Return the text of the LibraryError that ended the program."""
    assert result.returncode != 0, result.stdout
    assert "LibraryError" in result.stderr
    return result.stderr.rpartition("LibraryError")[2]


# --- choosing --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_cann")
def test_auto_without_cann_is_the_simulator_and_says_so(run, sim_path: Path) -> None:
    result = run("-c", SHOW)
    assert chosen(result) == ("sim", sim_path)
    assert result.stderr.count("AclWarning") == 1
    assert "ASCEND_RT_BACKEND=sim" in result.stderr


def test_sim_is_the_simulator_and_silent(run, build, sim_path: Path, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    result = run("-c", SHOW, ASCEND_RT_BACKEND="sim", ASCEND_RT_LIBRARY=vendor)
    assert chosen(result) == ("sim", sim_path)
    assert result.stderr == ""


@pytest.mark.usefixtures("no_cann")
def test_cann_without_cann_is_an_error(run) -> None:
    assert "set_env.sh" in refusal(run("-c", SHOW, ASCEND_RT_BACKEND="cann"))


@pytest.mark.parametrize("code", [SHOW, "import ascend_rt; ascend_rt.use('cuda')"])
def test_an_unknown_backend_is_named_with_the_valid_ones(run, code: str) -> None:
    result = run("-c", code, ASCEND_RT_BACKEND="cuda")
    assert result.returncode != 0
    last_line = result.stderr.strip().splitlines()[-1]
    assert last_line.startswith("ValueError")
    assert all(name in last_line for name in ("cuda", "auto", "cann", "sim"))


def test_use_wins_over_the_environment(run) -> None:
    code = f"import ascend_rt; ascend_rt.use('sim'); {SHOW}"
    assert chosen(run("-c", code, ASCEND_RT_BACKEND="cann"))[0] == "sim"


def test_use_after_loading_may_only_repeat_the_choice(run) -> None:
    code = f"import ascend_rt; {SHOW}; ascend_rt.use('sim'); print('repeated'); ascend_rt.use('cann')"
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert "repeated" in result.stdout
    assert "RuntimeError" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
@pytest.mark.parametrize("directory", ["lib64", f"{platform.machine()}-linux/lib64"])
@pytest.mark.parametrize("name", ["libascendcl.so", "libacl_rt.so"])
def test_the_toolkits_variables(run, build, tmp_path: Path, variable: str, directory: str, name: str) -> None:
    vendor = build(tmp_path / "toolkit" / directory / name)
    assert chosen(run("-c", SHOW, **{variable: tmp_path / "toolkit"})) == ("cann", vendor)


def test_a_known_directory(run, build, environment, tmp_path: Path) -> None:
    vendor = build(Path(environment["HOME"], "Ascend", "ascend-toolkit", "latest", "lib64", "libascendcl.so"))
    assert chosen(run("-c", SHOW)) == ("cann", vendor)


def test_the_dynamic_loaders_own_search(run, build, tmp_path: Path) -> None:
    build(tmp_path / "libascendcl.so", "-Wl,-soname,libascendcl.so")
    assert chosen(run("-c", SHOW, LD_LIBRARY_PATH=tmp_path))[0] == "cann"


def test_a_library_in_the_process_wins(run, build, tmp_path: Path) -> None:
    loaded = build(tmp_path / "loaded" / "libascendcl.so", "-Wl,-soname,libascendcl.so")
    other = build(tmp_path / "other" / "libascendcl.so")
    assert chosen(run("-c", PRELOAD, str(loaded), ASCEND_RT_LIBRARY=other)) == ("cann", loaded)


def test_an_explicit_library_wins_over_the_variables(run, build, tmp_path: Path) -> None:
    explicit = build(tmp_path / "explicit.so")
    build(tmp_path / "toolkit" / "lib64" / "libascendcl.so")
    found = chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=explicit, ASCEND_HOME_PATH=tmp_path / "toolkit"))
    assert found == ("cann", explicit)


def test_what_the_library_prints_does_not_matter(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so", AT_LOAD='puts("{"); fflush(stdout)')
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=vendor)) == ("cann", vendor)


def test_a_path_to_the_simulator_is_reported_as_the_simulator(run, sim_path: Path) -> None:
    assert chosen(run("-c", SHOW, LD_LIBRARY_PATH=sim_path.parent))[0] == "sim"
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=sim_path)) == ("sim", sim_path)
    assert chosen(run("-c", PRELOAD, str(sim_path))) == ("sim", sim_path)


@pytest.mark.usefixtures("no_cann")
def test_cann_is_never_the_simulator(run, sim_path: Path) -> None:
    for result in (
        run("-c", SHOW, ASCEND_RT_BACKEND="cann", LD_LIBRARY_PATH=sim_path.parent),
        run("-c", SHOW, ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=sim_path),
        run("-c", PRELOAD, str(sim_path), ASCEND_RT_BACKEND="cann"),
    ):
        assert "simulator" in refusal(result)


# --- refusing --------------------------------------------------------------------------------------------------------


def expect_refusal(run, library: Path, *words: str, **variables: str) -> None:
    """Neither auto nor cann take the library; the text names it and what is wrong; sim is there if asked for."""
    for backend in ("auto", "cann"):
        text = refusal(run("-c", SHOW, ASCEND_RT_LIBRARY=library, ASCEND_RT_BACKEND=backend, **variables))
        assert str(library) in text
        assert all(word in text for word in words), text
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=library, ASCEND_RT_BACKEND="sim"))[0] == "sim"


def test_no_such_file(run, tmp_path: Path) -> None:
    expect_refusal(run, tmp_path / "missing.so", "no such file")


def test_a_directory(run, tmp_path: Path) -> None:
    expect_refusal(run, tmp_path, "directory")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x7fELF"])
def test_no_library(run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "libascendcl.so"
    path.write_bytes(content)
    expect_refusal(run, path, "not a shared library")


def test_a_library_of_something_else(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "other.so", source="int x;"), "aclInit")


def test_a_stub_by_its_answer(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "libascendcl.so", CODE=100039), "100039")


@pytest.mark.parametrize("directory", ["devlib", "stub"])
def test_a_stub_by_its_directory(run, build, tmp_path: Path, directory: str) -> None:
    expect_refusal(run, build(tmp_path / directory / "libascendcl.so"), "stub")


def test_a_missing_dependency_is_named(run, build, tmp_path: Path) -> None:
    dependency = build(tmp_path / "libgone.so", "-Wl,-soname,libgone.so", source="int gone;")
    vendor = build(tmp_path / "libascendcl.so", "-Wl,--no-as-needed", str(dependency))
    dependency.unlink()
    expect_refusal(run, vendor, "libgone.so")


def test_a_crash_while_loading(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "libascendcl.so", AT_LOAD="abort()"), "SIGABRT")


def test_an_exit_while_loading(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "libascendcl.so", AT_LOAD="_exit(7)"), "7")


def test_a_library_that_hangs(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so", AT_LOAD="for (;;) pause()")
    expect_refusal(run, vendor, "did not answer", ASCEND_RT_PROBE_SECONDS="0.5")


def test_another_machine_type(run, build, other_machine: int, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    image = bytearray(vendor.read_bytes())
    image[18:20] = other_machine.to_bytes(2, "little")
    vendor.write_bytes(image)
    expect_refusal(run, vendor, "machine")


def test_no_device(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "libascendcl.so", DEVICES=0), "no device")


def test_a_driver_that_fails(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "libascendcl.so", CODE=507000), "507000")


@pytest.mark.parametrize("value", ["soon", "0", "-1"])
def test_a_time_limit_that_is_none(run, build, tmp_path: Path, value: str) -> None:
    result = run("-m", "ascend_rt", "info", ASCEND_RT_LIBRARY=build(tmp_path / "a.so"), ASCEND_RT_PROBE_SECONDS=value)
    assert result.returncode == 1
    assert "ASCEND_RT_PROBE_SECONDS" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_error_lists_every_place(run, build, tmp_path: Path) -> None:
    first = build(tmp_path / "a" / "lib64" / "libascendcl.so", CODE=100039)
    second = build(tmp_path / "b" / "lib64" / "libascendcl.so", DEVICES=0)
    variables = {"ASCEND_HOME_PATH": tmp_path / "a", "ASCEND_TOOLKIT_HOME": tmp_path / "b"}
    text = refusal(run("-c", SHOW, **variables))
    assert str(first) in text
    assert str(second) in text


def test_a_broken_place_does_not_hide_a_good_one(run, build, tmp_path: Path) -> None:
    build(tmp_path / "a" / "lib64" / "libascendcl.so", CODE=100039)
    good = build(tmp_path / "b" / "lib64" / "libascendcl.so")
    found = chosen(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path / "a", ASCEND_TOOLKIT_HOME=tmp_path / "b"))
    assert found == ("cann", good)


def test_a_variable_that_leads_nowhere_is_an_error(run, tmp_path: Path) -> None:
    assert "ASCEND_HOME_PATH" in refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path / "gone"))


@pytest.mark.usefixtures("no_cann")
def test_an_empty_variable_is_no_variable(run) -> None:
    empty = dict.fromkeys(("ASCEND_RT_LIBRARY", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_RT_BACKEND"), "")
    assert chosen(run("-c", SHOW, **empty))[0] == "sim"


# --- the functions ---------------------------------------------------------------------------------------------------


def test_a_missing_function_is_not_supported(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    code = """if True:
        import ascend_rt
        from ascend_rt._driver import lib, ffi
        from ascend_rt.errors import NotSupported
        assert ascend_rt.supports("aclrtGetDeviceCount")
        assert not ascend_rt.supports("aclrtRecordEvent")
        assert not ascend_rt.supports("aclrtNoSuchFunction")
        try:
            lib.aclrtRecordEvent(ffi.NULL, ffi.NULL)
        except NotSupported as error:
            print(error)
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 0, result.stderr
    assert "aclrtRecordEvent" in result.stdout
    assert str(vendor) in result.stdout


def test_an_error_has_the_librarys_text(run, build, tmp_path: Path) -> None:
    code = """if True:
        from ascend_rt._driver import check, ffi, lib
        check(0, "aclrtDestroyEvent")
        check(lib.aclrtDestroyEvent(ffi.NULL), "aclrtDestroyEvent")
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=build(tmp_path / "libascendcl.so"))
    assert "aclrtDestroyEvent: [107017 ACL_ERROR_RT_INVALID_HANDLE] the vendor's own words" in result.stderr


def test_functions_are_cffis_own_and_plain_attributes(run) -> None:
    code = """if True:
        from ascend_rt import _aclrt
        from ascend_rt._driver import lib
        assert lib.ACL_EVENT_TIME_LINE == 8
        assert "libascendcl" not in open("/proc/self/maps").read()
        assert lib.aclrtRecordEvent is _aclrt.lib.aclrtRecordEvent
        assert "aclrtRecordEvent" in vars(lib)
        assert not hasattr(lib, "aclrtNoSuchFunction")
    """
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr


def test_threads_may_be_first_together(run) -> None:
    code = """if True:
        import threading
        from ascend_rt._driver import lib
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


def test_a_closed_gate_keeps_callbacks_out_of_python(run) -> None:
    code = """if True:
        from ascend_rt import _aclrt
        calls = []
        @_aclrt.ffi.def_extern()
        def ascend_rt_python_host_func(argument):
            calls.append(_aclrt.lib.ascend_rt_close_gate(0))
        entry = _aclrt.lib.ascend_rt_host_func_entry
        entry(_aclrt.ffi.NULL)
        assert calls == [1], "closing tells that one callback is inside"
        entry(_aclrt.ffi.NULL)
        assert calls == [1], "the closed gate lets nobody in"
        assert _aclrt.lib.ascend_rt_close_gate(0) == 0
        _aclrt.lib.ascend_rt_open_gate()
        entry(_aclrt.ffi.NULL)
        assert calls == [1, 1]
    """
    result = run("-c", code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("answer", "is_ours"), [(0, True), (100002, False)])
def test_an_old_library_is_finalized_only_if_we_initialised_it(
    run, build, tmp_path: Path, answer: int, is_ours: bool
) -> None:
    source = f"""
        #include <stdint.h>
        #include <stdio.h>
        int aclInit(const char *path) {{ (void)path; return {answer}; }}
        int aclFinalize(void) {{ puts("finalized"); fflush(stdout); return 0; }}
        int aclrtSetDevice(int32_t device) {{ (void)device; return 0; }}
        int aclrtGetDeviceCount(uint32_t *count) {{ *count = 1; return 0; }}
    """
    vendor = build(tmp_path / "libascendcl.so", source=source)
    result = run("-c", "from ascend_rt import Device; print(Device.count())", ASCEND_RT_LIBRARY=vendor)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(result.stdout.split()) == (["1", "finalized"] if is_ours else ["1"])


# --- fork ------------------------------------------------------------------------------------------------------------

FORK = """
import os, sys
import ascend_rt
from ascend_rt import _driver
from ascend_rt._driver import lib
from ascend_rt.errors import ForkedProcess
{before}
child = os.fork()
if child == 0:
    try:
        lib.aclrtGetDeviceCount(_driver.ffi.new("uint32_t *"))
        print("called", _driver.usable(), flush=True)
    except ForkedProcess as error:
        assert lib.ACL_EVENT_TIME_LINE == 8  # constants stay
        print("refused", _driver.usable(), error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert _driver.usable()
"""


def test_a_child_of_a_process_that_used_the_library_is_refused(run) -> None:
    result = run("-c", FORK.format(before="_driver.load()"), ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("refused False")
    assert "spawn" in result.stdout


def test_a_child_of_a_process_that_did_not_use_the_library_may(run) -> None:
    result = run("-c", FORK.format(before=""), ASCEND_RT_BACKEND="sim")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("called True")


def test_a_fork_while_another_thread_loads_is_refused_not_stuck(run, build, tmp_path: Path) -> None:
    # The constructor waits for the other end of a FIFO: the thread is inside the load for as long as the child needs.
    source = """
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <unistd.h>
        __attribute__((constructor)) static void wait_for_the_test(void) {
            const char *path = getenv("GATE");
            if (path != NULL) { char c; int gate = open(path, O_RDONLY); (void)!read(gate, &c, 1); close(gate); }
        }
        int aclInit(const char *p) { (void)p; return 0; }
        int aclrtSetDevice(int32_t d) { (void)d; return 0; }
        int aclrtGetDeviceCount(uint32_t *n) { *n = 1; return 0; }
    """
    vendor = build(tmp_path / "libascendcl.so", source=source)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    before = f"""
import threading
from ascend_rt.backends import cann
cann.probe({str(vendor)!r})  # so that only this process waits in the constructor
os.environ["GATE"] = {str(gate)!r}
loader = threading.Thread(target=_driver.load)
loader.start()
writer = os.open({str(gate)!r}, os.O_WRONLY)  # returns when the constructor has opened the other end
"""
    after = 'os.write(writer, b"x"); loader.join()\n'
    code = FORK.format(before=before).replace("assert _driver.usable()", after + "assert _driver.usable()")
    result = run("-c", code, ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("refused False")
