# SPDX-License-Identifier: Apache-2.0
"""Errors carry what is known, read well, and are caught by the Python exception that means the same."""

from __future__ import annotations

import pickle
import re

import pytest

import ascend_rt
from ascend_rt import errors
from ascend_rt._generated.error_table import ERRORS
from ascend_rt._runtime.error_classes import error_for
from ascend_rt._runtime.error_texts import in_full


@pytest.mark.parametrize(
    ("code", "cls", "builtin"),
    [
        (100000, errors.InvalidArgument, ValueError),
        (107000, errors.InvalidArgument, ValueError),
        (107001, errors.InvalidArgument, ValueError),
        (107017, errors.InvalidHandle, ValueError),
        (107002, errors.NoContext, RuntimeError),
        (207000, errors.NotSupported, NotImplementedError),
        (107019, errors.Timeout, TimeoutError),
        (107020, errors.Timeout, TimeoutError),
        (507012, errors.Timeout, TimeoutError),
        (507046, errors.Timeout, TimeoutError),
        (507047, errors.Timeout, TimeoutError),
        (200000, errors.OutOfMemory, MemoryError),
        (207001, errors.OutOfMemory, MemoryError),
        (207018, errors.OutOfMemory, MemoryError),
        (207005, errors.ResourceExhausted, RuntimeError),
        (207007, errors.ResourceExhausted, RuntimeError),
        (207008, errors.ResourceExhausted, RuntimeError),
        (107023, errors.StreamAborted, RuntimeError),
    ],
)
def test_codes_that_people_catch(code: int, cls: type[errors.AclError], builtin: type[Exception]) -> None:
    error = error_for(code, "aclrtX")
    assert type(error) is cls
    assert isinstance(error, errors.AclError)
    assert isinstance(error, builtin)


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_has_a_readable_error(code: int) -> None:
    error = error_for(code, "aclrtX")
    name, group, meaning, hint = ERRORS[code]
    assert (error.code, error.function) == (code, "aclrtX")
    assert (error.name, error.group, error.message, error.hint) == (name, group, meaning, hint)
    assert in_full(error).splitlines() == [f"aclrtX: [{code} {name}] {meaning}", f"hint: {hint}"]


def test_the_advice_to_free_is_for_what_is_exhausted() -> None:
    freeing = {code: meaning for code, (_, _, meaning, hint) in ERRORS.items() if hint.startswith(("free", "close "))}
    assert freeing
    unfit = {code: meaning for code, meaning in freeing.items() if not re.search("memory|exhausted|in use", meaning)}
    assert not unfit


@pytest.mark.parametrize("code", [207000, 200001, 200006])
def test_a_missing_function_leads_to_the_commands_that_report(code: int) -> None:
    assert "ascend-rt coverage" in ERRORS[code][3]


def test_the_text_of_the_runtime_wins_over_the_meaning() -> None:
    error = error_for(107017, "aclrtRecordEvent", "event 0x10 was destroyed")
    assert error.message == "event 0x10 was destroyed"
    assert "[107017 ACL_ERROR_RT_INVALID_HANDLE] event 0x10 was destroyed" in str(error)


def test_an_unknown_code_is_an_error_too() -> None:
    error = error_for(999999, "aclrtX")
    assert type(error) is errors.AclError
    assert "999999" in str(error)


def test_an_error_survives_pickling() -> None:
    error = error_for(507046, "aclrtSynchronizeStreamWithTimeout", "not done")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.code, copy.function, str(copy)) == (type(error), 507046, error.function, str(error))


def test_every_error_is_at_the_top() -> None:
    found = {name for name, it in vars(errors).items() if isinstance(it, type) and it.__module__ == errors.__name__}
    assert found <= set(ascend_rt.__all__)
