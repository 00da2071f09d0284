# SPDX-License-Identifier: Apache-2.0
"""Options of the process and of a context."""

from __future__ import annotations

from typing import Any

import pytest
from support.codes import INVALID_PARAM, NO_CONTEXT, RT_PARAM

NOT_SET = 107021
LARGEST = [3, 1, 1, 1]
CONTEXT_OPTIONS = 3


def get(lib: Any, ffi: Any, function: str, option: int) -> tuple[int, int]:
    value = ffi.new("int64_t *", -7)
    return getattr(lib, function)(option, value), value[0]


@pytest.mark.parametrize("option", range(4))
def test_options_of_the_process(option: int, lib: Any, ffi: Any) -> None:
    for value in range(LARGEST[option] + 1):
        assert lib.aclrtSetSysParamOpt(option, value) == 0
        assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (0, value)
    for value in (-1, LARGEST[option] + 1, 1 << 40):
        assert lib.aclrtSetSysParamOpt(option, value) == RT_PARAM
        assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (0, LARGEST[option])
    assert lib.aclrtSetSysParamOpt(option, 0) == 0


def test_options_of_the_process_are_off_and_need_no_context(child: Any) -> None:
    script = """
        value = ffi.new("int64_t *", -1)
        reported([[lib.aclrtGetSysParamOpt(option, value), value[0]] for option in range(4)])
    """
    assert child(script) == [[0, 0]] * 4


@pytest.mark.parametrize("option", [4, 2**31, 2**32 - 1])
def test_options_that_do_not_exist(option: int, device: Any, lib: Any, ffi: Any) -> None:
    assert lib.aclrtSetSysParamOpt(option, 0) == INVALID_PARAM
    assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (INVALID_PARAM, -7)


@pytest.mark.parametrize("option", [CONTEXT_OPTIONS, 4, 2**32 - 1])
def test_options_that_a_context_does_not_have(option: int, device: Any, lib: Any, ffi: Any) -> None:
    assert lib.aclrtCtxSetSysParamOpt(option, 0) == INVALID_PARAM
    assert get(lib, ffi, "aclrtCtxGetSysParamOpt", option) == (INVALID_PARAM, -7)


def test_null(device: Any, lib: Any, ffi: Any) -> None:
    assert lib.aclrtGetSysParamOpt(0, ffi.NULL) == INVALID_PARAM
    assert lib.aclrtCtxGetSysParamOpt(0, ffi.NULL) == INVALID_PARAM


@pytest.mark.parametrize("option", range(CONTEXT_OPTIONS))
def test_options_of_a_context(option: int, device: Any, lib: Any, ffi: Any) -> None:
    contexts = [ffi.new("aclrtContext *") for _ in range(2)]
    for context in contexts:
        assert lib.aclrtCreateContext(context, 0) == 0
    assert lib.aclrtSetSysParamOpt(option, 1) == 0
    # The process's values are not a fallback, and another context's do not apply; but a context also sets the process.
    assert lib.aclrtSetCurrentContext(contexts[0][0]) == 0
    assert get(lib, ffi, "aclrtCtxGetSysParamOpt", option) == (NOT_SET, -7)
    for value in range(LARGEST[option] + 1):
        assert lib.aclrtCtxSetSysParamOpt(option, value) == 0
        assert get(lib, ffi, "aclrtCtxGetSysParamOpt", option) == (0, value)
        assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (0, value)
    for value in (-1, LARGEST[option] + 1):
        assert lib.aclrtCtxSetSysParamOpt(option, value) == RT_PARAM
        assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (0, LARGEST[option])
    assert lib.aclrtSetSysParamOpt(option, 1) == 0  # leaves the context as it is
    assert get(lib, ffi, "aclrtCtxGetSysParamOpt", option) == (0, LARGEST[option])
    assert lib.aclrtSetCurrentContext(contexts[1][0]) == 0
    assert get(lib, ffi, "aclrtCtxGetSysParamOpt", option) == (NOT_SET, -7)
    assert get(lib, ffi, "aclrtGetSysParamOpt", option) == (0, 1)
    for context in contexts:
        assert lib.aclrtDestroyContext(context[0]) == 0
    assert lib.aclrtSetSysParamOpt(option, 0) == 0


def test_without_a_context(child: Any) -> None:
    script = 'reported([lib.aclrtCtxSetSysParamOpt(0, 1), lib.aclrtCtxGetSysParamOpt(0, ffi.new("int64_t *"))])'
    assert child(script) == [NO_CONTEXT, NO_CONTEXT]
