# SPDX-License-Identifier: Apache-2.0
"""Older and newer releases of CANN: what is missing is said with its release, and libraries are opened when needed."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

ARCH = f"{platform.machine()}-linux"

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries"),
]


@pytest.fixture(scope="module")
def old(build, tmp_path_factory) -> Path:
    """Return a toolkit of CANN 8.1: one library, and those that are opened on first use, one of which is broken."""
    home = tmp_path_factory.mktemp("Ascend") / "ascend-toolkit" / "8.1.RC1"
    build(home / "lib64" / "libascendcl.so")
    return home


@pytest.fixture(scope="module")
def split(build, vendor_source, declared, tmp_path_factory) -> Path:
    """Return a toolkit of a newer CANN: two libraries, and others for some families."""
    home = tmp_path_factory.mktemp("Ascend") / "cann-9.1.0"
    families = set(declared.libraries)
    build(home / "lib64" / "libacl_rt.so", source=vendor_source(lambda f: f.family not in {*families, "data"}))
    build(home / "lib64" / "libascendcl.so", source=vendor_source(lambda f: f.family in ("data", "event")))
    for family, name in declared.libraries.items():
        source = vendor_source(lambda f, family=family: f.family == family)
        build(home / "lib64" / name, f"-Wl,-soname,{name}", source=source)
    build(home / "lib64" / "libacl_tdt_queue.so", source=vendor_source(lambda f: False), AT_LOAD="abort()")
    return home


def python(run, code: str, home: Path, **variables: str) -> list[str]:
    """Run a program on a toolkit and return the lines that it prints."""
    prelude = "import ascend_rt\nfrom ascend_rt import ffi, lib\nfrom ascend_rt.errors import NotSupported\n"
    result = run("-c", prelude + code, ASCEND_HOME_PATH=home, **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


CAUGHT = """
try:
    {call}
except NotSupported as error:
    print(error.code, error.function, error.message, sep="|")
"""


def caught(run, call: str, home: Path, **variables: str) -> tuple[str, str]:
    """Return function and message of the NotSupported that a call raises."""
    (line,) = python(run, CAUGHT.format(call=call), home, **variables)
    code, function, message = line.split("|", 2)
    assert code == "207000"
    return function, message


# --- missing functions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "since"),
    [
        ("aclrtCmoAsyncWithBarrier", "8.5.0-beta.1"),
        ("aclmdlRIUpdate", "9.1.0-beta.1"),
        ("aclrtMemMapSetLink", "master-2026-08"),
    ],
)
def test_a_missing_function_names_library_release_and_the_release_that_has_it(run, old, function, since) -> None:
    named, message = caught(run, f"lib.{function}()", old)
    assert named == function
    assert str(old / "lib64" / "libascendcl.so") in message
    assert "CANN 8.1.RC1" in message
    assert f"since {since}" in message


def test_a_function_for_unknown_products_is_not_promised_by_another_release(run, split) -> None:
    code = "print(ascend_rt.supports('aclrtCreateStreamV2'))"
    assert python(run, code, split) == ["True"]  # a look-alike has what it is made with
    from ascend_rt._generated import functions

    assert functions.FUNCTIONS["aclrtCreateStreamV2"][2] == ""


def test_control_of_the_simulator_is_not_in_the_vendors_library(run, old) -> None:
    _, message = caught(run, "lib.aclsimHold(1)", old)
    assert "only the simulator" in message


def test_supports(run, old, split) -> None:
    names = ["aclrtRecordEvent", "aclmdlRIUpdate", "aclprofInit", "aclsimHold", "aclrtNoSuch", "ffi", "ACL_SUCCESS"]
    code = f"print(*[ascend_rt.supports(name) for name in {names}])"
    assert python(run, code, old) == ["True False False False False False False"]
    assert python(run, code, split) == ["True True True False False False False"]


def test_supports_of_the_simulator_is_what_it_simulates(run) -> None:
    code = "from ascend_rt import supports as s; print(s('aclrtRecordEvent'), s('acltdtAllocBuf'), s('aclsimHold'))"
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert result.stdout.split() == ["True", "True", "True"], result.stderr


def test_nothing_is_supported_after_the_end(run) -> None:
    code = "import ascend_rt; from ascend_rt._runtime import driver; ascend_rt.library(); driver.shutdown()"
    result = run("-c", f"{code}; print(ascend_rt.supports('aclInit'))", ASCEND_RT_BACKEND="sim")
    assert result.stdout == "False\n", result.stderr


# --- libraries that are opened on first use --------------------------------------------------------------------------

MAPPED = 'print(sum(name in open("/proc/self/maps").read() for name in ("libmsprofiler.so", "libascend_dump.so")))\n'


def test_a_side_library_is_opened_when_it_is_first_used(run, split) -> None:
    code = f"ascend_rt.library()\n{MAPPED}print(lib.aclprofInit(b'x', 1))\n{MAPPED}lib.aclprofFinalize()\n"
    code += "from ascend_rt import _aclrt\nprint(lib.aclprofInit is _aclrt.lib.aclprofInit)"
    assert python(run, code, split) == ["0", "0", "1", "True"]


def test_the_runtimes_own_functions_of_such_a_family_need_no_side_library(run, build, vendor_source, tmp_path) -> None:
    own = ("aclmdlInitDump", "aclInit", "aclrtSetDevice", "aclrtGetDeviceCount")
    build(tmp_path / "lib64" / "libacl_rt.so", source=vendor_source(lambda f: f.name in own))
    assert python(run, f"print(lib.aclmdlInitDump())\n{MAPPED}", tmp_path) == ["0", "0"]


def test_a_missing_side_library_is_named(run, old) -> None:
    named, message = caught(run, "lib.aclprofInit(b'x', 1)", old)
    assert named == "aclprofInit"
    assert "libmsprofiler.so: not there" in message


def test_a_broken_side_library_does_not_reach_the_process(run, split) -> None:
    _, message = caught(run, "lib.acltdtDestroyQueue(1)", split)
    assert f"{split}/lib64/libacl_tdt_queue.so: crashed with SIGABRT" in message


def test_a_side_library_that_is_loaded_already_is_the_one(run, old, split) -> None:
    path = split / "lib64" / "libmsprofiler.so"
    code = f"import ctypes; ctypes.CDLL({str(path)!r})\nfrom ascend_rt._runtime import driver\n"
    code += "print(driver.providers()['aclprofInit'])"
    assert python(run, code, old) == [str(path)]


def test_threads_may_open_a_side_library_together(run, split) -> None:
    code = """
import threading
start, answers = threading.Barrier(8), []
def first():
    start.wait()
    answers.append(lib.aclprofInit(b"x", 1))
threads = [threading.Thread(target=first) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(answers)
"""
    assert python(run, "lib.aclInit(b'')" + code, split) == ["[0, 0, 0, 0, 0, 0, 0, 0]"]


def test_which_library_gave_which_function(run, split) -> None:
    code = """
import collections, os
from ascend_rt._runtime import driver
from ascend_rt._generated.functions import FUNCTIONS
where = {name: os.path.basename(path) for name, path in driver.providers().items()}
for family in ("event", "data", "profiling", "queue"):
    print(family, *sorted({where.get(name, "-") for name, row in FUNCTIONS.items() if row[0] == family}))
"""
    assert python(run, code, split) == [
        "event libacl_rt.so",
        "data libascendcl.so",
        "profiling libmsprofiler.so",
        "queue -",
    ]


# --- versions --------------------------------------------------------------------------------------------------------


def test_version_of_the_simulator(run) -> None:
    code = "import ascend_rt; v = ascend_rt.version(); print(*v)"
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    from ascend_rt import __version__

    assert result.stdout == f"{__version__} None 1.17.0 None\n", result.stderr


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        (None, "", "8.1.RC1"),  # the name of the directory
        ("share/info/runtime/version.info", "Version=9.1.0\n", "9.1.0"),
        (f"{ARCH}/ascend_toolkit_install.info", "package_name=Ascend-cann-toolkit\nversion=8.2.RC1\n", "8.2.RC1"),
        ("runtime/version.info", "Version=7.7.0.1.238\nversion_dir=8.3.RC1\n", "8.3.RC1"),
        ("runtime/version.info", "\0\xff no lines", "8.1.RC1"),
    ],
)
def test_version_from_the_files_of_the_installation(run, build, tmp_path: Path, file, text, version) -> None:
    home = tmp_path / "8.1.RC1"
    build(home / ARCH / "lib64" / "libascendcl.so")
    (home / "lib64").symlink_to(home / ARCH / "lib64")
    if file:
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_bytes(text.encode("latin-1"))
    assert python(run, "print(ascend_rt.version().cann)", home) == [version]


def test_version_as_the_library_says(run, build, vendor_source, tmp_path: Path) -> None:
    source = vendor_source(lambda f: f.family == "init" or f.name in ("aclrtSetDevice", "aclrtGetDeviceCount"))
    build(tmp_path / "8.1.RC1" / "lib64" / "libacl_rt.so", source=source, VERSION_CODE=0)
    code = "v = ascend_rt.version(); print(v.cann, v.driver, v.api)"
    assert python(run, code, tmp_path / "8.1.RC1") == ["9.1.0 9.1.0 1.2.3"]


def test_a_library_of_unknown_version(run, build, tmp_path: Path) -> None:
    build(tmp_path / "lib64" / "libascendcl.so")
    _, message = caught(run, "lib.aclmdlRIUpdate()", tmp_path)
    assert "unknown version" in message


@pytest.mark.parametrize(
    ("name", "since"),
    [("aclrtRecordEvent", "8.1.RC1"), ("aclrtCmoAsyncWithBarrier", "8.5.0-beta.1"), ("aclrtNoSuch", None)],
)
def test_since(name: str, since: str | None) -> None:
    from ascend_rt import versions

    assert versions.since(name) == since
