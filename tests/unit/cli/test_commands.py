# SPDX-License-Identifier: Apache-2.0
"""The commands in processes; an error that a user can mend is one message and an exit status."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_rt._generated.functions import PRODUCTS, REFUSALS

ROOT = Path(__file__).resolve().parents[3]

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries")


def expect_message(result, status: int, *words: str) -> None:
    """The program ends with a message, a status and no traceback."""
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr
    assert all(word in result.stderr for word in words), result.stderr


# --- info ------------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("products")
def test_info_as_json(run) -> None:
    result = run("-m", "ascend_rt", "info", "--json", "--backend", "sim", ASCEND_RT_SIM_DEVICES="3")
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert (info["backend"], info["reason"]) == ("sim", "chosen by --backend")
    assert [Path(path).name for path in info["libraries"]] == ["libascendcl.so"]
    assert [device["id"] for device in info["devices"]] == [0, 1, 2]
    assert all(0 < device["memory_free"] <= device["memory_total"] for device in info["devices"])
    assert info["product"].startswith("Ascend")
    assert sum(sum(family["present"].values()) for family in info["families"].values()) == 509
    assert info["simulated"] == 509
    assert not any(family["missing"] for family in info["families"].values())
    assert info["environment"]["ASCEND_RT_SIM_DEVICES"] == "3"
    assert {"package", "python", "platform", "reason", "tried", "cann_version", "driver_version"} <= info.keys()


@pytest.mark.usefixtures("no_cann")
def test_info_leads_with_what_matters(run) -> None:
    result = run("-m", "ascend_rt", "info")
    assert result.returncode == 0, result.stderr
    assert "installed" not in result.stdout
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert [line[0] for line in lines[:3]] == ["library", "why", "product"]
    assert lines[0][1] == "the simulator"
    assert lines[1][1] == "no CANN installation was found"
    assert "             0 to 7: 60.6 GiB of 61.0 GiB free" in result.stdout
    simulated = json.loads(run("-m", "ascend_rt", "info", "--json").stdout)["simulated"]
    assert f"functions    {simulated} of 509 are simulated" in result.stdout
    assert len(lines) < 15


@pytest.mark.usefixtures("no_cann")
def test_info_in_detail_says_what_was_tried(run, environment) -> None:
    result = run("-m", "ascend_rt", "info", "--verbose", LD_LIBRARY_PATH="/nowhere")
    assert result.returncode == 0, result.stderr
    assert f"{environment['HOME']}/Ascend (a known directory): no such directory" in result.stdout
    assert "event, 22 functions: 22 in libascendcl.so\n" in result.stdout
    assert "LD_LIBRARY_PATH=/nowhere" in result.stdout.partition("\nenvironment  ")[2]


@pytest.mark.usefixtures("no_cann")
def test_asking_for_the_vendors_library_lists_every_place(run, environment) -> None:
    (Path(environment["HOME"]) / "Ascend").mkdir()
    result = run("-m", "ascend_rt", "info", "--backend", "cann", ASCEND_TOOLKIT_HOME="")
    assert result.returncode == 1
    assert result.stdout.startswith("acl ")
    for place in (
        "ASCEND_HOME_PATH (the environment): not set",
        "ASCEND_TOOLKIT_HOME (the environment): not set",
        "/usr/local/Ascend (a known directory): no such directory",
        f"{environment['HOME']}/Ascend (a known directory): no libacl_rt.so or libascendcl.so below it",
        "/opt/Ascend (a known directory): no such directory",
        "libacl_rt.so (the dynamic loader): not there",
    ):
        assert place in result.stderr


def test_what_is_not_there_is_not_called_installed(run, tmp_path: Path) -> None:
    for variable in ("ASCEND_RT_LIBRARY", "ASCEND_HOME_PATH"):
        result = run("-m", "ascend_rt", "info", "--verbose", **{variable: tmp_path / "missing.so"})
        assert result.returncode == 1
        assert "missing.so" in result.stdout
        assert "missing.so" in result.stderr
        assert "installed" not in result.stdout + result.stderr


@on_linux
def test_info_on_the_vendors_library(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "cann-8.1.RC1" / "lib64" / "libascendcl.so")
    result = run("-m", "ascend_rt", "info", "--json", ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 0, result.stderr
    info = json.loads(result.stdout)
    assert (info["backend"], info["libraries"]) == ("cann", [str(vendor)])
    assert info["devices"] == [{"id": i, "memory_free": 3 << 30, "memory_total": 4 << 30} for i in range(2)]
    assert (info["product"], info["api_version"], info["cann_version"]) == ("Ascend910X", "1.2.3", "8.1.RC1")
    event = info["families"]["event"]
    assert event["present"] == {str(vendor): 22 - len(event["missing"])}
    assert "aclrtRecordEventWithFlag" in event["missing"]
    assert info["families"]["profiling"]["present"] == {}
    text = run("-m", "ascend_rt", "info", "--verbose", ASCEND_RT_LIBRARY=vendor).stdout
    assert "CANN         8.1.RC1" in text
    assert "functions    the library has " in text
    counts = f"{22 - len(event['missing'])} in libascendcl.so; {len(event['missing'])} in no library"
    assert f"event, 22 functions: {counts}: {', '.join(event['missing'])}" in text


@on_linux
def test_info_without_a_usable_library_still_says_everything(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so", DEVICES=0)
    result = run("-m", "ascend_rt", "info", "--verbose", ASCEND_RT_LIBRARY=vendor)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    for words in ("Python", "platform", f"tried        {vendor} (ASCEND_RT_LIBRARY): it has no device"):
        assert words in result.stdout
    assert result.stderr.startswith("ascend-rt: no library of CANN can be used")
    info = json.loads(run("-m", "ascend_rt", "info", "--json", ASCEND_RT_LIBRARY=vendor).stdout)
    assert [attempt["outcome"] for attempt in info["tried"]] == ["refused"]


@on_linux
def test_info_reports_of_a_device_that_fails(run, build, vendor_source, declarations, tmp_path: Path) -> None:
    source = vendor_source(lambda f: f.since == declarations.OLDEST and f.name != "aclrtSetDevice")
    source += "aclError aclrtSetDevice(int32_t device) { return device == 1 ? 507033 : 0; }\n"
    vendor = build(tmp_path / "libascendcl.so", source=source)
    result = run("-m", "ascend_rt", "info", "--json", ASCEND_RT_LIBRARY=vendor)
    first, second = json.loads(result.stdout)["devices"]
    assert first["memory_total"] == 4 << 30
    assert "507033" in second["error"]
    assert "1: aclrtSetDevice: [507033" in run("-m", "ascend_rt", "info", ASCEND_RT_LIBRARY=vendor).stdout


@pytest.mark.usefixtures("no_cann")
def test_a_warning_is_a_line_without_a_place_in_a_program(run, tmp_path: Path) -> None:
    reported = "the environment variable ASCEND_RT_SIM_CHEK is unknown; did you mean ASCEND_RT_SIM_CHECK?\n"
    misspelt = {"ASCEND_RT_BACKEND": "sim", "ASCEND_RT_SIM_CHEK": "memory"}
    assert run("-m", "ascend_rt", "info", **misspelt).stderr == f"ascend-rt: warning: {reported}"
    script = tmp_path / "script.py"
    script.write_text("from ascend_rt import Device\n\nDevice.count()\n", encoding="utf-8")
    of_script = run("-m", "ascend_rt", "run", script, **misspelt).stderr
    assert of_script == f"{script}:3: AclWarning: {reported}  Device.count()\n"


def test_an_unknown_backend(run) -> None:
    expect_message(run("-m", "ascend_rt", "info", ASCEND_RT_BACKEND="cuda"), 1, "cuda", "auto", "cann", "sim")


def test_a_broken_library_path(run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a library", encoding="utf-8")
    for path in (text, tmp_path / "missing.so", tmp_path):
        expect_message(run("-m", "ascend_rt", "demo", ASCEND_RT_LIBRARY=path), 1, str(path))


# --- the output ------------------------------------------------------------------------------------------------------


@on_linux
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_message(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "ASCEND_RT_BACKEND": "sim"}
    for arguments in (["coverage", "--format", "json"], ["sim-path"], [], ["--version"], ["help"], ["demo", "--help"]):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "ascend_rt", *arguments]
            result = subprocess.run(command, stdout=full, stderr=-1, text=True, env=environment, check=False)
        assert (result.returncode, result.stderr) == (
            1,
            "ascend-rt: standard output: no space left on device; free some space, or write to another disk\n",
        )


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "ascend_rt", "coverage", "--backend", "sim", "--format", "json"]
    result = subprocess.run(command, stdout=writer, stderr=-1, text=True, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")


@on_linux
@pytest.mark.usefixtures("no_cann")
def test_a_closed_output_does_not_matter(run) -> None:
    result = run("-m", "ascend_rt", "info", before=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert result.returncode == 0, result.stderr


def in_a_terminal(run, *arguments: str, **variables: str) -> list[str]:
    """Return the lines that a command prints to a terminal, of 80 columns unless the variables say otherwise."""
    pytest.importorskip("rich")
    variables = {"TERM": "xterm-256color", "COLUMNS": "80", "ASCEND_RT_BACKEND": "sim"} | variables
    result = run("-c", IN_A_TERMINAL, *arguments, **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


IN_A_TERMINAL = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "ascend_rt", *sys.argv[1:]])))
"""

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@on_linux
@pytest.mark.parametrize("command", ["info", "coverage"])
def test_tables_in_a_terminal(run, command: str) -> None:
    lines = in_a_terminal(run, command)
    assert any(map(COLOUR.search, lines))
    assert max(len(STYLE.sub("", line)) for line in lines) <= 80
    assert "…" not in "".join(lines)


@on_linux
def test_no_color(run) -> None:
    assert not any(map(COLOUR.search, in_a_terminal(run, "info", NO_COLOR="1")))


@on_linux
@pytest.mark.parametrize("columns", [40, 60])
def test_a_table_in_a_narrow_terminal_is_continued_below(run, columns: int) -> None:
    lines = [STYLE.sub("", line).strip() for line in in_a_terminal(run, "coverage", COLUMNS=str(columns))]
    end = max(number for number, line in enumerate(lines) if line.startswith("total "))
    assert max(map(len, lines[: end + 1])) <= columns
    heads = [line.split()[1:] for line in lines if line.startswith("family ")]
    totals = [line.split()[1:] for line in lines if line.startswith("total ")]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == ["all", "here", "sim", "no", "facade", *PRODUCTS]
    assert [len(total) for total in totals] == [len(head) for head in heads]


def test_tables_without_rich_are_plain_text(run) -> None:
    code = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None; "
    code += "from ascend_rt.__main__ import main; main(['coverage'])"
    assert run("-c", code, FORCE_COLOR="1", ASCEND_RT_BACKEND="sim").stdout == coverage(run)


# --- coverage --------------------------------------------------------------------------------------------------------


def coverage(run, *arguments: str, **variables: str | Path) -> str:
    result = run("-m", "ascend_rt", "coverage", *arguments, **({"ASCEND_RT_BACKEND": "sim"} | variables))
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_coverage_as_json(run, declared) -> None:
    table = json.loads(coverage(run, "--format", "json"))
    functions = table["functions"]
    assert list(functions) == [function.name for function in declared.functions if function.family != "aclsim"]
    record = functions["aclrtRecordEvent"]
    assert (record["family"], record["since"], record["simulated"], record["facade"]) == (
        "event",
        "8.1.RC1",
        True,
        True,
    )
    assert record["products"] == ["910B", "910C", "310B", "310P", "910", "950"]
    assert functions["acltdtAllocBuf"]["products"] == ["310B"]
    assert functions["aclrtAllocBuf"]["products"] is None
    assert (functions["acltdtFreeBuf"]["refused"], functions["aclrtFreeBuf"]["refused"]) == ("on a host: 17-03", "")
    total = table["families"]["total"]
    assert (total["declared"], total["exported"]) == (509, 509)
    assert total["simulated"] == sum(row["simulated"] for row in functions.values()) == 509
    assert total["refused"] == sum(bool(row["refused"]) for row in functions.values())
    assert total["910C"] == sum("910C" in (row["products"] or ()) for row in functions.values())


def test_coverage_says_of_each_function_what_the_simulator_says(run) -> None:
    functions = json.loads(coverage(run, "--format", "json"))["functions"]
    from ascend_rt.backends import sim

    simulator = ctypes.CDLL(str(sim.library_path()))
    said = {name: bool(simulator.aclsimIsSimulated(name.encode())) for name in functions}
    assert {name: row["simulated"] for name, row in functions.items()} == said


# Calls every function of queues and channels with zeros and with memory for its pointers; prints the refused ones.
REFUSED_CALLS = """
from ascend_rt import ffi, lib
from ascend_rt._generated.functions import FUNCTIONS

for name, (family, *_) in FUNCTIONS.items():
    if family in ("queue", "shared_buffer", "tensor_transfer"):
        memory = ffi.new("char[4096]")
        arguments = [
            ffi.cast(it, memory) if it.kind == "pointer" else ffi.cast(it, 0)
            for it in ffi.typeof(getattr(lib, name)).args
        ]
        if getattr(lib, name)(*arguments) in (200006, 200001):
            print(name)
"""


@pytest.mark.parametrize(("queues", "cases"), [("host", {"on a host"}), ("device", set())])
def test_refusals_of_the_table_are_those_of_the_simulator(run, queues: str, cases: set[str]) -> None:
    result = run("-c", REFUSED_CALLS, ASCEND_RT_BACKEND="sim", ASCEND_RT_SIM_QUEUES=queues)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == {name for name, (case, _) in REFUSALS.items() if case in cases}


def test_coverage_as_text_adds_up(run) -> None:
    printed = coverage(run).splitlines()
    assert max(map(len, printed)) <= 80
    end = next(number for number, line in enumerate(printed) if line.startswith("total "))
    head, *families, total = (line.split() for line in printed[: end + 1])
    assert head == ["family", "all", "here", "sim", "no", "facade", *PRODUCTS]
    assert [line.split(":")[0].strip() for line in printed[end + 1 : end + 6]] == head[1:6]
    assert [sum(map(int, column)) for column in list(zip(*families, strict=True))[1:]] == list(map(int, total[1:]))


@on_linux
def test_coverage_of_an_older_library(run, build, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so")
    table = json.loads(coverage(run, "--format", "json", ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=vendor))
    assert table["functions"]["aclrtRecordEvent"]["provider"] == str(vendor)
    assert table["functions"]["aclmdlRIUpdate"]["provider"] is None
    assert table["functions"]["aclrtRecordEvent"]["simulated"]
    assert table["families"]["profiling"]["exported"] == 0


def test_the_document_of_the_coverage_is_fresh(run) -> None:
    document = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    assert document == coverage(run, "--backend", "sim", "--format", "markdown")


# --- run and sim-path ------------------------------------------------------------------------------------------------

SCRIPT = """
import ctypes, json, os, sys
import ascend_rt
ctypes.CDLL("libascendcl.so")
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libascendcl" in line}
shown = [sys.argv, __name__, ascend_rt.library().backend, ascend_rt.library().path, sorted(mapped)]
print(json.dumps(shown))
sys.exit(5)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def shown(result) -> list:
    assert result.returncode == 5, result.stderr
    return json.loads(result.stdout)


@on_linux
@pytest.mark.usefixtures("no_cann")
def test_run_on_the_simulator_takes_everything_along(run, script: Path) -> None:
    from ascend_rt.backends import sim

    result = run("-m", "ascend_rt", "run", "--backend", "sim", str(script), "-x", "--backend", "cann")
    library = str(sim.library_path())
    assert shown(result) == [[str(script), "-x", "--backend", "cann"], "__main__", "sim", library, [library]]
    assert result.stderr == ""


@on_linux
@pytest.mark.parametrize("options", [(), ("--backend", "sim"), ("--backend=sim", "--pyacl", "ours")])
def test_run_takes_what_is_behind_two_dashes_as_the_program(run, script: Path, options: tuple[str, ...]) -> None:
    result = run("-m", "ascend_rt", "run", *options, "--", str(script), "--", "-x", ASCEND_RT_BACKEND="sim")
    assert shown(result)[0] == [str(script), "--", "-x"]


@on_linux
def test_run_on_the_vendors_library(run, build, script: Path, tmp_path: Path) -> None:
    vendor = build(tmp_path / "home" / "lib64" / "libascendcl.so", "-Wl,-soname,libascendcl.so")
    result = run("-m", "ascend_rt", "run", str(script), ASCEND_HOME_PATH=tmp_path / "home")
    assert shown(result)[2:] == ["cann", str(vendor), [str(vendor)]]


@on_linux
@pytest.mark.usefixtures("no_cann")
def test_run_says_once_that_it_took_the_simulator(run, script: Path) -> None:
    result = run("-m", "ascend_rt", "run", str(script))
    assert shown(result)[2] == "sim"
    assert result.stderr == "ascend-rt run: no CANN installation was found, so the program runs on the simulator\n"


@on_linux
@pytest.mark.usefixtures("no_cann")
@pytest.mark.parametrize("command", ["info", "coverage", "demo"])
def test_commands_report_in_their_output_that_they_took_the_simulator(run, command: str) -> None:
    result = run("-m", "ascend_rt", command, *(["--chunk-mib", "1", __file__] if command == "demo" else []))
    assert (result.returncode, result.stderr) == (0, "")
    assert "the simulator" in result.stdout
    assert "no CANN installation was found" in result.stdout


@on_linux
def test_run_refuses_a_broken_installation_before_the_script_starts(run, build, script: Path, tmp_path: Path) -> None:
    vendor = build(tmp_path / "libascendcl.so", DEVICES=0)
    result = run("-m", "ascend_rt", "run", str(script), ASCEND_RT_LIBRARY=vendor)
    expect_message(result, 1, "no device")
    assert result.stdout == ""


@on_linux
def test_run_reaches_processes_that_the_script_starts(run, build, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    child = "import ascend_rt; print(ascend_rt.library().backend)"
    start = f"subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    script.write_text(f"import subprocess, sys\n{child}\nsys.stdout.flush()\n{start}\n")
    build(tmp_path / "home" / "lib64" / "libascendcl.so", DEVICES=0)  # torch_npu wants the variable set
    broken = {"ASCEND_HOME_PATH": tmp_path / "home", "ASCEND_RT_BACKEND": "auto"}
    expect_message(run("-m", "ascend_rt", "run", str(script), **broken), 1, "no device")
    result = run("-m", "ascend_rt", "run", "--backend=sim", str(script), **broken)
    assert (result.returncode, result.stdout) == (0, "sim\nsim\n")
    used = f"builds use {tmp_path / 'home'}, which the environment names; programs run on the simulator"
    assert result.stderr == f"ascend-rt run: {used}\n"


def test_run_of_a_module_and_of_a_script_that_is_missing(run, tmp_path: Path) -> None:
    (tmp_path / "a_module.py").write_text("import sys; print(sys.argv[1:])", encoding="utf-8")
    result = run("-m", "ascend_rt", "run", "--backend", "sim", "-m", "a_module", "-v")
    assert (result.returncode, result.stdout) == (0, "['-v']\n"), result.stderr
    expect_message(run("-m", "ascend_rt", "run", "--backend", "sim", "missing.py"), 2, "missing.py")


def test_run_of_a_command(run, tmp_path) -> None:
    """A command in Python, such as torchrun, needs no path; another one is not run by Python."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, text in (
        ("in_python", "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n"),
        ("in_sh", "#!/bin/sh\n"),
    ):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    path = os.pathsep.join((str(commands), os.environ["PATH"]))
    for command, wrong in (("run", 2), ("check", 3)):
        result = run("-m", "ascend_rt", command, "--backend", "sim", "in_python", "-v", PATH=path)
        assert result.stdout.startswith("['-v']"), result.stdout + result.stderr
        expect_message(
            run("-m", "ascend_rt", command, "--backend", "sim", "in_sh", PATH=path), wrong, "cannot run in_sh: no such"
        )


def test_run_of_a_program_that_is_not_python(run) -> None:
    expect_message(
        run("-m", "ascend_rt", "run", "--backend", "sim", sys.executable), 2, "is not a Python script", "sim-path"
    )


C_PROGRAM = """
#include <stdio.h>
#include "acl.h"
int main(void) {
    uint32_t count = 0;
    aclAppLog(ACL_INFO, __func__, __FILE__, __LINE__, "%s %d", "a variadic function", 1);
    const aclError code = aclrtGetDeviceCount(&count);
    printf("%d %u\\n", code, count);
    return 0;
}
"""


@on_linux
@pytest.mark.parametrize("name", ["ascendcl", "acl_rt"])
@pytest.mark.simulator("independent")
def test_the_simulators_path_is_for_c_programs(run, build, vendor_source, tmp_path: Path, name: str) -> None:
    printed = run("-m", "ascend_rt", "sim-path")
    assert printed.returncode == 0, printed.stderr
    directory = Path(printed.stdout.strip())
    (tmp_path / "program.c").write_text(C_PROGRAM, encoding="utf-8")
    # Linked with a stub, as programs are, and run with the simulator.
    stub = build(tmp_path / f"lib{name}.so", f"-Wl,-soname,lib{name}.so", source=vendor_source(lambda f: True))
    command = [shutil.which("cc"), "program.c", "-I", str(ROOT / "backends" / "abi"), str(stub), "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    variables = {"LD_LIBRARY_PATH": str(directory), "ASCEND_RT_SIM_DEVICES": "5", "PATH": os.environ["PATH"]}
    result = subprocess.run([tmp_path / "program"], env=variables, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "0 5\n"), result.stderr


# --- the source tree -------------------------------------------------------------------------------------------------


@pytest.fixture
def source_tree(tmp_path: Path) -> Path:
    """Put the package's Python files, without the compiled one, where Python looks first."""
    package = tmp_path / "ascend_rt"
    shutil.copytree(ROOT / "ascend_rt", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return package


def test_the_installed_package_takes_the_place_of_the_source_tree(interpreter, source_tree: Path) -> None:
    code = "import ascend_rt; from ascend_rt import sim, Device; print(ascend_rt.__file__); print(Device.count())"
    imported = interpreter("-c", code, ASCEND_RT_BACKEND="sim")
    assert imported.returncode == 0, imported.stderr
    file, count = imported.stdout.splitlines()
    assert not Path(file).is_relative_to(source_tree)
    assert count == "8"
    as_program = interpreter("-m", "ascend_rt", "sim-path")
    assert (as_program.returncode, as_program.stderr) == (0, "")


# Without site-packages: an editable install would find the compiled module all the same.
@pytest.mark.usefixtures("source_tree")
def test_the_source_tree_is_explained(interpreter) -> None:
    as_program = interpreter("-S", "-m", "ascend_rt", "info")
    expect_message(as_program, 1, "pip install")
    assert len(as_program.stderr.strip().splitlines()) == 1
    imported = interpreter("-S", "-c", "import ascend_rt")
    assert imported.returncode == 1
    assert imported.stderr.strip().splitlines()[-1].startswith("ImportError: ")
    assert "pip install" in imported.stderr


# --- profile ---------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("internals", "a device's profile is raw data")
def test_profile_prints_a_table_and_writes_the_time_line(run, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from ascend_rt import Buffer, Device, Stream, fill_async, profile, profiling\n"
        "Device(0).set_current()\n"
        "with Stream() as stream, profile(sys.argv[1]), profiling.range('part'):\n"
        "    fill_async(Buffer(64), 0, stream)\n"
    )
    prof, trace = tmp_path / "prof", tmp_path / "trace.json"
    taken = run("-c", script, prof)
    assert taken.returncode == 0, taken.stderr
    result = run("-m", "ascend_rt", "profile", prof, "--trace", trace)
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["name", "kind", "number", "total", "us", "mean", "us", "longest", "us"]
    assert {tuple(line[:3]) for line in lines[1:]} == {("part", "push/pop", "1"), ("MEMSET", "MEMSET", "1")}
    assert "part" in [event["name"] for event in json.loads(trace.read_text(encoding="utf-8"))]
    assert len(run("-m", "ascend_rt", "profile", prof, "--top", "1").stdout.splitlines()) == 2


def test_profile_names_what_is_wrong(run, tmp_path: Path) -> None:
    expect_message(run("-m", "ascend_rt", "profile", tmp_path), 1, "no tables of a profile", "PROF_")
    expect_message(
        run("-m", "ascend_rt", "profile", tmp_path / "none"), 1, "no tables of a profile", "no such directory"
    )
    expect_message(run("-m", "ascend_rt", "profile", tmp_path, "--top", "0"), 2, "--top", "a number of entries, from 1")
    exported = tmp_path / "PROF_1" / "mindstudio_profiler_output"
    exported.mkdir(parents=True)
    for contents in (b"\0" * 10, b"\xff" * 10, b"[" * 100_000):
        (exported / "msprof_1.json").write_bytes(contents)
        expect_message(run("-m", "ascend_rt", "profile", tmp_path), 1, "is not one of a profile")
