# SPDX-License-Identifier: Apache-2.0
"""Help, completion and the errors of wrong command lines, in this process."""

from __future__ import annotations

import errno
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_rt import cli
from ascend_rt._runtime import driver, selection
from ascend_rt.cli import terminal
from ascend_rt.cli.completion import SHELLS

pytestmark = pytest.mark.simulator("independent")


@pytest.fixture(autouse=True)
def state_of_the_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore what commands change in their process."""
    for name in ("warn_of_simulator", "_asked"):
        monkeypatch.setattr(driver, name, getattr(driver, name))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the status of a command, and its output and errors."""
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, *capsys.readouterr()


# --- help ------------------------------------------------------------------------------------------------------------


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, output, errors = ended(capsys)
    assert (status, errors) == (0, "")
    assert all(f"  {name} " in output for name in (*cli.COMMANDS, "help"))
    assert ended(capsys, "help") == ended(capsys, "--help") == (0, output, "")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_is_described_and_has_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    status, output, errors = ended(capsys, "help", command)
    assert (status, errors) == (0, "")
    assert output == ended(capsys, command, "--help")[1]
    parser, commands = cli.parsers_of(command)
    assert commands[command].description
    examples = re.findall(r"ascend-rt (?!COMMAND)([^)\n>]*)", output.partition("examples:\n")[2])
    own = [cli.split(example.split())[0] for example in examples]
    assert command in [parser.parse_args(arguments).command for arguments in own if arguments[0] == command]


@pytest.mark.parametrize("columns", ["40", "60"])
def test_help_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for arguments in ((), ("help", "demo"), ("help", "verify")):
        described = ended(capsys, *arguments)[1].partition("examples:")[0]
        assert max(map(len, described.splitlines())) <= int(columns)


# --- wrong command lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmo"], "ascend-rt: unknown command 'dmo'; did you mean 'demo'?"),
        (["help", "inof"], "ascend-rt: unknown command 'inof'; did you mean 'info'?"),
        (["dance"], "ascend-rt: unknown command 'dance'"),
        (
            ["--backend", "sim", "info"],
            "ascend-rt: unknown option '--backend'; the options of a command follow its name",
        ),
        (["--versoin"], "ascend-rt: unknown option '--versoin'; did you mean '--version'?"),
        (["demo", "--chnk-mib=3"], "ascend-rt demo: unknown option '--chnk-mib'; did you mean '--chunk-mib'?"),
        (["demo", "--chunk", "3"], "ascend-rt demo: unknown option '--chunk'; did you mean '--chunk-mib'?"),
        (["demo", "--chunk-mib", "x"], "ascend-rt demo: --chunk-mib expects an integer from 1 to 1024, got 'x'"),
        (["demo", "--chunk-mib"], "ascend-rt demo: --chunk-mib expects one argument"),
        (["demo", "a", "b"], "ascend-rt demo: unexpected argument 'b'"),
        (["info", "--backend", "cuda"], "ascend-rt info: --backend expects one of auto, cann, sim, got 'cuda'"),
        (
            ["coverage", "--format", "jsn"],
            "--format expects one of text, json, markdown, got 'jsn'; did you mean 'json'?",
        ),
        (["bench", "--ids", "event_recrd"], "--ids does not know 'event_recrd'; did you mean 'event_record'?"),
        (
            ["bench", "--output", "x.pdf"],
            "--output expects a file name that ends with .json, .png, .html, .md, got 'x.pdf'",
        ),
        (
            ["verify", "--profile", "card.json"],
            "ascend-rt verify: --profile is made from a report: name it with --compare",
        ),
        (["completion"], "ascend-rt completion: the following arguments are required: SHELL"),
        (["run"], "ascend-rt run: expects a script, or -m and a module"),
        (["run", "--"], "ascend-rt run: expects a script, or -m and a module"),
        (["run", "x.py"], "ascend-rt run: cannot run x.py: no such file; check the path, or name a module with -m"),
        (["run", "--backend"], "ascend-rt run: --backend expects one argument"),
        (["run", "--backend=cuda", "x.py"], "ascend-rt run: --backend expects one of auto, cann, sim, got 'cuda'"),
    ],
)
def test_a_wrong_command_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, output, errors = ended(capsys, *arguments)
    assert (status, output) == (2, "")
    first, _, usage, *_ = errors.splitlines()
    assert first.endswith(message)
    program = first.partition(":")[0]
    assert usage.startswith(f"usage: {program} ")
    assert errors.endswith(f"For more information, run '{program.replace('ascend-rt', 'ascend-rt help')}'.\n")


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo", "{}/x"), "{}/x does not exist; name an existing file, or none for random bytes"),
        (("demo", "--trace", "{}/no/x", "{}/one"), "cannot write {}/no/x: no such directory; create {}/no"),
        (
            ("verify", "--compare", "{}/x"),
            "cannot read {}/x, a report of 'ascend-rt verify': no such file or directory;",
        ),
        (("verify", "--compare", "{}"), "cannot read {}, a report of 'ascend-rt verify': is a directory; name a file"),
        (("bench", "--read", "{}/x"), "cannot read {}/x, the results of 'ascend-rt bench': no such file or directory;"),
        (("bench", "--compare", "{}/one", "{}"), "{}/one was not written by 'ascend-rt bench --output'"),
        (
            ("bench", "--output", "{}/no/x.json"),
            "cannot write {}/no/x.json: the directory {}/no is not writable; create",
        ),
    ],
)
def test_an_error_names_the_file_and_the_cure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "one").write_bytes(b"\xff")
    status, _, errors = ended(capsys, *(argument.format(tmp_path) for argument in arguments))
    assert status == 1
    assert errors.startswith(f"ascend-rt: {message.replace('{}', str(tmp_path))}")
    assert "Errno" not in errors


def test_other_errors_of_the_system_name_the_file() -> None:
    assert terminal.in_words(OSError(errno.EACCES, "Permission denied", "/etc/x")) == (
        "/etc/x: permission denied; check the permissions"
    )
    assert terminal.in_words(OSError("a text of this package")) == "a text of this package"
    assert terminal.in_words(OSError(errno.EMFILE, "Too many open files")) == (
        "this process: too many open files; raise the limit (ulimit -n), or close files"
    )


# --- lists and completion --------------------------------------------------------------------------------------------


def test_bench_lists_its_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    from ascend_rt_measure.bench.ids import BENCHMARKS

    status, output, _ = ended(capsys, "bench", "--list")
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()] == [benchmark.id for benchmark in BENCHMARKS]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_has_every_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    pytest.importorskip("shtab")
    status, output, errors = ended(capsys, "completion", shell)
    assert (status, errors) == (0, "")
    assert all(name in output for name in (*cli.COMMANDS, "help"))


ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_ascend_rt
echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["in"], "info include-path"),
        (["help", "cov"], "coverage"),
        (["demo", "--ch"], "--chunk-mib"),
        (["info", "--backend", "s"], "sim"),
        (["run", "scri"], "script.py"),
        (["check", "scri"], "script.py"),
        (["check", "--format", "sa"], "sarif"),
    ],
)
def test_bash_completes(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], completed: str) -> None:
    pytest.importorskip("shtab")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    (tmp_path / "script.py").touch()
    (tmp_path / "completion.sh").write_text(ended(capsys, "completion", "bash")[1], encoding="utf-8")
    command = [bash, "-c", ASK, "bash", "completion.sh", "ascend-rt", *words]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert answer.split() == completed.split()


# --- the choice of the library ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "variable", "reason"),
    [
        (("sim", "--backend"), "cann", "chosen by --backend"),
        (("sim", "use()"), "", "chosen by use()"),
        (None, "sim", "chosen by ASCEND_RT_BACKEND"),
    ],
)
def test_the_reason_names_the_rule_that_chose_the_library(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str] | None, variable: str, reason: str
) -> None:
    monkeypatch.setenv("ASCEND_RT_BACKEND", variable)
    assert selection.choose(asked, lambda name: None).reason == reason


def test_an_error_names_the_rule_that_names_an_unknown_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_BACKEND", "cuda")
    with pytest.raises(ValueError, match="ASCEND_RT_BACKEND=cuda is not one of auto, cann, sim"):
        selection.choose(None, lambda name: None)
