# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt check``: how it starts a program, survives its end, and reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import fake_findings as fake

pytestmark = pytest.mark.simulator("independent")

Check = Callable[..., Any]

HEADLINE = "race: 4096 bytes of Buffer 3 (allocated train.py:14), read after write, not ordered\n"


@pytest.fixture
def check(run) -> Check:
    """Return a function that runs the command on the simulator."""
    return lambda *arguments, **variables: run(
        "-m", "ascend_rt", "check", *arguments, **({"ASCEND_RT_BACKEND": "sim"} | variables)
    )


@pytest.fixture
def lines(tmp_path: Path) -> list[fake.Line]:
    """Return what a process with a race writes."""
    return [fake.BEGIN, fake.race(tmp_path / "train.py")]


# --- exit statuses ---------------------------------------------------------------------------------------------------


def test_a_finding_is_status_1(check: Check, tmp_path: Path, lines: list[fake.Line]) -> None:
    script = fake.program(tmp_path / "script.py", [*lines, fake.END], "print('output')")
    done = check(script)
    assert (done.returncode, done.stdout) == (1, "output\n")
    assert done.stderr.startswith(HEADLINE)
    assert done.stderr.endswith("\n\n1 race in 1 process\n")


def test_no_finding_is_status_0(check: Check, tmp_path: Path) -> None:
    done = check(fake.program(tmp_path / "script.py", [fake.BEGIN, fake.hint(tmp_path / "train.py"), fake.END]))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no findings in 1 process; 1 hint (--hints shows them)\n"


def test_a_program_without_the_runtime_is_clean_and_said(check: Check) -> None:
    done = check("-c", "print('output')")
    assert (done.returncode, done.stdout) == (0, "output\n")
    assert done.stderr == "note: the program did not use the runtime, so there was nothing to check\nno findings\n"


@pytest.mark.parametrize(
    ("then", "ending"),
    [
        ("sys.exit(3)", "the program failed with status 3"),
        ("os._exit(3)", "the program failed with status 3"),
        ("raise ValueError", "the program failed with status 1"),
        ("os.kill(os.getpid(), 9)", "the program was ended by SIGKILL"),
        ("os.abort()", "the program was ended by SIGABRT"),
    ],
)
def test_a_failed_program_is_status_2_and_its_findings_are_kept(
    check: Check, tmp_path: Path, lines: list[fake.Line], then: str, ending: str
) -> None:
    done = check(fake.program(tmp_path / "script.py", lines, f"import sys\n{then}"))
    assert done.returncode == 2
    assert HEADLINE in done.stderr
    assert f"\nnote: {ending}; findings of its rest are missing\n" in done.stderr


def test_an_end_without_the_usual_steps_is_said(check: Check, tmp_path: Path, lines: list[fake.Line]) -> None:
    done = check(fake.program(tmp_path / "script.py", lines, "os._exit(0)"))
    assert done.returncode == 1
    assert "note: 1 process ended without the usual steps; all that was found before is here\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "expects a script, -m and a module, or -- and a program"),
        (("--",), "expects a script, -m and a module, or -- and a program"),
        (("-m",), "-m expects a module after it"),
        (("-c",), "-c expects code after it"),
        (("missing.py",), "cannot run missing.py: no such file; check the path, or name a module with -m"),
        (("--", "./missing"), "cannot run ./missing: no such program; check the path and its permissions"),
        (("--no-races", "--no-deadlocks", "x.py"), "has nothing to do: all checks are off"),
        (("--no-races", "--no-deadlocks", "--every-use", "x.py"), "has nothing to do: all checks are off"),
        (("--format", "pdf", "x.py"), "--format expects one of text, json, sarif, html, got 'pdf'"),
        (("--race", "x.py"), "unknown option '--race'; did you mean '--races'?"),
    ],
)
def test_a_wrong_command_line_is_status_3(check: Check, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "x.py").touch()
    done = check(*arguments)
    assert done.returncode == 3
    assert done.stderr.startswith(f"ascend-rt check: {said}\n")


def test_the_output_is_tried_before_the_program_starts(check: Check, tmp_path: Path) -> None:
    for path, reason in (
        ("no/x.html", "no such file or directory; create the directory first"),
        (".", "is a directory"),
    ):
        done = check("--output", path, "-c", "open('started', 'w')")
        assert done.returncode == 3
        assert done.stderr.startswith(f"ascend-rt: cannot write {path}: {reason}")
    assert not (tmp_path / "started").exists()


def in_shell(*arguments: str, redirections: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "ascend_rt", "check", *arguments]
    environment = os.environ | {"ASCEND_RT_BACKEND": "auto"}  # which has something to say
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirections", ["2>&-", "2>/dev/full"])
def test_notes_may_be_lost_and_reports_may_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: list[fake.Line], redirections: str
) -> None:
    if redirections.endswith("full") and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    monkeypatch.chdir(tmp_path)
    fake.program(tmp_path / "script.py", [*lines, fake.END])
    done = in_shell("--format", "json", "script.py", redirections=redirections)
    assert (done.returncode, len(json.loads(done.stdout)["findings"])) == (1, 1)
    assert in_shell("script.py", redirections=redirections).returncode == 3
    assert in_shell("--output=report", "script.py", redirections=redirections).returncode == 1
    assert (tmp_path / "report").read_text(encoding="utf-8").startswith(HEADLINE)


def test_a_report_that_has_nowhere_to_go_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_shell("--format=json", "-c", "open('started', 'w')", redirections=">&-")
    assert done.returncode == 3
    assert done.stderr == "ascend-rt: the report has nowhere to go: name a file with --output\n"
    assert not (tmp_path / "started").exists()


def test_the_page_needs_its_extra_before_the_program_starts(interpreter, tmp_path: Path) -> None:
    code = "import importlib.util as util, sys\nfind = util.find_spec\n"
    code += "util.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
    code += "from ascend_rt.cli import main; sys.exit(main(['check', '--format=html', '-c', \"open('started', 'w')\"]))"
    done = interpreter("-c", code, ASCEND_RT_BACKEND="sim")
    assert done.returncode == 3
    assert done.stderr == ("ascend-rt: --format html needs jinja2: pip install '.[check]' in a checkout of ascend_rt\n")
    assert not (tmp_path / "started").exists()


def test_a_broken_library_is_status_3(check: Check, tmp_path: Path) -> None:
    done = check("-c", "pass", ASCEND_RT_LIBRARY=str(tmp_path / "missing.so"), ASCEND_RT_BACKEND="cann")
    assert (done.returncode, "missing.so" in done.stderr) == (3, True)


# --- the program -----------------------------------------------------------------------------------------------------

SHOW = """\
import json, os, sys
names = "SIM_CHECK", "CHECK_AT_EXIT", "CHECK_HOST_THREADS", "CHECK_EVERY_USE", "BACKEND"
print(json.dumps([sys.argv[1:], [os.environ.get("ASCEND_RT_" + name) for name in names]]))
print(os.environ["ASCEND_RT_SIM_CHECK_DIRECTORY"], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ((), ["races,deadlocks", "files", "", "", "sim"]),
        (("--memory", "--no-deadlocks", "--leaks"), ["races,memory", "files,leaks", "", "", "sim"]),
        (("--backend", "sim", "--host-threads"), ["races,deadlocks", "files", "1", "", "sim"]),
        (("--every-use",), ["races,deadlocks", "files", "", "1", "sim"]),
    ],
)
def test_options_choose_the_checks(
    check: Check, tmp_path: Path, options: tuple[str, ...], variables: list[Any]
) -> None:
    (tmp_path / "show.py").write_text(SHOW, encoding="utf-8")
    done = check(*options, "show.py", "--memory", "--", "x")
    assert json.loads(done.stdout) == [["--memory", "--", "x"], variables]
    directory = done.stderr.splitlines()[0]
    assert not Path(directory).exists()


@pytest.mark.parametrize(
    "command",
    [("-m", "show", "x"), ("--", "show.py", "x"), ("--", sys.executable, "show.py", "x"), ("--", "./show", "x")],
)
def test_every_form_of_a_program_runs(check: Check, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "show.py").write_text(SHOW, encoding="utf-8")
    shell = tmp_path / "show"
    shell.write_text(f'#!/bin/sh\nexec {sys.executable} show.py "$@"\n', encoding="utf-8")
    shell.chmod(0o755)
    done = check(*command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["x"], ["races,deadlocks", "files", "", "", "sim"]]


def test_standard_input_is_the_programs(interpreter) -> None:
    done = interpreter(
        "-m", "ascend_rt", "check", "-c", "print(input())", before=("sh", "-c", 'echo typed | "$@"', "sh"),
        ASCEND_RT_BACKEND="sim",
    )  # fmt: skip
    assert done.stdout == "typed\n"


def test_all_processes_of_the_program_count(check: Check, tmp_path: Path, lines: list[fake.Line]) -> None:
    fake.program(tmp_path / "child.py", [*lines, fake.END])
    start = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)"
    done = check(fake.program(tmp_path / "script.py", [*lines, fake.END], start))
    assert done.returncode == 1
    assert "not ordered, seen 2 times\n" in done.stderr
    assert done.stderr.endswith("1 race in 2 processes\n")


# --- signals ---------------------------------------------------------------------------------------------------------

WAITS = """
import signal
print("ready", flush=True)
while True:
    signal.sigtimedwait([signal.SIGUSR1], 0.1)  # an interrupt ends this call, unlike sigwait
"""


@pytest.fixture
def started(environment: dict[str, str], tmp_path: Path, lines: list[fake.Line]) -> Iterator[subprocess.Popen[str]]:
    """Return the command in a new group of processes, with a program that is ready for signals."""
    script = fake.program(tmp_path / "script.py", lines, WAITS)
    command = [sys.executable, "-m", "ascend_rt", "check", script]
    variables = environment | {"ASCEND_RT_BACKEND": "sim"}
    with subprocess.Popen(
        command, env=variables, cwd=tmp_path, stdout=-1, stderr=-1, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_ctrl_c_ends_the_program_and_the_findings_are_reported(started: subprocess.Popen[str]) -> None:
    os.killpg(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 2
    assert HEADLINE in errors
    assert "the program was ended by SIGINT" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_are_forwarded(started: subprocess.Popen[str], number: signal.Signals) -> None:
    started.send_signal(number)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 2
    assert HEADLINE in errors
    assert f"the program was ended by {number.name}" in errors


# --- reports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "first"), [("json", '{\n  "format"'), ("sarif", '{\n  "$schema"'), ("html", "<!doctype")]
)
def test_reports_for_programs_go_to_the_output_or_a_file(
    check: Check, tmp_path: Path, lines: list[fake.Line], form: str, first: str
) -> None:
    if form == "html":
        pytest.importorskip("jinja2")
    script = fake.program(tmp_path / "script.py", [*lines, fake.END])
    done = check("--format", form, script)
    assert (done.returncode, done.stdout[: len(first)]) == (1, first)
    assert done.stderr == "ascend-rt check: 1 race in 1 process\n"
    in_file = check(f"--format={form}", "--output", "report", script)
    assert (in_file.returncode, in_file.stdout, in_file.stderr) == (1, "", done.stderr)
    assert (tmp_path / "report").read_text(encoding="utf-8") == done.stdout


@pytest.mark.parametrize("form", ["json", "sarif", "html"])
def test_reports_for_programs_are_utf_8_whatever_the_arguments_of_the_program(
    check: Check, tmp_path: Path, lines: list[fake.Line], form: str
) -> None:
    if form == "html":
        pytest.importorskip("jinja2")
    script = fake.program(tmp_path / "script.py", [*lines, fake.END])
    assert check(f"--format={form}", "--output", "report", script, os.fsdecode(b"\xff")).returncode == 1
    assert "\\udcff" in (tmp_path / "report").read_text(encoding="utf-8")


def test_the_reader_of_a_named_pipe_gets_the_report(check: Check, tmp_path: Path, lines: list[fake.Line]) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = fake.program(tmp_path / "script.py", [*lines, fake.END])
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        done = check("--format=json", "--output", "pipe", script)
        assert (done.returncode, reader.communicate(timeout=60)[0][:1]) == (1, b"{")


def test_an_unused_comment_in_the_script_is_found(check: Check, tmp_path: Path) -> None:
    script = fake.program(tmp_path / "script.py", [fake.BEGIN, fake.END], "# ascend-rt: ignore[race] no longer there")
    done = check("script.py")
    number = len(script.read_text(encoding="utf-8").splitlines())
    assert done.returncode == 1
    assert done.stderr == (
        f"ignore: ignore[race] ignored nothing in this run; remove it\n  at script.py:{number}\n\n"
        "1 faulty ignore in 1 process\n"
    )
