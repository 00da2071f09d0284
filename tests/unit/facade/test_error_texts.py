# SPDX-License-Identifier: Apache-2.0
"""Texts of errors: one line says what failed and why, further lines the task and the hint."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ascend_rt import (
    Buffer,
    CachingAllocator,
    ConfigurationError,
    Device,
    FailedTask,
    IpcMemory,
    copy,
    lib,
    use,
)
from ascend_rt._generated.error_table import ERRORS
from ascend_rt._runtime.error_classes import error_for
from ascend_rt._runtime.error_texts import in_full

pytestmark = pytest.mark.simulator("internals")

TASK = FailedTask(task=7, stream=2, device=0, thread=4711, code=507015, kernel="boom")


def lines(error: BaseException) -> list[str]:
    return in_full(error).splitlines()


def test_task_and_hint_have_lines_of_their_own() -> None:
    text = "aclrtSynchronizeStreamWithTimeout: a task of stream 2 failed: block 0 of 2 of kernel boom"
    error = error_for(507015, "aclrtSynchronizeStream", text, TASK)
    assert lines(error) == [
        "aclrtSynchronizeStream: [507015 ACL_ERROR_RT_AICORE_EXCEPTION] a task failed: block 0 of 2 of kernel boom",
        "failed: task 7 (kernel boom) of stream 2 on device 0, from thread 4711",
        f"hint: {error.hint}",
    ]
    assert error.message == text


def test_more_lines_of_the_runtime_follow_the_first() -> None:
    error = error_for(107000, "aclrtX", "EE1001: refused\n  Solution: none\n  TraceBack: deep")
    assert lines(error)[0] == "aclrtX: [107000 ACL_ERROR_RT_PARAM_INVALID] EE1001: refused"
    assert lines(error)[1:3] == ["  Solution: none", "  TraceBack: deep"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before PEP 678 the text has all lines")
def test_the_text_is_the_first_line_and_the_rest_are_notes() -> None:
    error = error_for(507015, "aclrtX", "", TASK)
    assert str(error) == lines(error)[0]
    assert error.__notes__ == lines(error)[1:]


def test_a_pickled_error_has_its_notes_once() -> None:
    error = error_for(507015, "aclrtX", "", TASK)
    assert lines(pickle.loads(pickle.dumps(error))) == lines(error)


def test_no_hint_sends_to_the_message() -> None:
    assert not [hint for *_, hint in ERRORS.values() if re.search("the message|event without a record", hint)]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "copy of a text": (
        lambda: copy(Buffer(4), "text"),  # type: ignore[arg-type]
        TypeError,
        "expected a Buffer or a bytes-like object as the source, got str",
    ),
    "device of a text": (
        lambda: Device("0"),  # type: ignore[arg-type]
        TypeError,
        "expected the number of a device, got '0'",
    ),
    "negative limit": (lambda: CachingAllocator(-1), ValueError, "max_nbytes must be 0 or more, got -1"),
    "unknown backend": (lambda: use("gpu"), ConfigurationError, r"use\('gpu'\) is not one of auto, cann, sim"),
    "unknown function": (lambda: lib.aclrtMaloc, AttributeError, "did you mean aclrtMalloc"),
    "function that is replaced": (
        lambda: lib.override("aclrtMaloc", print).__enter__(),
        AttributeError,
        "did you mean aclrtMalloc",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_facade_refuses_with_its_own_text(case: str, device: Device) -> None:
    call, kind, text = REFUSED[case]
    with pytest.raises(kind, match=text):
        call()


def test_memory_that_shares_its_pages_is_never_exported(device: Device) -> None:
    for _ in range(3):  # the first one may begin at a page
        with Buffer(100) as small, pytest.raises(ValueError, match="a buffer of 100 bytes shares its pages"):
            IpcMemory(small)


def test_constants_that_are_not_declared_are_named(device: Device) -> None:
    with pytest.raises(AttributeError, match="'ACL_SUCCES' is not a declared C function or constant; did you mean"):
        _ = lib.ACL_SUCCES


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("ASCEND_RT_BACKEND", "gpu", "ASCEND_RT_BACKEND=gpu is not one of auto, cann, sim"),
        ("ASCEND_RT_SIM_DEVICES", "x", "ASCEND_RT_SIM_DEVICES=x is not a whole number from 1 to 64"),
        ("ASCEND_RT_SIM_PROFILE", "/nodir", "ASCEND_RT_SIM_PROFILE=/nodir: the file cannot be read: No such file or"),
    ],
)
def test_a_wrong_setting_is_a_configuration_error_without_a_hint(name: str, value: str, text: str, child: Any) -> None:
    script = """
        from ascend_rt import ConfigurationError, Device
        from ascend_rt._runtime.error_texts import in_full
        try:
            Device.count()
        except ConfigurationError as error:
            reported(in_full(error))
        """
    assert child(script, **{"ASCEND_RT_BACKEND": "sim", name: value}).startswith(text)


def test_a_misspelt_variable_is_warned_of_with_the_nearest_name(child: Any) -> None:
    script = """
        import warnings
        from ascend_rt import Device
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Device.count()
            Device.count()
        reported([str(each.message) for each in caught])
        """
    assert child(script, ASCEND_RT_SIM_CHEK="memory", ASCEND_RT_ZZ="") == [
        "the environment variable ASCEND_RT_SIM_CHEK is unknown; did you mean ASCEND_RT_SIM_CHECK?; "
        "the environment variable ASCEND_RT_ZZ is unknown"
    ]
