# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify``: on the simulator, on a library with defects, and compared with the simulator."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_rt.verify.cases import Call, groups
from ascend_rt.verify.report import product_of

Verify = Callable[..., "subprocess.CompletedProcess[str]"]
BEHIND = b"libbehindit.so"  # as long as libascendcl.so
FEW = "g02_init,g10_device,g40_event_create_arguments,g50_notify_arguments,fact_1.25,fact_4.6"


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Return a function that runs the command in a directory of its own."""

    def run(*arguments: object, **variables: object) -> subprocess.CompletedProcess[str]:
        usual = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_")}
        environment = usual | {"ASCEND_RT_BACKEND": "sim"} | {name: str(value) for name, value in variables.items()}
        command = [sys.executable, "-m", "ascend_rt", "verify", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], Any]:
    """Return a function that reads the report that was written."""
    return lambda: json.loads((tmp_path / "ascend_rt-report.json").read_text(encoding="utf-8"))


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


def test_the_report_names_nobody(verify: Verify, report: Any, tmp_path: Path) -> None:
    verify("--only", f"{FEW},latencies,limits", "--smoke")
    text = json.dumps(report())
    for name in (platform.node(), getpass.getuser(), str(tmp_path), str(Path.home()), sys.executable, "/"):
        assert name not in text


# --- a wrong command line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--device", "9"), "there is no device 9: the library sees 8"),
        (("--device", "1,0"), "ascending order"),
        (("--device", "x"), "invalid"),
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

    def make(missing: tuple[str, ...] = (), **bodies: str) -> Path:
        directory = tmp_path_factory.mktemp("card")
        content = sim.library_path().read_bytes()
        content = content.replace(b"libascendcl.so", BEHIND).replace(b"\0aclsim", b"\0bclsim")
        for name in missing:
            content = content.replace(b"\0%s\0" % name.encode(), b"\0b%s\0" % name.encode()[1:])
        behind = directory / BEHIND.decode()
        behind.write_bytes(content)
        head = "#include <fcntl.h>\n#include <signal.h>\n#include <stdint.h>\n#include <unistd.h>\n"
        source = head + "".join(f"int32_t {name}() {{ {body} }}\n" for name, body in bodies.items())
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

    def test_a_reset_that_is_allowed(self, on: Verify, report: Any) -> None:
        assert on("--allow-reset").returncode == 0
        assert report()["groups"]["g10_device"]["state"] == "done"

    def test_another_code(self, on: Verify, verify: Verify) -> None:
        ended = on(aclInit="return 507008;")
        assert "g02_init: aclInit [NULL path] answers 507008, 0 is known" in ended.stdout
        compared = verify("--compare", "ascend_rt-report.json")
        assert compared.returncode == 1
        line = "aclInit: g02_init [NULL path]: the card answers 507008, the simulator 0"
        assert line in compared.stdout.splitlines()

    def test_a_crash(self, on: Verify, report: Any) -> None:
        ended = on(aclrtCreateNotify="raise(SIGSEGV);")
        assert ended.returncode == 1
        assert "g50_notify_arguments: crashed in aclrtCreateNotify (SIGSEGV)" in ended.stdout
        assert report()["groups"]["fact_4.6"]["state"] == "done"

    def test_a_function_that_never_returns(self, on: Verify, report: Any) -> None:
        ended = on("--time-limit", 3, aclrtHostRegister="for (;;) pause();")
        assert ended.returncode == 1
        assert "fact_4.6: hung in aclrtHostRegister" in ended.stdout
        assert report()["groups"]["g02_init"]["state"] == "done"

    def test_a_crash_costs_one_measurement(self, verify: Verify, card: Callable[..., Path], report: Any) -> None:
        where = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": card(aclrtQueryEventStatus="raise(SIGSEGV);")}
        ended = verify("--only", "latencies", "--smoke", "--device", 0, **where)
        assert ended.returncode == 1
        assert "query: crashed SIGSEGV" in ended.stdout.splitlines()
        assert [name for name, found in report()["latencies"].items() if "error" in found] == ["query"]

    def test_an_interrupt_ends_all_processes_and_keeps_the_report(
        self, card: Callable[..., Path], report: Any, tmp_path: Path
    ) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        library = card(aclrtHostRegister=f'open("{fifo}", O_WRONLY); for (;;) pause();')
        environment = os.environ | {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(library)}
        command = [sys.executable, "-m", "ascend_rt", "verify", "--device", "0", "--only", FEW]
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1, stderr=-1, text=True) as running:
            with fifo.open("rb") as hung:  # which waits until the call has begun
                running.send_signal(signal.SIGINT)
                assert hung.read() == b""  # the process that hung is gone
            output, errors = running.communicate(timeout=60)
        assert (running.returncode, errors) == (130, "")
        assert "interrupted: ascend_rt-report.json has what was done until then" in output
        assert not report()["complete"]
        assert report()["groups"]["g02_init"]["state"] == "done"

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
