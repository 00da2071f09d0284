# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify``: on the simulator, on a library with defects, and compared with the simulator."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs

from ascend_rt_measure.verify import card_profile, children, comparison
from ascend_rt_measure.verify.cases import Call, Group, groups
from ascend_rt_measure.verify.limits import CASES
from ascend_rt_measure.verify.report import Played, Report, load, product_of, write_json

pytestmark = pytest.mark.simulator("independent")

Verify = Callable[..., Ended]
BEHIND = b"libbehindit.so"  # as long as libascendcl.so
FEW = "g02_init,g10_device,g40_event_create_arguments,g50_notify_arguments,fact_1.25,fact_4.6"


@pytest.fixture
def verify(tmp_path: Path, programs: Programs) -> Verify:
    """Return a function that runs the command in a directory of its own."""

    def run(*arguments: object, **variables: object) -> Ended:
        usual = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_")}
        environment = usual | {"ASCEND_RT_BACKEND": "sim"} | {name: str(value) for name, value in variables.items()}
        command = ("-m", "ascend_rt", "verify", *map(str, arguments))
        return programs.run(*command, directory=tmp_path, environment=environment)

    return run


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], Any]:
    """Return a function that reads the report that was written, which is JSON without extensions."""
    return lambda: json.loads(
        (tmp_path / "ascend_rt-report.json").read_text(encoding="utf-8"), parse_constant=pytest.fail
    )


# --- on the simulator ------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_simulator_answers_as_is_known(verify: Verify, report: Any) -> None:
    ended = verify("--smoke")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = report()
    assert found["complete"]
    assert {played["state"] for played in found["groups"].values()} == {"done"}
    assert len(found["groups"]) == sum(not group.products or "910B" in group.products for group in groups().values())
    assert not [name for name, case in {**found["limits"], **found["latencies"]}.items() if "error" in case]
    compared = verify("--compare", "ascend_rt-report.json")
    assert compared.stdout.splitlines()[-1] == "no difference to the simulator", compared.stdout


def test_a_few_groups(verify: Verify, report: Any) -> None:
    ended = verify("--only", FEW)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert set(report()["groups"]) == set(FEW.split(","))
    assert report()["limits"] == report()["latencies"] == {}


@pytest.mark.parametrize("product", ["910C", "310P"])
def test_other_products_are_not_compared_with_the_recordings(verify: Verify, report: Any, product: str) -> None:
    ended = verify("--only", "g40_event_create_arguments", ASCEND_RT_SIM_PRODUCT=product)
    assert ended.returncode == 0, ended.stdout
    assert report()["product"] == product


def test_without_a_terminal_a_line_tells_of_each_section(verify: Verify) -> None:
    ended = verify("--smoke", "--only", "g02_init,g10_device,fact_4.6,limits")
    assert ended.stderr.splitlines() == ["recordings: 2 of 2", "facts: 1 of 1", f"limits: {len(CASES)} of {len(CASES)}"]


def test_one_device_leaves_out_what_needs_two(verify: Verify, report: Any) -> None:
    ended = verify("--only", FEW, "--device", 3)
    assert ended.returncode == 0, ended.stdout
    skipped = {name: it["detail"] for name, it in report()["groups"].items() if it["state"] == "skipped"}
    assert skipped == {"g10_device": "needs 2 devices", "fact_1.25": "needs 2 devices"}
    assert "2 groups: needs 2 devices" in ended.stdout


def test_devices_are_those_that_the_user_sees(verify: Verify) -> None:
    seen = {"ASCEND_RT_VISIBLE_DEVICES": "2,5"}
    ended = verify("--only", "fact_4.6", "--device", 1, **seen)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = verify("--only", "fact_4.6", "--device", 2, **seen)
    assert "there is no device 2: the library sees 2" in ended.stderr
    ended = verify("--only", "fact_4.6", "--device", 1, **seen, ASCEND_RT_SIM_FAULTS="lose:0=507010")
    assert ended.returncode == 1  # a process of a group sees one device, and that is its device 0


def test_no_device_is_an_error(verify: Verify, tmp_path: Path) -> None:
    ended = verify(ASCEND_RT_VISIBLE_DEVICES="9")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "the library sees no device" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_the_report_names_nobody(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", f"{FEW},latencies,limits", "--smoke")
    text = json.dumps(report())
    for name in (platform.node(), getpass.getuser(), str(tmp_path), str(Path.home()), sys.executable, "/"):
        assert name not in text


def test_modules_of_the_working_directory_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(7)", encoding="utf-8")
    command = [sys.executable, "-I", "-m", "ascend_rt", "verify", "--backend", "sim", "--only", "fact_4.6"]
    assert subprocess.run(command, cwd=tmp_path, timeout=300, check=False).returncode == 0


def test_a_comparison_shows_all_differences(verify: Verify, report: Any, tmp_path: Path) -> None:
    name = "gC21_args_many"
    verify("--only", name)
    content = report()
    for answer in content["groups"][name]["answers"]:
        answer[0] = 4711
    (tmp_path / "changed.json").write_text(json.dumps(content), encoding="utf-8")
    lines = verify("--compare", "changed.json").stdout.splitlines()
    number = sum("the card answers 4711" in line for line in lines)
    assert number > 100
    assert lines[-1] == f"{number} differences to the simulator"


def test_the_groups_with_garbage_are_marked() -> None:
    """Where the real runtime follows garbage there is no answer that a card could be compared with."""
    never = 0x1234567800
    unanswered = [
        group.name
        for group in groups().values()
        if any(never in call.arguments and call.code is None for call in group.calls)
    ]
    assert unanswered == [group.name for group in groups().values() if group.garbage]
    assert len(unanswered) == 13


# --- where a report goes ---------------------------------------------------------------------------------------------


def test_a_report_replaces_the_file_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_json(tmp_path / "link", {"one": 1})
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "file").read_text(encoding="utf-8")) == {"one": 1}


def test_a_report_replaces_no_device_or_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR)
    try:
        write_json(fifo, {"one": 1})
        assert json.loads(os.read(reader, 1000)) == {"one": 1}
        assert stat.S_ISFIFO(fifo.stat().st_mode)
    finally:
        os.close(reader)


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(tmp_path / "directory", {"one": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("soc", "Ascend910B4-1", "Ascend910B4-1"),
        ("soc", "Ascend910B1 /home/alice", None),
        ("soc", "node17.example.com", None),
        ("soc", "\ufffdAscend910B1", None),
        ("cann", "9.2.0-beta.1", "9.2.0-beta.1"),
        ("driver", "24.1.rc2.b030", "24.1.rc2.b030"),
        ("driver", "alice", None),
        ("cann", None, None),
    ],
)
def test_what_a_report_keeps_of_what_the_library_says(name: str, value: Any, kept: Any, tmp_path: Path) -> None:
    Report({name: value}, 1).save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["library"] == {name: kept}


# --- a wrong command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--device", "9"), "there is no device 9: the library sees 8"),
        (("--device", "1,0"), "ascending order"),
        (("--device", "x"), "devices are different numbers in ascending order, as 0 or 0,1, not 'x'"),
        (("--time-limit", "soon"), "more than 0 and at most 86400 seconds, not 'soon'"),
        (("--only", "g99"), "there is no section or group g99"),
        (("--time-limit", "0"), "more than 0"),
        (("--profile", "card.json"), "name it with --compare"),
        (("--compare", "absent.json"), "No such file"),
    ],
)
def test_a_wrong_command_line(verify: Verify, arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    ended = verify(*arguments)
    assert ended.returncode in (1, 2)
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "no report"),
        ("[1]", "no report"),
        ('{"profile": {}}', "no report"),
        ('{"ascend_rt_report": 7}', "format 7"),
        ("[" * 100_000, "no report"),
        ('{"ascend_rt_report": NaN}', "NaN is no number"),
        ('{"ascend_rt_report": 1e999}', "1e999 is no number"),
        ('{"ascend_rt_report": 1}', "not as"),
        ('{"ascend_rt_report": 1, "groups": {"g02_init": {"stat": 1}}}', "not as"),
    ],
)
def test_a_file_that_is_no_report(verify: Verify, tmp_path: Path, content: str, text: str) -> None:
    (tmp_path / "it.json").write_text(content, encoding="utf-8")
    ended = verify("--compare", "it.json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


WHOLE = {
    "ascend_rt_report": 1,
    "library": {"backend": "cann", "cann": None, "api": None, "driver": None, "soc": None, "missing": []},
    "devices": 1,
    "allow_reset": False,
    "complete": True,
    "groups": {"g02_init": {"state": "done", "answers": [[0, []]], "fingerprint": "", "detail": ""}},
    "limits": {"streams": {"value": 1}},
    "latencies": {"fill_64": {"bytes": 64, "device": {"p50": 1}}},
}


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "ascend_rt_report"])
@pytest.mark.parametrize("value", [None, "x", 10**400, -1, [1], {"x": 1}])
def test_a_member_of_a_wrong_type(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"see {name}$"):
        load_of(WHOLE | {name: value}, tmp_path)


@pytest.mark.parametrize(
    ("name", "member", "value"),
    [
        ("library", "soc", 5),
        ("library", "cann", "8.5.0\0"),
        ("library", "missing", [5]),
        ("groups", "answers", [[0]]),
        ("groups", "answers", [[None, []]]),
        ("groups", "answers", [[0, ["x"]]]),
        ("groups", "answers", [["\033[2J", []]]),
        ("groups", "detail", "\ud800"),
        ("limits", "value", "nan"),
        ("latencies", "bytes", "64"),
        ("latencies", "device", {"p50": None}),
    ],
)
def test_a_wrong_type_further_down(name: str, member: str, value: Any, tmp_path: Path) -> None:
    content = json.loads(json.dumps(WHOLE))
    assert load_of(content, tmp_path).devices == 1
    owner = content[name] if name == "library" else next(iter(content[name].values()))
    owner[member] = value
    with pytest.raises(ValueError, match=f"see {name}$"):
        load_of(content, tmp_path)


@pytest.mark.parametrize("name", ["\ud800", "\033[2J"])
def test_a_name_that_cannot_be_printed(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"see limits$"):
        load_of(WHOLE | {"limits": {name: {"value": 1}}}, tmp_path)


def load_of(content: Any, directory: Path) -> Report:
    (directory / "it.json").write_text(json.dumps(content), encoding="utf-8")
    return load(directory / "it.json")


def test_a_real_library_needs_a_device_to_be_named(verify: Verify, card: Callable[..., Path]) -> None:
    ended = verify("--only", FEW, ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=card())
    assert ended.returncode == 1
    assert "name the device" in ended.stderr


# --- a library with defects ------------------------------------------------------------------------------------------


@pytest.fixture
def card(build: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that makes a library which answers like the simulator, but for some functions.

    The simulator's file, under other names for itself, for its control functions and for the functions that are to be
    missing, stands behind a library that has the other functions with bodies of their own.
    """
    from ascend_rt.backends import sim

    def make(missing: tuple[str, ...] = (), **bodies: str) -> Path:  # by name, with parameters if they are used
        directory = tmp_path_factory.mktemp("card")
        content = sim.library_path().read_bytes()
        content = content.replace(b"libascendcl.so", BEHIND).replace(b"\0aclsim", b"\0bclsim")
        for name in missing:
            content = content.replace(b"\0%s\0" % name.encode(), b"\0b%s\0" % name.encode()[1:])
        behind = directory / BEHIND.decode()
        behind.write_bytes(content)
        head = "".join(f"#include <{name}.h>\n" for name in ("fcntl", "signal", "stdint", "stdio", "unistd"))
        heads = {name: name if name.endswith(")") else f"{name}()" for name in bodies}
        source = head + "".join(f"int32_t {heads[name]} {{ {body} }}\n" for name, body in bodies.items())
        flags = ("-Wl,--no-as-needed", str(behind), "-Wl,-rpath,$ORIGIN")
        return Path(build(directory / "libascendcl.so", *flags, source=source))

    return make


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="look-alikes are ELF libraries")
class TestDefects:
    """Each defect is reported, and the rest goes on."""

    @pytest.fixture
    def on(self, verify: Verify, card: Callable[..., Path]) -> Verify:
        def run(*arguments: object, missing: tuple[str, ...] = (), **bodies: str) -> Any:
            library = card(missing, **bodies)
            where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": library}
            return verify("--only", FEW, "--device", "0,1", *arguments, **where)

        return run

    def test_none(self, on: Verify, verify: Verify, report: Any) -> None:
        ended = on()
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert report()["library"]["backend"] == "cann"
        assert report()["groups"]["g10_device"]["detail"] == "resets the device: --allow-reset"
        assert verify("--compare", "ascend_rt-report.json").returncode == 0

    @pytest.mark.full
    def test_a_reset_that_is_allowed(self, on: Verify, report: Any) -> None:
        assert on("--allow-reset").returncode == 0
        assert report()["groups"]["g10_device"]["state"] == "done"

    @pytest.mark.full
    @pytest.mark.parametrize("options", [(), ("--allow-garbage",)])
    def test_garbage_is_played_only_if_it_is_asked_for(
        self, on: Verify, verify: Verify, report: Any, options: tuple[str, ...]
    ) -> None:
        name, follows = "g31_stream_badhandle_sync", {"aclrtSynchronizeStream(void *)": "return raise(SIGSEGV);"}
        ended = on("--only", name, *options, **follows)
        played = report()["groups"][name]
        assert played["state"] == ("crashed" if options else "skipped")
        assert ended.returncode == (1 if options else 0)
        left_out = "1 group: plays handles that never were any, which crashes the process: --allow-garbage"
        assert (left_out in ended.stdout) == (not options)
        assert verify("--compare", "ascend_rt-report.json").returncode == (1 if options else 0)

    def test_another_code(self, on: Verify, verify: Verify) -> None:
        ended = on(aclInit="return 507008;")
        assert "g02_init: aclInit [NULL path] answers 507008, 0 is known" in ended.stdout
        compared = verify("--compare", "ascend_rt-report.json")
        assert compared.returncode == 1
        line = "aclInit: g02_init [NULL path]: the card answers 507008, the simulator 0"
        assert line in compared.stdout.splitlines()

    @pytest.mark.full
    def test_numbers_that_json_does_not_have(self, verify: Verify, card: Callable[..., Path], report: Any) -> None:
        name = "aclrtEventElapsedTime(float *ms, void *begin, void *end)"
        where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": card(**{name: "*ms = -1 / 0.0; return 0;"})}
        group = "events_CreateEventWithFlag_8"
        ended = verify("--only", group, "--device", 0, **where)
        assert f"{group}: aclrtEventElapsedTime [same event] answers 0 ['-inf'], 0 [0.0] is known" in ended.stdout
        assert ["-inf"] in [outputs for _, outputs in report()["groups"][group]["answers"]]
        compared = verify("--compare", "ascend_rt-report.json")
        line = f"aclrtEventElapsedTime: {group} [same event]: the card answers 0 ['-inf'], the simulator 0 [0.0]"
        assert line in compared.stdout.splitlines()

    @pytest.mark.full
    def test_a_library_that_hangs_at_exit_has_answered_before(self, card: Callable[..., Path]) -> None:
        library = card(**{"__attribute__((destructor)) at_exit": "for (;;) pause();"})
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        outcome = children.run("about", (), environment, 60)
        assert (outcome.state, outcome.lines[0]["soc"]) == ("done", "Ascend910B1")

    def test_a_crash(self, on: Verify, report: Any) -> None:
        ended = on(aclrtCreateNotify="raise(SIGSEGV);")
        assert ended.returncode == 1
        assert ended.stdout.count("g50_notify_arguments: crashed in aclrtCreateNotify (SIGSEGV)") == 1
        assert report()["groups"]["fact_4.6"]["state"] == "done"

    def test_a_function_that_never_returns(self, on: Verify, report: Any) -> None:
        ended = on("--time-limit", 3, aclrtHostRegister="for (;;) pause();")
        assert ended.returncode == 1
        assert "fact_4.6: hung in aclrtHostRegister" in ended.stdout
        assert report()["groups"]["g02_init"]["state"] == "done"

    @pytest.mark.full
    def test_a_crash_costs_one_measurement(self, verify: Verify, card: Callable[..., Path], report: Any) -> None:
        where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": card(aclrtQueryEventStatus="raise(SIGSEGV);")}
        ended = verify("--only", "latencies", "--smoke", "--device", 0, **where)
        assert ended.returncode == 1
        assert ended.stdout.splitlines().count("query: crashed SIGSEGV") == 1
        assert [name for name, found in report()["latencies"].items() if "error" in found] == ["query"]

    @pytest.mark.full
    def test_an_output_that_nobody_reads_keeps_the_report(
        self, card: Callable[..., Path], report: Any, tmp_path: Path
    ) -> None:
        library = card(aclrtCreateNotify="raise(SIGSEGV);")  # which is printed at once
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        environment["PYTHONUNBUFFERED"] = ""
        command = [sys.executable, "-m", "ascend_rt", "verify", "--device", "0", "--only", FEW]
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.close()
        assert running.returncode == 128 + signal.SIGPIPE
        assert report()["groups"]["g50_notify_arguments"]["state"] == "crashed"

    @pytest.mark.full
    def test_a_crash_by_a_signal_without_a_name(self, on: Verify) -> None:
        ended = on(aclrtCreateNotify="raise(SIGRTMIN + 3);")
        assert "g50_notify_arguments: crashed in aclrtCreateNotify (signal " in ended.stdout
        assert "Traceback" not in ended.stderr

    @pytest.mark.full
    def test_a_crash_at_the_end_of_every_process(self, on: Verify, report: Any) -> None:
        ended = on(**{"__attribute__((destructor)) at_exit": "raise(SIGSEGV);"})
        assert ended.returncode == 1
        assert "g02_init: crashed in the end of the process (SIGSEGV)" in ended.stdout
        assert len(report()["groups"]["g02_init"]["answers"]) == len(groups()["g02_init"].calls)

    @pytest.mark.full
    def test_an_end_without_a_crash(self, on: Verify, report: Any) -> None:
        text = "alice@host: failed"
        ended = on(
            aclrtCreateNotify=f'write(2, "{text}\\n", {len(text) + 1}); _exit(3);', aclrtHostRegister="_exit(0);"
        )
        assert ended.returncode == 1
        assert "g50_notify_arguments: failed in aclrtCreateNotify (status 3)" in ended.stdout
        assert "fact_4.6: failed in aclrtHostRegister (status 0)" in ended.stdout
        assert "alice" not in json.dumps(report())

    @pytest.mark.full
    def test_a_process_that_the_library_begins_ends_with_the_group(
        self, card: Callable[..., Path], report: Any, tmp_path: Path
    ) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        library = card(aclrtHostRegister=f'open("{fifo}", O_RDWR); if (fork() == 0) for (;;) pause(); return 0;')
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        command = [sys.executable, "-m", "ascend_rt", "verify", "--device", "0", "--only", "fact_4.6"]
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1) as running:
            assert fifo.read_bytes() == b""  # to the end: all that have opened it are gone
            running.communicate(timeout=60)
        assert report()["groups"]["fact_4.6"]["state"] == "done"

    @pytest.mark.full
    def test_groups_end_when_the_command_is_killed(self, card: Callable[..., Path], tmp_path: Path) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        library = card(aclrtHostRegister=f'open("{fifo}", O_WRONLY); for (;;) pause();')
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        command = [sys.executable, "-m", "ascend_rt", "verify", "--device", "0", "--only", "fact_4.6"]
        running = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1, stderr=-1)
        with running, fifo.open("rb") as hung:  # which waits until the call has begun
            running.kill()
            assert hung.read() == b""

    @pytest.mark.full
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_an_interrupt_ends_all_processes_and_keeps_the_report(
        self, card: Callable[..., Path], report: Any, tmp_path: Path, number: signal.Signals
    ) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        library = card(aclrtHostRegister=f'open("{fifo}", O_WRONLY); for (;;) pause();')
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        # What is ignored here, as SIGHUP is below nohup, would be ignored there.
        command = ["env", f"--default-signal={number.name[3:]}", sys.executable, "-m", "ascend_rt", "verify"]
        command += ["--device", "0", "--only", FEW]
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1, stderr=-1, text=True) as running:
            with fifo.open("rb") as hung:  # which waits until the call has begun
                running.send_signal(number)
                assert hung.read() == b""  # the process that hung is gone
            output, errors = running.communicate(timeout=60)
        assert (running.returncode, errors) == (130, "recordings: 4 of 4\n")
        assert "interrupted: ascend_rt-report.json has what was done until then" in output
        assert not report()["complete"]
        assert report()["groups"]["g02_init"]["state"] == "done"

    @pytest.mark.full
    def test_a_library_that_never_gets_far_is_given_up(
        self, verify: Verify, card: Callable[..., Path], report: Any
    ) -> None:
        where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": card(aclInit="raise(SIGSEGV);")}
        ended = verify("--only", "recordings", "--device", 0, **where)
        assert ended.returncode == 1
        states = Counter(played["state"] for played in report()["groups"].values())
        assert states["crashed"] >= 8
        assert states["skipped"] > 100
        assert "the 8 groups before ended early" in ended.stdout

    @pytest.mark.full
    def test_measuring_is_given_up_too(self, verify: Verify, card: Callable[..., Path], report: Any) -> None:
        where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": card(aclInit="raise(SIGSEGV);")}
        ended = verify("--only", "limits", "--device", 0, **where)
        assert ended.returncode == 1
        assert "limits: given up, 8 cases in a row ended early" in ended.stdout.splitlines()
        assert [found["error"]["state"] for found in report()["limits"].values()] == ["crashed"] * 8

    @pytest.mark.full
    def test_results_are_told_though_they_cannot_be_saved(self, on: Verify, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        moving = f'rename("{tmp_path}/there", "{tmp_path}/elsewhere"); return 507008;'
        ended = on("--output", "there/it.json", aclInit=moving)
        assert "g02_init: aclInit [NULL path] answers 507008, 0 is known" in ended.stdout
        assert "No such file or directory" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_a_missing_function(self, on: Verify, report: Any) -> None:
        ended = on(missing=("aclrtHostRegister",))
        assert ended.returncode == 1
        assert "aclrtHostRegister: the library does not have it" in ended.stdout
        assert report()["groups"]["fact_4.6"]["state"] == "done"


# --- what is known ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "outputs", "answer", "agrees"),
    [
        (0, None, [0, [5]], True),
        (0, None, [107000, []], False),
        (None, None, [107000, []], True),
        ("fails", None, [107000, []], True),
        ("fails", None, [0, []], False),
        ("fails", None, ["missing", []], False),
        (0, [5], [0, [5]], True),
        (0, [5], [0, [6]], False),
        (0, [5], [0, []], False),
        (0, [None], [0, [6]], True),
        (0, [[1, None]], [0, [6]], True),
        (0, [[1, None]], [0, [0]], False),
        (0, [[None, 5]], [0, [6]], False),
        (0, [[1, 6], 2], [0, [6, 2]], True),
        (0, ["nan"], [0, ["nan"]], True),
        (0, [0], [0, ["nan"]], False),
        (0, [[0, None]], [0, ["nan"]], False),
        (0, [[0, None]], [0, ["inf"]], True),
        (0, [[0, None]], [0, ["-inf"]], False),
        (0, [None], [0, ["nan"]], True),
    ],
)
def test_what_agrees(code: Any, outputs: Any, answer: Any, agrees: bool) -> None:
    assert Call("aclrtX", "", [], code, outputs).agrees(answer) == agrees


@pytest.mark.parametrize(
    ("soc", "product"),
    [
        ("Ascend910B1", "910B"),
        ("Ascend910B4-1", "910B"),
        ("Ascend910B2C", "910B"),
        ("Ascend910B", "910"),
        ("Ascend910A", "910"),
        ("Ascend910ProA", "910"),
        ("Ascend910_9391", "910C"),
        ("Ascend310B4", "310B"),
        ("Ascend310P3", "310P"),
        ("Ascend950PR", "950"),
        ("Ascend1", None),
        ("", None),
    ],
)
def test_products_of_chips(soc: str, product: str | None) -> None:
    assert product_of(soc) == product


# --- a comparison ----------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_release_that_the_simulator_does_not_know(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init,fact_4.6")
    content = report()
    content["library"]["cann"] = "8.5.0_T3"
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "odd.json")
    assert ended.returncode == 0, ended.stdout
    assert "the simulator does not know release 8.5.0_T3" in ended.stdout


def test_a_chip_that_the_simulator_does_not_know(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init")
    content = report()
    content["library"]["soc"] = "Ascend1040"
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "odd.json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no product for the chip Ascend1040" in ended.stderr


def test_groups_of_another_version_are_named_and_not_compared(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", "g02_init,fact_4.6")
    content = report()
    content["groups"]["g02_init"]["fingerprint"] = "other calls"
    content["groups"]["g99_new"] = content["groups"]["g02_init"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    ended = verify("--compare", "old.json")
    assert ended.returncode == 1
    for name in ("g02_init", "g99_new"):
        assert f"{name}: played by another version of ascend_rt, not compared" in ended.stdout
    assert "fact_4.6" not in ended.stdout


def test_calls_without_a_known_code_are_not_compared(monkeypatch: Any) -> None:
    group = Group("g", "recordings", (Call("aclrtX", "", [], None), Call("aclrtX", "", [], 0)))
    monkeypatch.setattr("ascend_rt_measure.verify.report.groups", lambda: {"g": group})
    sides = [
        Report(
            {"soc": "Ascend910B1", "missing": []},
            1,
            groups={"g": Played("done", [[code, []], [code, []]], group.fingerprint())},
        )
        for code in (0, 107000)
    ]
    assert [it.card for it in comparison.differences(*sides)] == [[0, []]]


# What card and simulator answer in turn to calls of one function, and the rules that follow from that.
RULES = [
    ([(0, 0), (107000, 107000)], {}, []),
    ([(507899, 107000), (507899, 107000)], {"107000": 507899}, []),
    ([(507899, 107000), (107000, 107000)], {}, ["aclrtX"]),
    ([(507899, 107000), (207000, 107000)], {}, ["aclrtX"]),
    ([(207000, 0)], {"0": 207000}, []),
    ([(207000, 100000), (207000, 0)], {"100000": 207000, "0": 207000}, []),
    ([(0, 0), (207000, 0)], {}, ["aclrtX"]),
    ([(0, 107000)], {}, ["aclrtX"]),
    ([(207000, 0), (507899, 107000)], {"0": 207000}, []),  # behind a call that failed on one side, nothing counts
    ([("missing", 0), (507899, 107000)], {}, []),
    ([(None, 0)], {}, []),
    ([(-1, 107000)], {}, ["aclrtX"]),
    ([(2**31, 107000)], {}, ["aclrtX"]),
]


@pytest.mark.parametrize(("answers", "rules", "without"), RULES)
def test_rules_of_a_profile(monkeypatch: Any, answers: Any, rules: dict[str, int], without: list[str]) -> None:
    group = Group("g", "recordings", tuple(Call("aclrtX", "", [], 0) for _ in answers))
    monkeypatch.setattr("ascend_rt_measure.verify.report.groups", lambda: {"g": group})
    sides = [
        Report(
            {"soc": "Ascend910B1", "missing": []},
            1,
            groups={
                "g": Played(
                    "done", [[pair[side], []] for pair in answers if pair[side] is not None], group.fingerprint()
                )
            },
        )
        for side in (0, 1)
    ]
    assert card_profile.codes(*sides) == ({"aclrtX": rules} if rules else {}, without)


CARD = {
    "profile": {
        "format": 1,
        "product": "910B",
        "soc_name": "Ascend910B2C",
        "cann_version": "9.0.0",
        "limits": {"streams": 66, "queue_depth": 1024, "cube_cores": 20},
        "codes": {"aclrtHostRegister": {"507899": 107000}},
        "costs": {"record": {"ns": 1500}},
    }
}


@pytest.fixture
def of_card(verify: Verify, tmp_path: Path) -> None:
    """Make a report of a simulated card that answers otherwise in one group."""
    (tmp_path / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    assert verify("--only", "fact_4.6", ASCEND_RT_SIM_PROFILE="card.json").returncode == 1


@pytest.mark.usefixtures("of_card")
def test_a_profile_in_the_report_itself(verify: Verify, report: Any) -> None:
    before = report()
    problem = verify("--only", "fact_4.6", ASCEND_RT_SIM_PROFILE="ascend_rt-report.json")
    assert "ascend-rt verify --compare ascend_rt-report.json --profile ascend_rt-report.json adds" in problem.stderr
    verify("--compare", "ascend_rt-report.json", "--profile", "./ascend_rt-report.json")
    added = report()
    assert added.pop("profile")["codes"] == CARD["profile"]["codes"]
    assert added == before
    again = verify("--only", "fact_4.6", "--output", "again.json", ASCEND_RT_SIM_PROFILE="ascend_rt-report.json")
    assert "fact_4.6: aclrtHostRegister" in again.stdout
    assert verify("--compare", "ascend_rt-report.json").returncode == 1


@pytest.mark.full
@pytest.mark.usefixtures("of_card")
def test_what_the_simulator_refuses_is_not_in_a_profile(verify: Verify, report: Any, tmp_path: Path) -> None:
    content = report()
    content["limits"] = {"streams": {"value": 0}, "cube_core_num": {"value": 20}}
    content["latencies"] = {"record": {"device": {"p50": 1e15}}}
    (tmp_path / "odd.json").write_text(json.dumps(content), encoding="utf-8")
    compared = verify("--compare", "odd.json", "--profile", "made.json")
    lines = compared.stdout.splitlines()
    assert "not in the profile: limits.streams is 2; allowed is a whole number from 3 to 65536" in lines
    assert "not in the profile: costs.record.ns is 1000000000000000; allowed is a number from 0 to 1e+12" in lines
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["profile"]
    assert (made["limits"], made["costs"]) == ({"cube_cores": 20}, {"record": {}})


@pytest.mark.full
def test_a_profile_makes_the_simulator_the_card(verify: Verify, report: Any, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    card.write_text(json.dumps(CARD), encoding="utf-8")
    parts = "fact_4.6,g30_stream_create,limits,latencies"
    ended = verify("--only", parts, "--smoke", ASCEND_RT_SIM_PROFILE=card)
    assert "fact_4.6: aclrtHostRegister" in ended.stdout
    compared = verify("--compare", "ascend_rt-report.json", "--profile", "made.json")
    lines = compared.stdout.splitlines()
    assert "limit queue_depth: 1024 on the card, 1792 in the simulator" in lines
    assert sum(line.startswith("aclrtHostRegister: fact_4.6") for line in lines) == 3
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))["profile"]
    expected = CARD["profile"]
    assert {name: made[name] for name in ("product", "soc_name", "cann_version", "codes")} == {
        name: expected[name] for name in ("product", "soc_name", "cann_version", "codes")
    }
    assert made["limits"] == expected["limits"]
    assert set(made["costs"]) >= {"record", "wait", "copy_host_to_device", "fill"}
    again = verify("--only", parts, "--smoke", ASCEND_RT_SIM_PROFILE="made.json")
    assert again.returncode == ended.returncode
    assert [line for line in again.stdout.splitlines() if "fact_4.6" in line] == [
        line for line in ended.stdout.splitlines() if "fact_4.6" in line
    ]
