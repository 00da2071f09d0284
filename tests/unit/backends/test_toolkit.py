# SPDX-License-Identifier: Apache-2.0
"""The simulated toolkit: what build files, compilers, linkers, loaders and ascend_rt itself find there."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_rt._generated.functions import NEWEST
from ascend_rt.backends.sim import companion_directory, library_path
from ascend_rt.backends.toolkit import directory, is_simulated
from ascend_rt.backends.toolkit.environment import with_simulator, without_simulator

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ARCH = f"{platform.machine()}-linux"

pytestmark = [
    pytest.mark.simulator("internals", "the toolkit is the simulator's"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CANN is for Linux, and so are its build files"),
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let toolkits be made in a directory whose name has a space, a quote and a dollar."""
    place = tmp_path / "the user's $cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_RT_SIM_CANN_VERSION"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def home(cache: Path) -> Path:
    """Return a toolkit."""
    return Path(directory.home())


# --- what is in it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["", ARCH, "acllib", "compiler", "fwkacllib", "runtime"])
def test_headers_and_libraries_are_where_releases_have_them(home: Path, parent: str) -> None:
    assert (home / parent / "include" / "acl" / "acl.h").is_file()
    for library in ("lib64/libascendcl.so", "lib64/stub/libascendcl.so"):
        # One file: the loader takes another copy for another runtime.
        assert (home / parent / library).samefile(library_path())
    assert (home / parent / "lib64" / "libhccl.so").samefile(companion_directory() / "libhccl.so")


@pytest.mark.parametrize(
    "place", ["include", "include/experiment/runtime", "pkg_inc/runtime", f"{ARCH}/pkg_inc/runtime"]
)
def test_headers_of_the_inner_runtime_are_where_releases_have_them(home: Path, place: str) -> None:
    assert (home / place / "runtime" / "rt.h").is_file()


def test_a_link_beside_it_has_the_name_without_the_release(home: Path) -> None:
    assert (home.parent / "cann").samefile(home)


def test_every_library_is_in_it(home: Path) -> None:
    libraries = {path.name for path in (home / "lib64").glob("lib*.so")}
    assert libraries == {path.name for path in (home / "devlib").glob("lib*.so")}
    assert libraries >= {f"lib{name}.so" for name in ("ascendcl", "acl_rt", "hccl", "acl_op_compiler", "msprofiler")}


@pytest.mark.parametrize("asked", [None, "8.1.RC1"])
def test_it_says_which_release_it_plays(run, cache: Path, asked: str | None) -> None:
    variables = {"XDG_CACHE_HOME": str(cache), **({"ASCEND_RT_SIM_CANN_VERSION": asked} if asked else {})}
    script = (
        "from ascend_rt.backends.toolkit.directory import home; from ascend_rt import ffi, lib\n"
        "out = ffi.new('char[128]'); lib.aclsysGetVersionStr(b'runtime', out)\n"
        "print(home(), ffi.string(out).decode(), sep='\\n')"
    )
    path, release = run("-c", script, ASCEND_RT_BACKEND="sim", **variables).stdout.splitlines()
    assert release == (asked or NEWEST)
    assert Path(path).name == f"cann-{release}"
    for name in ("", "runtime", "compiler", "opp", "share/info/runtime"):
        assert f"Version={release}\n" in (Path(path) / name / "version.info").read_text(encoding="utf-8")
    assert f"runtime_running_version=[{release}:{release}]\n" in (Path(path) / "version.cfg").read_text(
        encoding="utf-8"
    )
    assert f"version={release}\n" in (Path(path) / ARCH / "ascend_toolkit_install.info").read_text(encoding="utf-8")


def test_a_release_that_is_none_becomes_no_path(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_CANN_VERSION", "../../elsewhere")
    assert Path(directory.home()).name == f"cann-{NEWEST}"


# --- making it -------------------------------------------------------------------------------------------------------


def test_it_is_made_once_and_mended_where_needed(home: Path) -> None:
    def state() -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in home.rglob("*") if not path.is_dir()}

    before = state()
    assert Path(directory.home()) == home
    assert state() == before
    (home / "version.cfg").unlink()
    (home / "lib64" / "libascendcl.so").unlink()
    (home / "lib64" / "libascendcl.so").symlink_to("/nowhere/libascendcl.so")
    assert Path(directory.home()) == home
    assert (home / "lib64" / "libascendcl.so").samefile(library_path())
    assert state().keys() == before.keys()


def test_each_place_of_the_package_has_another(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "include_directory", lambda: str(tmp_path / "moved" / "include"))
    assert Path(directory.home()) != home


def test_where_the_cache_cannot_be_written_it_is_among_temporary_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file, not a directory", encoding="utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = tmp_path / f"ascend_rt-{os.getuid()}"
    assert Path(directory.home()).is_relative_to(root)
    assert root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME"])
def test_without_a_home_it_is_among_temporary_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv(variable, "relative")
    if variable == "HOME":  # as for a user that is not in the system's list
        monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert Path(directory.home()).is_relative_to(tmp_path / "temporary" / f"ascend_rt-{os.getuid()}")
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]


def test_making_it_writes_nothing_into_the_package(home: Path) -> None:
    package = Path(directory.include_directory()).parent

    def state() -> dict[str, int]:
        return {str(path): path.lstat().st_mtime_ns for path in package.rglob("*") if "__pycache__" not in path.parts}

    before = state()
    shutil.rmtree(home)
    assert Path(directory.home()) == home
    assert state() == before


def test_a_place_that_others_can_write_is_not_used(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "ascend_rt").mkdir(parents=True)
    (cache / "ascend_rt").chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"ascend_rt-{os.getuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="set XDG_CACHE_HOME to a directory for it") as raised:
        directory.home()
    assert str(raised.value).count("not a directory that belongs to this user alone") == 2


# --- set_env.sh ------------------------------------------------------------------------------------------------------


def sourced(shell: str, home: Path, *, times: int = 1, **variables: str) -> tuple[dict[str, str], str]:
    """Return the environment of a shell that has sourced set_env.sh, and what that said."""
    show = f"{shlex.quote(sys.executable)} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    script = f". {shlex.quote(str(home))}/set_env.sh;" * times + show
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}")
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run([program, "-euc", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh"])
def test_set_env_names_the_toolkit_first_and_once(shell: str, home: Path) -> None:
    lib64 = str(home / "lib64")
    found, said = sourced(shell, home, times=2, LD_LIBRARY_PATH=f"/a b:{lib64}:/c", ASCEND_TOOLKIT_HOME=str(home))
    assert said == ""
    assert found["ASCEND_HOME_PATH"] == found["ASCEND_TOOLKIT_HOME"] == found["ASCEND_AICPU_PATH"] == str(home)
    assert found["ASCEND_OPP_PATH"] == str(home / "opp")
    assert found["LD_LIBRARY_PATH"] == f"{lib64}:/a b:/c"
    assert found["C_INCLUDE_PATH"] == found["CPLUS_INCLUDE_PATH"] == str(home / "include")
    assert found["LIBRARY_PATH"] == lib64
    assert found["PATH"] == f"{home / 'bin'}:{os.environ['PATH']}"
    assert found["PYTHONPATH"] == str(home / "python" / "site-packages")
    assert not [name for name in found if name.startswith("_ascend_rt")]


def test_a_python_after_set_env_has_acl(home: Path) -> None:
    found, _ = sourced("sh", home)
    script = "import acl.rt, ascend_rt.pyacl as ours; print(acl is ours, acl.rt is ours.rt, acl.rt.get_device_count())"
    environment = {**found, "ASCEND_RT_BACKEND": "sim"}
    python = [sys.executable, "-c", script]
    done = subprocess.run(python, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True (8, 0)\n", "")


def test_acl_says_that_a_python_lacks_ascend_rt(home: Path) -> None:
    found, _ = sourced("sh", home)
    python = [sys.executable, "-S", "-c", "import acl"]
    done = subprocess.run(python, env=found, capture_output=True, text=True, check=False, cwd=home)
    said = f"acl of the simulated toolkit needs ascend_rt in this Python, {sys.executable}"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {said}"


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_set_env_says_what_it_replaces(home: Path, variable: str) -> None:
    _, said = sourced("sh", home, **{variable: "/usr/local/Ascend/cann"})
    assert said == "set_env.sh: the simulated toolkit replaces /usr/local/Ascend/cann in this shell\n"


def test_of_two_toolkits_the_later_one_is_used_and_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_CANN_VERSION", "8.1.RC1")
    other = Path(directory.home())
    first, _ = sourced("sh", home)
    second, said = sourced("sh", other, **first)
    assert said == f"set_env.sh: the simulated toolkit replaces {home} in this shell\n"
    assert second["ASCEND_HOME_PATH"] == str(other)
    assert second["LD_LIBRARY_PATH"] == f"{other / 'lib64'}:{home / 'lib64'}"


def test_the_vendors_set_env_after_ours_is_used(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "Ascend" / "cann"
    (real / "lib64").mkdir(parents=True)
    lines = f'export ASCEND_HOME_PATH={real}\nexport LD_LIBRARY_PATH="{real}/lib64:$LD_LIBRARY_PATH"\n'
    (real / "set_env.sh").write_text(lines, encoding="utf-8")
    ours, _ = sourced("sh", home)
    theirs, _ = sourced("sh", real, **ours)
    assert theirs["LD_LIBRARY_PATH"] == f"{real / 'lib64'}:{home / 'lib64'}"
    asked = npu_smi(home, "info", "-l", ASCEND_HOME_PATH=str(real))
    assert (asked.returncode, asked.stderr) == (
        0,
        f"npu-smi: describes the simulated machine; {real} is an installation of CANN\n",
    )


def test_set_env_of_a_toolkit_that_has_moved_changes_nothing(home: Path, tmp_path: Path) -> None:
    moved = home.rename(tmp_path / "moved")
    script = f'. {shlex.quote(str(moved))}/set_env.sh || echo "$? ${{ASCEND_HOME_PATH-none}}"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "1 none\n"
    assert f"there is no {home}/lib64/libascendcl.so: the toolkit or ascend_rt has moved or is removed" in done.stderr
    assert Path(directory.home()) == home  # made again
    assert sourced("sh", home)[0]["ASCEND_HOME_PATH"] == str(home)


def test_set_env_keeps_the_release(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_CANN_VERSION", "8.1.RC1")
    found, _ = sourced("sh", Path(directory.home()))
    assert found["ASCEND_RT_SIM_CANN_VERSION"] == "8.1.RC1"


# --- what ascend_rt does with it -------------------------------------------------------------------------------------


def test_the_command_prints_it(run, cache: Path) -> None:
    printed = run("-m", "ascend_rt", "toolkit-path", XDG_CACHE_HOME=cache).stdout
    assert printed == f"{directory.home()}\n"
    assert is_simulated(printed.strip())


@pytest.mark.usefixtures("no_cann")
def test_ascend_rt_names_it_and_does_not_take_it_for_the_vendors(run, home: Path) -> None:
    named = {"ASCEND_HOME_PATH": str(home), "ASCEND_RT_BACKEND": ""}
    found = json.loads(run("-m", "ascend_rt", "info", "--json", **named).stdout)
    assert (found["backend"], found["reason"]) == ("sim", "found by ASCEND_HOME_PATH, a simulated toolkit")
    refused = run("-m", "ascend_rt", "info", "--backend", "cann", **named)
    assert refused.returncode == 1
    assert "libascendcl.so (ASCEND_HOME_PATH, a simulated toolkit): the simulator" in refused.stdout + refused.stderr


def test_a_toolkit_of_a_package_that_is_gone_is_an_error(run, home: Path) -> None:
    (home / "lib64" / "libascendcl.so").unlink()
    result = run("-c", "import ascend_rt; ascend_rt.library()", ASCEND_HOME_PATH=home, ASCEND_RT_BACKEND="auto")
    assert result.returncode == 1
    assert "(ASCEND_HOME_PATH, a simulated toolkit): no such file" in result.stderr


def test_an_installation_that_is_named_stays_named(cache: Path) -> None:
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        found = with_simulator({name: "/usr/local/Ascend/cann"})
        assert {key: value for key, value in found.items() if key.startswith("ASCEND")} == {
            name: "/usr/local/Ascend/cann"
        }


def test_run_says_that_builds_use_an_installation(run, cache: Path) -> None:
    named = {"ASCEND_HOME_PATH": "/usr/local/Ascend/cann", "XDG_CACHE_HOME": cache}
    done = run("-m", "ascend_rt", "run", "--backend", "sim", "-c", "print(1)", **named)
    said = "builds use /usr/local/Ascend/cann, which the environment names; programs run on the simulator"
    assert (done.stdout, done.stderr) == ("1\n", f"ascend-rt run: {said}\n")


def test_nothing_of_it_stays_for_another_library(home: Path) -> None:
    mine = {"PYTHONPATH": ":/mine"}
    assert without_simulator({"PYTHONPATH": f"{home}/python/site-packages:{mine['PYTHONPATH']}"}) == mine
    before = {
        "PATH": "/bin",
        "C_INCLUDE_PATH": "/include",
        "LD_LIBRARY_PATH": f"{library_path().parent}:/lib",
        "LANG": "C",
    }
    found = with_simulator(before)
    assert found["LD_LIBRARY_PATH"] == f"{home / 'lib64'}:/lib"
    assert without_simulator(found) == {
        **before,
        **{"LD_LIBRARY_PATH": "/lib", "LIBRARY_PATH": "", "CPLUS_INCLUDE_PATH": ""},
    }


# --- npu-smi ---------------------------------------------------------------------------------------------------------


def npu_smi(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(home / "bin" / "npu-smi"), *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def fields(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\s*(\S[^:\n]*?)\s*: (.*)$", text, re.MULTILINE)


def test_npu_smi_lists_npus_and_chips(home: Path) -> None:
    machine = {"ASCEND_RT_SIM_PRODUCT": "910C", "ASCEND_RT_SIM_DEVICES": "3", "ASCEND_RT_VISIBLE_DEVICES": "1"}
    npus = fields(npu_smi(home, "info", "-l", **machine).stdout)
    assert npus == [
        ("Total Count", "2"),
        *(("NPU ID", "0"), ("Chip Count", "2")),
        *(("NPU ID", "1"), ("Chip Count", "1")),
    ]
    head, *chips = (line.split() for line in npu_smi(home, "info", "-m", **machine).stdout.splitlines())
    assert head == ["NPU", "ID", "Chip", "ID", "Chip", "Logic", "ID", "Chip", "Name"]
    assert chips == [["0", "0", "0", "Ascend910"], ["0", "1", "1", "Ascend910"], ["1", "0", "2", "Ascend910"]]


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("910B", [("NPU ID", "0"), ("Chip ID", "0"), ("Chip Type", "Ascend"), ("Chip Name", "910B1")]),
        ("910C", [("NPU ID", "0"), ("NPU Name", "9391"), ("Chip ID", "0"), ("Chip Name", "Ascend910")]),
    ],
)
def test_npu_smi_names_the_chip(home: Path, product: str, expected: list[tuple[str, str]]) -> None:
    board = npu_smi(home, "info", "-t", "board", "-i", "0", "-c", "0", ASCEND_RT_SIM_PRODUCT=product)
    assert fields(board.stdout) == expected


def test_npu_smi_shows_the_memory(home: Path) -> None:
    shown = npu_smi(home, "info", ASCEND_RT_SIM_PRODUCT="310P", ASCEND_RT_SIM_DEVICES="1").stdout
    lines = shown.splitlines()
    assert {len(line) for line in lines} == {98}
    assert lines[6].split()[1:5] == ["0", "310P3", "|", "OK"]
    assert "0    / 24576" in lines[7]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("info", "-t", "board", "-i", "99"), 1, "there is no NPU 99"),
        (("info", "-t", "usages", "-i", "0", "-c", "1"), 1, "there is no NPU 0 with a chip 1"),
        (("info", "-t", "proc-mem"), 2, "invalid choice: 'proc-mem'"),
    ],
)
def test_npu_smi_says_what_it_does_not_answer(home: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    done = npu_smi(home, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr


def test_npu_smi_shows_the_use_of_chips(home: Path) -> None:
    machine = {"ASCEND_RT_SIM_PRODUCT": "910C", "ASCEND_RT_SIM_DEVICES": "2"}
    usages = fields(npu_smi(home, "info", "-t", "usages", "-i", "0", **machine).stdout)
    assert usages[:2] == [("NPU ID", "0"), ("Chip Count", "2")]
    assert [value for name, value in usages if name == "Chip ID"] == ["0", "1"]
    assert [value for name, value in usages if name == "HBM Capacity(MB)"] == ["62748", "62748"]
    assert ("Aicore Usage Rate(%)", "0") in usages
    assert ("Aivector Usage Rate(%)", "0") in usages
    one = dict(fields(npu_smi(home, "info", "-t", "usages", "-i", "0", "-c", "1", **machine).stdout))
    assert (one["Chip Count"], one["Chip ID"]) == ("1", "1")
    common = dict(fields(npu_smi(home, "info", "-t", "common", "-i", "0", **machine).stdout))
    assert (common["Aicore Count"], common["HBM Usage Rate(%)"], common["Temperature(C)"]) == ("24", "0", "NA")


def test_npu_smi_shows_ddr_and_what_a_product_lacks(home: Path) -> None:
    machine = {"ASCEND_RT_SIM_PRODUCT": "310P", "ASCEND_RT_SIM_DEVICES": "1"}
    usages = dict(fields(npu_smi(home, "info", "-t", "usages", **machine).stdout))
    assert (usages["DDR Capacity(MB)"], usages["HBM Capacity(MB)"]) == ("24576", "0")
    errors = fields(npu_smi(home, "info", "-t", "ecc", "-i", "0", "-c", "0", **machine).stdout)
    counts = {name: value for name, value in errors if name.startswith("DDR")}
    assert len(counts) == len(errors) - 3 == 6
    assert set(counts.values()) == {"0"}


def test_npu_smi_shows_the_health(home: Path) -> None:
    npu = dict(fields(npu_smi(home, "info", "-t", "health", "-i", "1").stdout))
    assert npu == {"NPU ID": "1", "Chip Count": "1", "Health": "OK", "Chip ID": "0"}
    chip = dict(fields(npu_smi(home, "info", "-t", "health", "-i", "1", "-c", "0").stdout))
    assert chip == {"Health Status": "OK", "Error Code": "NA", "Error Information": "NA"}


@pytest.mark.parametrize(
    ("product", "first", "link"), [("910B", "NPU0", "HCCS"), ("910C", "Phy-ID0", "HCCS_SW"), ("310P", "NPU0", "PHB")]
)
def test_npu_smi_shows_links(home: Path, product: str, first: str, link: str) -> None:
    machine = {"ASCEND_RT_SIM_PRODUCT": product, "ASCEND_RT_SIM_DEVICES": "2"}
    head, *rows = npu_smi(home, "info", "-t", "topo", **machine).stdout.partition("\n\n")[0].splitlines()
    second = first.replace("0", "1")
    assert head.split() == [first, second, "CPU", "Affinity"]
    assert [row.split()[:3] for row in rows] == [[first, "X", link], [second, link, "X"]]
    processors = rows[0].split()[3]
    assert processors == rows[1].split()[3]
    assert {int(number) for number in re.split("[,-]", processors)} <= os.sched_getaffinity(0)


def test_npu_smi_says_why_there_is_no_machine(home: Path) -> None:
    done = npu_smi(home, "info", ASCEND_RT_SIM_PRODUCT="no such product")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ASCEND_RT_SIM_PRODUCT=no such product is not one of 910B" in done.stderr


# --- builds ----------------------------------------------------------------------------------------------------------

ROUND_TRIP = "1048576 bytes came back as they were sent"


@pytest.fixture(params=["run", "sh", "bash"])
def within(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a command under ``ascend-rt run``, or in a shell that has sourced set_env.sh."""

    def run_below(*command: str | Path) -> str:
        words = list(map(str, command))
        if request.param == "run":
            code = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
            words = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", "-c", code, *words]
        else:
            words = [request.param, "-c", f'. {shlex.quote(str(home))}/set_env.sh; "$@"', "sh", *words]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_below


def need(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


@pytest.mark.full
def test_an_extension(within, tmp_path: Path) -> None:
    need("cc")
    pytest.importorskip("setuptools")
    pytest.importorskip("wheel")
    source = shutil.copytree(EXAMPLES / "toolkit" / "extension", tmp_path / "source")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    within(*pip, "--target", tmp_path / "installed", source)
    show = "import sys; sys.path.insert(0, sys.argv[1]); import device_count as d; print(d.count(), d.BUILT_FOR)"
    assert within(sys.executable, "-c", show, tmp_path / "installed") == "8 910B1\n"


@pytest.mark.full
def test_a_cmake_project(within, home: Path, tmp_path: Path) -> None:
    need("cc", "cmake")
    reported = within("cmake", "-S", EXAMPLES / "toolkit", "-B", tmp_path / "build")
    assert f"-- CANN {NEWEST} in {home}\n" in reported
    within("cmake", "--build", tmp_path / "build")
    for program in ("by_search", "by_package"):
        assert ROUND_TRIP in within(tmp_path / "build" / program)


@pytest.mark.full
def test_a_makefile(within, tmp_path: Path) -> None:
    need("cc", "make")
    assert ROUND_TRIP in within("make", "-C", EXAMPLES / "toolkit", f"OUT={tmp_path}", "run")


@pytest.mark.full
def test_headers_that_a_build_names_precede_those_of_the_toolkit(within, tmp_path: Path) -> None:
    need("cc")
    (tmp_path / "acl").mkdir()
    (tmp_path / "acl" / "acl.h").write_text("#define MINE\n", encoding="utf-8")
    (tmp_path / "a.c").write_text("#include <acl/acl.h>\n#ifndef MINE\n#error\n#endif\n", encoding="utf-8")
    for language in ("c", "c++"):
        within("cc", "-x", language, "-fsyntax-only", "-isystem", tmp_path, tmp_path / "a.c")


@pytest.mark.full
def test_a_compiler_needs_no_option(within, tmp_path: Path) -> None:
    need("cc")
    within("cc", EXAMPLES / "c" / "round_trip.c", "-lascendcl", "-lhccl", "-o", tmp_path / "program")
    assert ROUND_TRIP in within(tmp_path / "program")
