# SPDX-License-Identifier: Apache-2.0
"""The leak check for users' tests, and its plug-in for pytest."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ascend_rt import Buffer, Device, Event, Stream
from ascend_rt._native import handles
from ascend_rt.testing import Leak, no_leaks

TESTS = """
import pytest
from ascend_rt import Buffer, Device, Stream

kept = []

@pytest.fixture
def stream():
    Device(0).set_current()
    with Stream() as stream:
        yield stream

{mark}
def test_leak(stream):
    kept.append(Buffer(64))

{mark}
def test_no_leak(stream):
    event = stream.record()
    with Buffer(64):
        event.synchronize()

{mark}
def test_failure(stream):
    kept.append(Buffer(64))
    assert kept == []
"""


def leave_open(kind: Any) -> Any:
    return kind(64) if kind is Buffer else kind()


@pytest.mark.parametrize("kind", [Stream, Event, Buffer])
def test_what_is_left_open_is_named_with_its_place(device: Device, kind: Any) -> None:
    with (
        pytest.raises(Leak, match=rf"^{kind.__name__} \w+.*: still open(\n.*)*was created here:(\n.*)*leave_open"),
        no_leaks(),
    ):
        left = leave_open(kind)
    left.close()


def test_what_is_closed_or_discarded_is_no_leak(device: Device) -> None:
    before = Stream()
    with no_leaks():
        with Stream(), Event(), Buffer(64):
            Stream()
            borrowed = Stream.from_handle(before.handle)
        assert not borrowed.is_closed
    before.close()


def test_a_view_owns_nothing_and_is_no_leak(device: Device) -> None:
    with Buffer(64) as memory:
        with no_leaks():
            view = memory[:8]
        assert not view.is_closed


def test_only_the_kinds_that_are_asked_for_count(device: Device) -> None:
    with no_leaks(Stream):
        event = Event()
    with pytest.raises(Leak), no_leaks(Event, Stream):
        other = Event()
    event.close()
    other.close()


def test_blocks_are_nested(device: Device) -> None:
    kept: list[Event] = []

    def leak() -> None:
        with no_leaks():
            kept.append(Event())

    def leak_inside() -> None:
        with no_leaks():
            with pytest.raises(Leak):
                leak()
            kept.append(Event())

    with pytest.raises(Leak) as found:
        leak_inside()
    assert str(found.value).count("was created here") == 2
    for event in kept:
        event.close()


def test_blocks_overlap(device: Device) -> None:
    before, kept = handles.set_on_open(None), []
    first, second = no_leaks(), no_leaks()
    first.__enter__()
    second.__enter__()
    kept.append(Event())
    with pytest.raises(Leak):
        first.__exit__(None, None, None)
    kept.append(Event())
    with pytest.raises(Leak) as found:
        second.__exit__(None, None, None)
    assert str(found.value).count("was created here") == 2
    assert handles.set_on_open(before) is None
    for event in kept:
        event.close()


def test_an_error_of_the_block_is_not_replaced(device: Device) -> None:
    def fail() -> None:
        with no_leaks():
            Event()
            raise KeyError("of the block")

    with pytest.raises(KeyError):
        fail()


@pytest.mark.parametrize("way", ["the option", "the marker"])
def test_the_plug_in_fails_a_test_that_leaks(run: Any, tmp_path: Any, under_test: dict[str, str], way: str) -> None:
    mark = "@pytest.mark.no_leaks" if way == "the marker" else ""
    (tmp_path / "test_it.py").write_text(TESTS.format(mark=mark), encoding="utf-8")
    option = ["--no-leaks"] if way == "the option" else []
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *option, **under_test)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"was created here:\nE +File \"[^\"]+test_it.py\", line", done.stdout)  # no frames of pytest
    assert re.search("Leak: (Event|Stream|Buffer)", done.stdout[done.stdout.index("short test summary info") :])
    assert "assert kept == []" in done.stdout


def test_the_plug_in_does_nothing_unless_it_is_asked(run: Any, tmp_path: Any, under_test: dict[str, str]) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(mark=""), encoding="utf-8")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", **under_test)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
