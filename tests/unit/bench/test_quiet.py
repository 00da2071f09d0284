# SPDX-License-Identifier: Apache-2.0
"""Samples of quiet moments, on a machine whose noise is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ascend_rt_measure.bench import quiet


class Machine:
    """A machine where a probe takes a second, or two while it is disturbed; time passes by nothing else."""

    def __init__(self, disturbed: Callable[[float], bool]) -> None:
        self.now = 0.0
        self.disturbed = disturbed

    def probe(self, _: int) -> float:
        taken = 2.0 if self.disturbed(self.now) else 1.0
        self.now += taken
        return taken

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def sample(self) -> float:
        began = self.now
        self.now += 10
        return began


Maker = Callable[[Callable[[float], bool]], Machine]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Maker:
    def made(disturbed: Callable[[float], bool]) -> Machine:
        found = Machine(disturbed)
        monkeypatch.setattr(quiet, "_PROBES", 10)
        monkeypatch.setattr(quiet, "_probe", found.probe)
        monkeypatch.setattr(quiet, "perf_counter", lambda: found.now)
        monkeypatch.setattr(quiet.time, "sleep", found.sleep)
        return found

    return made


def test_a_sample_is_taken_again_in_a_quiet_moment(machine: Maker) -> None:
    there = machine(lambda now: 15 < now < 100)

    began = quiet.Watch(1000).sample(there.sample)  # the first one begins at 11, after the probes

    assert began >= 100
    assert there.now <= began + 11


def test_patience_ends(machine: Maker) -> None:
    there = machine(lambda now: now > 15)

    began = quiet.Watch(50).sample(there.sample)

    assert 11 < began <= 10 + 50 + 10


def test_without_patience_nothing_is_probed(machine: Maker) -> None:
    there = machine(lambda now: True)

    assert quiet.Watch(0).sample(there.sample) == 0
    assert there.now == 10
