# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify`` on a library with defects: each is reported, and the rest goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.verification import FEW, Verify

from ascend_rt_measure.verify import children
from ascend_rt_measure.verify.cases import groups

pytestmark = pytest.mark.simulator("independent")


@pytest.mark.full
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
        assert "g02_init: aclInit [NULL path] answers 507008, expected 0" in ended.stdout
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
        assert f"{group}: aclrtEventElapsedTime [same event] answers 0 ['-inf'], expected 0 [0.0]" in ended.stdout
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
        # A signal that is ignored here, as SIGHUP is below nohup, would be ignored there.
        command = ["env", f"--default-signal={number.name[3:]}", sys.executable, "-m", "ascend_rt", "verify"]
        command += ["--device", "0", "--only", FEW]
        with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=-1, stderr=-1, text=True) as running:
            with fifo.open("rb") as hung:  # which waits until the call has begun
                running.send_signal(number)
                assert hung.read() == b""  # the process that hung is gone
            _, errors = running.communicate(timeout=60)
        assert running.returncode == 130
        assert errors.splitlines() == [
            "recordings: 4 of 4",
            "ascend-rt: interrupted; ascend_rt-report.json has the results so far",
        ]
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
    def test_results_are_reported_though_they_cannot_be_saved(self, on: Verify, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        moving = f'rename("{tmp_path}/there", "{tmp_path}/elsewhere"); return 507008;'
        ended = on("--output", "there/it.json", aclInit=moving)
        assert "g02_init: aclInit [NULL path] answers 507008, expected 0" in ended.stdout
        assert "cannot write there/it.json: no such file or directory" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_a_missing_function(self, on: Verify, report: Any) -> None:
        ended = on(missing=("aclrtHostRegister",))
        assert ended.returncode == 1
        assert "aclrtHostRegister: the library does not have it" in ended.stdout
        assert report()["groups"]["fact_4.6"]["state"] == "done"
