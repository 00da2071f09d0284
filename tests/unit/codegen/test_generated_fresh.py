# SPDX-License-Identifier: Apache-2.0
"""The committed generated files are those that the headers give, and Python agrees with C about them."""

from __future__ import annotations

import enum
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]


def test_generated_files_are_fresh() -> None:
    program = [sys.executable, str(ROOT / "codegen"), "--check"]
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_c_enumeration_has_a_class_with_all_its_values(declared: Any) -> None:
    from ascend_rt import enums

    by_c_name = {cls.__doc__: cls for cls in vars(enums).values() if isinstance(cls, type)}
    for c_enum in declared.enums:
        python_enum = by_c_name[f"``{c_enum.name}``."]
        assert issubclass(python_enum, enum.IntEnum)
        assert sorted(python_enum.__members__.values()) == sorted(value for _, value in c_enum.members)


def test_every_group_has_a_class_of_its_kind(declared: Any) -> None:
    from ascend_rt import enums

    for group in declared.groups:
        python_enum = getattr(enums, group.name)
        assert issubclass(python_enum, {"flags": enum.IntFlag, "enum": enum.IntEnum}[group.kind])
        assert sorted(python_enum.__members__.values()) == sorted(value for _, value in group.members)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("MemcpyKind.HOST_TO_DEVICE", 1),
        ("DevAttr.AICORE_CORE_NUM", 101),
        ("SysParamOpt.DETERMINISTIC", 0),
        ("RunMode.HOST", 1),
        ("EventFlag.TIME_LINE", 8),
        ("FailureMode.STOP_ON_FAILURE", 1),
        ("DataType.BF16", 27),
        ("MdlRICaptureMode.RELAXED", 2),
        ("ProfDataType.API_STATS", 0x400000000),
        ("MemType.HBM_TYPE", 0),
        ("AclMemType.HOST", 1),
        ("TdtTensorType.END_OF_SEQUENCE", 1),
        ("ErrorCode.ACL_ERROR_RT_FEATURE_NOT_SUPPORT", 207000),
    ],
)
def test_names_that_users_write(path: str, value: int) -> None:
    from ascend_rt import enums

    class_name, member = path.split(".")
    assert getattr(getattr(enums, class_name), member) == value


def test_every_function_is_in_the_table(declared: Any) -> None:
    from ascend_rt._generated import functions

    documented = [function for function in declared.functions if function.family != "aclsim"]
    assert list(functions.FUNCTIONS) == [function.name for function in documented]
    assert {name: family for name, (family, *_) in functions.FUNCTIONS.items()} == {
        function.name: function.family for function in documented
    }
    assert declared.libraries == functions.LIBRARIES
    assert set(functions.PAGES) == {function.family for function in documented}
    assert set(functions.REFUSALS) <= set(functions.FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "is_wrapped"),
    [("aclrtRecordEvent", True), ("aclInit", True), ("aclrtMalloc", True), ("aclrtProfTrace", False)],
)
def test_what_the_facade_wraps_is_read_from_its_source(name: str, is_wrapped: bool) -> None:
    from ascend_rt._generated import functions

    assert functions.FUNCTIONS[name][3] is is_wrapped
