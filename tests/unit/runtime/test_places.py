# SPDX-License-Identifier: Apache-2.0
"""Places that have no usable library are described as what they are."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from ascend_rt.backends.cann import inspection, places

pytestmark = pytest.mark.simulator("independent")

OTHER = "x86_64" if platform.machine() == "aarch64" else "aarch64"
ELF_MACHINE = {"x86_64": 62, "aarch64": 183}[OTHER]


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """Return a toolkit that is for another machine only."""
    library = tmp_path / "cann-8.5.0" / f"{OTHER}-linux" / "lib64" / "libacl_rt.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF\x02" + bytes(13) + ELF_MACHINE.to_bytes(2, "little") + bytes(44))
    return tmp_path


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (places.NAMED, *places._HOME_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(places, "_ROOTS", ())


def test_a_known_directory_for_another_machine_is_a_gap(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_ROOTS", (str(toolkit),))
    (gap,) = (each for each in places.candidates() if each.source == places._KNOWN)
    assert isinstance(gap, places.Gap)
    assert gap.verdict == f"for another machine type (this is {platform.machine()})"
    assert f"{OTHER}-linux" in gap.path


def test_a_named_directory_for_another_machine_is_examined(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(toolkit))
    first = next(places.candidates())
    assert isinstance(first, places.Candidate)
    assert inspection.look(first.paths[0]) == f"for another machine type ({OTHER}, this is {platform.machine()})"


@pytest.mark.parametrize(
    ("path", "verdict"), [("nodir/lib64/libacl_rt.so", "no such directory: {0}/nodir"), ("none.so", "no such file")]
)
def test_a_directory_that_does_not_exist_is_named(path: str, verdict: str, tmp_path: Path) -> None:
    assert inspection.look(str(tmp_path / path)) == verdict.format(tmp_path)
