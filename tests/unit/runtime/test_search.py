# SPDX-License-Identifier: Apache-2.0
"""Finding the vendor's library: where it is looked for, what is refused and why, and what is chosen then.

The choice is made once per process, so each case runs in a separate process.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

SHOW = "from ascend_rt import library; x = library(); print(x.backend, x.path, sep='|')"
PRELOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); " + SHOW

ARCH = f"{platform.machine()}-linux"
SONAME = "-Wl,-soname,libascendcl.so"

pytestmark = [
    pytest.mark.simulator("independent"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries"),
]


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


# --- every look-alike, whatever is asked for, whatever is loaded already ---------------------------------------------


class Lookalike(NamedTuple):
    """How a library is made, and what is said of it; ``fault`` is empty if it can be used."""

    fault: str = ""
    flags: tuple[str, ...] = ()
    macros: dict[str, object] = {}  # noqa: RUF012  (never changed)


LOOKALIKES = {
    "old": Lookalike(),
    "split": Lookalike(),
    "answers-100039": Lookalike("100039", macros={"CODE": 100039}),
    "devlib": Lookalike("stub"),
    "missing-dependency": Lookalike("libgone.so", flags=("-Wl,--no-as-needed", "-l:libgone.so")),
    "other-machine": Lookalike("another machine type"),
    "32-bit": Lookalike("32-bit"),
    "crash": Lookalike("SIGSEGV", macros={"AT_LOAD": "*(volatile int *)0 = 1"}),
    "exit": Lookalike("exit status 7", macros={"AT_LOAD": "_exit(7)"}),
    "hang": Lookalike("did not answer within 0.5 s", macros={"AT_LOAD": "for (;;) pause()"}),
    "no-device": Lookalike("no device", macros={"DEVICES": 0}),
    "no-driver": Lookalike("507000", macros={"CODE": 507000}),
    "no-chip": Lookalike("aclrtGetSocName", macros={"SOC": "0"}),
}


def patch(library: Path, offset: int, value: bytes) -> None:
    """Change some bytes of the ELF header."""
    image = bytearray(library.read_bytes())
    image[offset : offset + len(value)] = value
    library.write_bytes(image)


@pytest.fixture(scope="module")
def toolkits(build, vendor_source, declared, tmp_path_factory) -> dict[str, Path]:
    """Return a toolkit for each look-alike, in the layout of an installation; the value is the library to be named."""
    root = tmp_path_factory.mktemp("Ascend")
    gone = build(root / "gone" / "libgone.so", "-Wl,-soname,libgone.so", source="int gone;")
    libraries = {}
    for name, (_, flags, macros) in LOOKALIKES.items():
        directory = root / name / ARCH / ("devlib" if name == "devlib" else "lib64")
        file_name = "libacl_rt.so" if name == "split" else "libascendcl.so"
        libraries[name] = build(directory / file_name, *flags, f"-L{gone.parent}", **macros)
        (root / name / "lib64").symlink_to(directory)
    gone.unlink()
    newer = vendor_source(lambda function: function.family in ("data", "log"))
    build(libraries["split"].with_name("libascendcl.so"), SONAME, source=newer)
    other = 62 if platform.machine() == "aarch64" else 183
    patch(libraries["other-machine"], 18, other.to_bytes(2, "little"))
    patch(libraries["32-bit"], 4, b"\x01")
    return libraries


@pytest.fixture(scope="module")
def good(build, tmp_path_factory) -> Path:
    """Return a library for a process to have loaded."""
    return build(tmp_path_factory.mktemp("loaded") / "libascendcl.so", SONAME)


# Loads a library, as torch_npu would have, then does what the command does.
INFO = """
import ctypes, sys
loaded = [ctypes.CDLL(path) for path in sys.argv[1:]]
from ascend_rt.__main__ import main
sys.exit(main(["info", "--json"]))
"""


def combinations() -> Iterator[object]:
    """Every look-alike once; for a sound one all the rest; the rest is for the full matrix."""
    for name, backend, loaded in product(LOOKALIKES, ("auto", "cann", "sim"), ("nothing", "vendor", "simulator")):
        is_first = (backend, loaded) == ("auto", "nothing")
        marks = () if is_first or name == "old" else pytest.mark.full
        yield pytest.param(name, backend, loaded, marks=marks)


@pytest.mark.full
@pytest.mark.parametrize(("name", "backend", "loaded"), list(combinations()))
def test_every_combination(run, toolkits, good, sim_path, name: str, backend: str, loaded: str) -> None:
    preloaded = {"nothing": (), "vendor": (str(good),), "simulator": (str(sim_path),)}[loaded]
    variables = {"ASCEND_RT_BACKEND": backend, "ASCEND_RT_PROBE_SECONDS": "0.5" if name == "hang" else "30"}
    home = toolkits[name].parents[2]
    result = run("-c", INFO, *preloaded, ASCEND_HOME_PATH=home, **variables)
    assert "Traceback" not in result.stderr
    info = json.loads(result.stdout)
    if backend == "sim" or (backend == "auto" and loaded == "simulator"):
        expected = ("sim", str(sim_path))
    elif loaded == "vendor":
        expected = ("cann", str(good))
    elif not LOOKALIKES[name].fault:
        expected = ("cann", str(home / "lib64" / toolkits[name].name))
    else:
        # A devlib directory is not among the places of a toolkit's libraries; the link to it is.
        assert result.returncode == 1
        assert str(home / "lib64") in info["error"]
        assert LOOKALIKES[name].fault in info["error"] or name == "devlib"
        assert "ASCEND_RT_BACKEND=sim" in info["error"]
        assert "backend" not in info
        return
    assert result.returncode == 0
    assert (info["backend"], info["libraries"][0]) == expected


@pytest.mark.parametrize("name", ["answers-100039", "no-device", "no-driver", "no-chip"])
def test_a_broken_library_that_is_loaded_already_is_not_gone_around(run, toolkits, good, build, tmp_path, name) -> None:
    loaded = build(tmp_path / "libascendcl.so", SONAME, **LOOKALIKES[name].macros)
    for backend in ("auto", "cann"):
        text = refusal(run("-c", PRELOAD, str(loaded), ASCEND_RT_BACKEND=backend, ASCEND_RT_LIBRARY=good))
        assert "already in the process" in text
        assert LOOKALIKES[name].fault in text
        assert str(good) not in text
    assert chosen(run("-c", PRELOAD, str(loaded), ASCEND_RT_BACKEND="sim"))[0] == "sim"


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in LOOKALIKES if LOOKALIKES[name].fault])
def test_a_library_that_is_named_is_refused_by_name(run, toolkits, name: str) -> None:
    seconds = "0.5" if name == "hang" else "30"
    text = refusal(run("-c", SHOW, ASCEND_RT_LIBRARY=toolkits[name], ASCEND_RT_PROBE_SECONDS=seconds))
    assert str(toolkits[name]) in text
    assert LOOKALIKES[name].fault in text


@pytest.mark.parametrize("backend", ["auto", "cann"])
def test_a_name_that_the_loader_does_not_find_is_refused(run, backend: str) -> None:
    text = refusal(run("-c", SHOW, ASCEND_RT_BACKEND=backend, ASCEND_RT_LIBRARY="libascendcl.so.99"))
    assert "libascendcl.so.99 (ASCEND_RT_LIBRARY): not where the dynamic loader looks; give its directory" in text


def test_a_missing_driver_is_called_that(run, build, tmp_path: Path) -> None:
    driver = build(tmp_path / "libascend_hal.so", "-Wl,-soname,libascend_hal.so", source="int hal;")
    library = build(tmp_path / "lib64" / "libascendcl.so", "-Wl,--no-as-needed", str(driver))
    driver.unlink()
    text = refusal(run("-c", SHOW, ASCEND_RT_LIBRARY=library))
    assert "libascend_hal.so" in text
    assert "driver" in text


def test_a_library_that_fails_here_leaves_nothing_behind(run, build, tmp_path: Path) -> None:
    first = build(tmp_path / "libacl_rt.so")
    second = build(tmp_path / "libascendcl.so")
    code = f"""if True:
        import os, ascend_rt
        from ascend_rt.backends.cann import inspection
        inspection.probe_in_child(({str(first)!r}, {str(second)!r}))
        os.truncate({str(second)!r}, 100)  # broken since it was looked at
        try:
            ascend_rt.library()
        except ascend_rt.errors.LibraryError as error:
            assert {str(second)!r} in str(error)
            ascend_rt.use("sim")
            product = ascend_rt.Device().name
            print(ascend_rt.library().backend, product)
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=first)
    assert (result.returncode, result.stdout) == (0, "sim Ascend910B1\n"), result.stderr


def test_a_bad_library_does_not_reach_the_process(run, toolkits) -> None:
    code = f"""if True:
        import ascend_rt
        for _ in range(2):
            try:
                ascend_rt.library()
            except ascend_rt.errors.LibraryError as error:
                assert "SIGSEGV" in str(error)
        assert {str(toolkits["crash"])!r} not in open("/proc/self/maps").read()
        ascend_rt.use("sim")
        print(ascend_rt.library().backend)
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=toolkits["crash"])
    assert (result.returncode, result.stdout) == (0, "sim\n"), result.stderr


def test_a_library_is_probed_once_per_process(run, build, tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = f'FILE *f = fopen("{log}", "a"); fputs("x", f); fclose(f); abort()'
    library = build(tmp_path / "libascendcl.so", AT_LOAD=note)
    code = """if True:
        import ascend_rt
        for _ in range(3):
            try:
                ascend_rt.library()
            except ascend_rt.errors.LibraryError as error:
                print(len(error.attempts))
    """
    result = run("-c", code, ASCEND_RT_LIBRARY=library)
    assert (result.returncode, result.stdout) == (0, "1\n1\n1\n"), result.stderr
    assert log.read_text(encoding="utf-8") == "x"


# --- choosing --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_cann")
def test_auto_without_cann_is_the_simulator_and_says_so(run, sim_path: Path) -> None:
    result = run("-c", SHOW)
    assert chosen(result) == ("sim", sim_path)
    assert result.stderr.count("AclWarning") == 1
    assert "ASCEND_RT_BACKEND=sim" in result.stderr


@pytest.mark.usefixtures("no_cann")
def test_the_warning_shows_the_line_of_the_program(run, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from ascend_rt import Device\n\nDevice(0).set_current()\n", encoding="utf-8")
    result = run(program)
    assert f"{program}:3: AclWarning: no CANN installation was found" in result.stderr


def test_sim_is_the_simulator_and_silent(run, good: Path, sim_path: Path) -> None:
    result = run("-c", SHOW, ASCEND_RT_BACKEND="sim", ASCEND_RT_LIBRARY=good)
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
    assert last_line.startswith("ascend_rt.errors.ConfigurationError")
    assert all(name in last_line for name in ("cuda", "auto", "cann", "sim"))


def test_use_wins_over_the_environment(run) -> None:
    code = f"import ascend_rt; ascend_rt.use('sim'); {SHOW}"
    assert chosen(run("-c", code, ASCEND_RT_BACKEND="cann"))[0] == "sim"


def test_use_after_loading_may_only_repeat_the_choice(run) -> None:
    code = f"import ascend_rt; {SHOW}; ascend_rt.use('sim'); print('repeated'); ascend_rt.use('cann')"
    result = run("-c", code, ASCEND_RT_BACKEND="sim")
    assert "repeated" in result.stdout
    assert "WrongState: " in result.stderr.splitlines()[-1]


# --- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
@pytest.mark.parametrize("directory", ["lib64", f"{ARCH}/lib64", "latest/lib64", "cann/lib64", f"8.2.RC1/{ARCH}/lib64"])
@pytest.mark.parametrize("name", ["libascendcl.so", pytest.param("libacl_rt.so", marks=pytest.mark.full)])
def test_the_toolkits_variables(run, good, tmp_path: Path, variable: str, directory: str, name: str) -> None:
    vendor = tmp_path / "toolkit" / directory / name
    vendor.parent.mkdir(parents=True)
    shutil.copy(good, vendor)
    assert chosen(run("-c", SHOW, **{variable: tmp_path / "toolkit"})) == ("cann", vendor)


@pytest.mark.parametrize(
    "directory", ["ascend-toolkit/latest", "cann", "cann-8.5.0", "ascend-toolkit/8.1.RC1", "nnrt/latest", "latest"]
)
def test_a_known_directory(run, good, environment, directory: str) -> None:
    vendor = Path(environment["HOME"], "Ascend", directory, "lib64", "libascendcl.so")
    vendor.parent.mkdir(parents=True)
    shutil.copy(good, vendor)
    assert chosen(run("-c", SHOW)) == ("cann", vendor)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("ascend-toolkit/8.1.RC1", "ascend-toolkit/8.1.RC2"),
        ("ascend-toolkit/8.1.RC2", "ascend-toolkit/8.1.0"),
        ("ascend-toolkit/8.9.RC1", "ascend-toolkit/8.10.RC1"),
        ("ascend-toolkit/8.2.RC1.alpha002", "ascend-toolkit/8.2.RC1.alpha003"),
        ("ascend-toolkit/8.3.RC1", "cann-8.5.0-beta.1"),
        ("cann-8.5.0-beta.1", "cann-8.5.0"),
        ("cann-9.0.0", "cann-9.1.0-beta.3"),
    ],
)
def test_of_several_versions_the_newest(run, good, tmp_path: Path, older: str, newer: str) -> None:
    for version in (older, newer):
        (tmp_path / version / "lib64").mkdir(parents=True)
        shutil.copy(good, tmp_path / version / "lib64" / "libascendcl.so")
    assert chosen(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path))[1].is_relative_to(tmp_path / newer)


def test_the_link_to_a_version_comes_before_newer_versions(run, good, tmp_path: Path) -> None:
    for version in ("8.1.RC1", "8.2.RC1"):
        (tmp_path / version / "lib64").mkdir(parents=True)
        shutil.copy(good, tmp_path / version / "lib64" / "libascendcl.so")
    (tmp_path / "latest").symlink_to("8.1.RC1")
    found = chosen(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path))[1]
    assert found.resolve().is_relative_to(tmp_path.resolve() / "8.1.RC1")


def test_a_place_that_is_known_by_two_names_is_tried_once(run, toolkits, tmp_path: Path) -> None:
    (tmp_path / "8.1.RC1").symlink_to(toolkits["answers-100039"].parents[2])
    (tmp_path / "latest").symlink_to("8.1.RC1")
    text = refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path))
    assert text.count("100039") == 1


def test_the_dynamic_loaders_own_search(interpreter, good) -> None:
    assert chosen(interpreter("-c", SHOW, LD_LIBRARY_PATH=good.parent)) == ("cann", good)


def test_a_library_in_the_process_wins(run, good, build, tmp_path: Path) -> None:
    other = build(tmp_path / "other" / "libascendcl.so")
    assert chosen(run("-c", PRELOAD, str(good), ASCEND_RT_LIBRARY=other)) == ("cann", good)


def test_an_explicit_library_wins_over_the_variables(run, good, build, tmp_path: Path) -> None:
    explicit = build(tmp_path / "explicit.so")
    found = chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=explicit, ASCEND_HOME_PATH=good.parent))
    assert found == ("cann", explicit)


def test_what_the_library_prints_does_not_matter(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so", AT_LOAD='puts("{"); fflush(stdout)')
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=vendor)) == ("cann", vendor)


def test_a_path_to_the_simulator_is_reported_as_the_simulator(run, interpreter, sim_path: Path) -> None:
    backend, path = chosen(interpreter("-c", SHOW, LD_LIBRARY_PATH=sim_path.parent))
    assert (backend, path.parent) == ("sim", sim_path.parent)
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=sim_path)) == ("sim", sim_path)
    assert chosen(run("-c", PRELOAD, str(sim_path))) == ("sim", sim_path)


@pytest.mark.usefixtures("no_cann")
def test_cann_is_never_the_simulator(run, interpreter, sim_path: Path) -> None:
    for result in (
        interpreter("-c", SHOW, ASCEND_RT_BACKEND="cann", LD_LIBRARY_PATH=sim_path.parent),
        run("-c", SHOW, ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=sim_path),
        run("-c", PRELOAD, str(sim_path), ASCEND_RT_BACKEND="cann"),
    ):
        assert "simulator" in refusal(result)


def test_an_error_lists_every_place(run, toolkits) -> None:
    homes = {"ASCEND_HOME_PATH": "answers-100039", "ASCEND_TOOLKIT_HOME": "no-device"}
    text = refusal(run("-c", SHOW, **{variable: toolkits[name].parents[2] for variable, name in homes.items()}))
    for variable, name in homes.items():
        assert f"{toolkits[name].parents[2]}/lib64/libascendcl.so ({variable})" in text
        assert LOOKALIKES[name].fault in text


def test_a_broken_place_does_not_hide_a_good_one(run, toolkits) -> None:
    homes = {
        "ASCEND_HOME_PATH": toolkits["answers-100039"].parents[2],
        "ASCEND_TOOLKIT_HOME": toolkits["old"].parents[2],
    }
    found = chosen(run("-c", SHOW, **homes))
    assert found == ("cann", homes["ASCEND_TOOLKIT_HOME"] / "lib64" / "libascendcl.so")


# --- two libraries that belong together ------------------------------------------------------------------------------


def test_a_broken_compatibility_library_is_left_out_and_reported(run, build, tmp_path: Path) -> None:
    good = build(tmp_path / "lib64" / "libacl_rt.so")
    broken = build(
        tmp_path / "lib64" / "libascendcl.so", AT_LOAD="", source="int undefined(void); int (*f)(void) = undefined;"
    )
    result = run("-m", "ascend_rt", "info", "--json", ASCEND_HOME_PATH=tmp_path)
    info = json.loads(result.stdout)
    assert (result.returncode, info["libraries"]) == (0, [str(good)]), result.stderr
    (tried,) = info["tried"]
    assert tried["outcome"] == "usable"
    assert str(broken) in tried["verdict"]
    assert "undefined" in tried["verdict"]


def test_the_other_library_of_a_directory_is_used_too(run, toolkits) -> None:
    for name in ("libacl_rt.so", "libascendcl.so"):
        named = toolkits["split"].with_name(name)
        code = "from ascend_rt import library, supports; print(supports('aclDataTypeSize'), *library().paths)"
        result = run("-c", code, ASCEND_RT_LIBRARY=named)
        assert result.returncode == 0, result.stderr
        supported, *paths = result.stdout.split()
        assert supported == "True"
        assert paths[0] == str(named)
        assert {Path(path).name for path in paths} == {"libacl_rt.so", "libascendcl.so"}


def test_a_function_is_taken_from_the_runtimes_own_library_first(run, build, tmp_path: Path) -> None:
    build(tmp_path / "lib64" / "libacl_rt.so", SOC='"own"')
    build(tmp_path / "lib64" / "libascendcl.so", SOC='"compatibility"')
    code = "from ascend_rt import Device; print(Device().name)"
    result = run("-c", code, ASCEND_HOME_PATH=tmp_path)
    assert (result.returncode, result.stdout) == (0, "own\n"), result.stderr


# --- bad input -------------------------------------------------------------------------------------------------------


def expect_refusal(run, library: Path | str, *words: str, **options) -> None:
    """Neither auto nor cann take the library; the text names it and what is wrong; sim is there if asked for."""
    for backend in ("auto", "cann"):
        text = refusal(run("-c", SHOW, ASCEND_RT_LIBRARY=library, ASCEND_RT_BACKEND=backend, **options))
        assert os.fsencode(library).decode(errors="backslashreplace") in text.replace("\\udc", "\\x")
        assert all(word in text for word in words), text
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=library, ASCEND_RT_BACKEND="sim", **options))[0] == "sim"


def test_no_such_file(run, tmp_path: Path) -> None:
    expect_refusal(run, tmp_path / "missing.so", "no such file")


def test_a_directory(run, tmp_path: Path) -> None:
    expect_refusal(run, tmp_path, "a directory: name the library in it")


def test_a_fifo_does_not_keep_us_waiting(run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "libascendcl.so")
    expect_refusal(run, tmp_path / "libascendcl.so", "not a regular file")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x7fELF"])
def test_no_library(run, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "libascendcl.so"
    path.write_bytes(content)
    expect_refusal(run, path, "not a shared library")


def test_a_library_of_something_else(run, build, tmp_path: Path) -> None:
    expect_refusal(run, build(tmp_path / "other.so", source="int x;"), "aclInit")


def test_a_library_that_may_not_be_read(interpreter, good, tmp_path: Path) -> None:
    before = ()
    if os.geteuid() == 0:  # root may read everything, except in this program
        if shutil.which("setpriv") is None:
            pytest.skip("root reads every file, and there is no setpriv")
        before = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    library = tmp_path / "lib64" / "libascendcl.so"
    library.parent.mkdir()
    shutil.copy(good, library)
    library.chmod(0)
    expect_refusal(interpreter, library, "permission denied", before=before)
    library.chmod(0o755)
    library.parent.chmod(0)
    expect_refusal(interpreter, library, "permission denied", before=before)
    library.parent.chmod(0o755)


def test_links_in_a_circle(run, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    expect_refusal(run, tmp_path / "a", "symbolic links")
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libascendcl.so").symlink_to("libascendcl.so")
    assert "symbolic links" in refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path))
    (tmp_path / "circle").symlink_to("circle")
    assert "symbolic links" in refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path / "circle"))


def test_a_very_long_path(run, good, tmp_path: Path) -> None:
    expect_refusal(run, tmp_path / ("x" * 300), "file name too long")
    expect_refusal(run, f"{tmp_path}/" + "x/" * 3000 + "libascendcl.so", "file name too long")
    deep = tmp_path.joinpath(*["d" * 200] * 10, "libascendcl.so")
    deep.parent.mkdir(parents=True)
    shutil.copy(good, deep)
    assert chosen(run("-c", SHOW, ASCEND_RT_LIBRARY=deep)) == ("cann", deep)


@pytest.mark.parametrize(
    "locale", ["C", *(pytest.param(name, marks=pytest.mark.full) for name in ("C.UTF-8", "POSIX"))]
)
@pytest.mark.parametrize("directory", ["昇腾 toolkit", "caf\udce9"], ids=["chinese", "no-text"])
def test_a_path_that_is_not_ascii(interpreter, build, toolkits, tmp_path: Path, directory: str, locale: str) -> None:
    home = Path(tmp_path, directory)
    (home / "lib64").mkdir(parents=True)
    shutil.copy(toolkits["old"], home / "lib64" / "libascendcl.so")
    code = "import os; from ascend_rt import library; print(os.fsencode(library().path).hex())"
    result = interpreter("-c", code, ASCEND_HOME_PATH=home, LC_ALL=locale)
    assert result.returncode == 0, result.stderr
    assert bytes.fromhex(result.stdout) == os.fsencode(home / "lib64" / "libascendcl.so")
    for format_option in ((), ("--json",)):
        shown = interpreter("-m", "ascend_rt", "info", *format_option, ASCEND_HOME_PATH=home, LC_ALL=locale)
        assert shown.returncode == 0
    (home / "lib64" / "libascendcl.so").write_bytes(b"")
    assert "not a shared library" in refusal(interpreter("-c", SHOW, ASCEND_HOME_PATH=home, LC_ALL=locale))


def test_a_variable_that_leads_nowhere_is_an_error(run, tmp_path: Path) -> None:
    assert "ASCEND_HOME_PATH" in refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path / "gone"))
    (tmp_path / "file").touch()
    assert "ASCEND_HOME_PATH" in refusal(run("-c", SHOW, ASCEND_HOME_PATH=tmp_path / "file"))


@pytest.mark.usefixtures("no_cann")
def test_an_empty_variable_is_no_variable(run) -> None:
    names = ("LIBRARY", "BACKEND", "PROBE_SECONDS")
    empty = dict.fromkeys((*(f"ASCEND_RT_{name}" for name in names), "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"), "")
    assert chosen(run("-c", SHOW, **empty))[0] == "sim"


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf"])
def test_a_time_limit_that_is_none(run, good, value: str) -> None:
    result = run("-m", "ascend_rt", "info", ASCEND_RT_LIBRARY=good, ASCEND_RT_PROBE_SECONDS=value)
    assert result.returncode == 1
    assert "ASCEND_RT_PROBE_SECONDS" in result.stderr
    assert "Traceback" not in result.stderr


# --- a program that embeds Python ------------------------------------------------------------------------------------

EMBEDDED = "import os, sys; sys.executable = {executable}; {then}" + SHOW


@pytest.mark.parametrize("executable", ["None", "''"])
def test_an_embedded_python_finds_a_python_for_the_probe(run, build, tmp_path: Path, executable: str) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    done = run("-c", EMBEDDED.format(executable=executable, then=""), ASCEND_RT_LIBRARY=vendor)
    assert (done.returncode, done.stdout) == (0, f"cann|{vendor}\n"), done.stderr


def test_an_embedded_python_without_another_one_says_so(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    hide = "sys.exec_prefix = '/nowhere'; os.environ['PATH'] = '/nowhere'; "
    text = refusal(run("-c", EMBEDDED.format(executable="''", then=hide), ASCEND_RT_LIBRARY=vendor))
    assert "cannot be examined: sys.executable names no Python" in text
