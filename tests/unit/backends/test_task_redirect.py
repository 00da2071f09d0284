# SPDX-License-Identifier: Apache-2.0
"""The simulator has decided for every function that takes a stream what it does while the stream is captured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

TABLE = Path(__file__).parents[3] / "backends" / "sim" / "src" / "api" / "task_redirect.cpp"
RULE = re.compile(r"\{Function::(\w+), Use::\w+\}")


def test_every_function_that_takes_a_stream_is_in_the_table(declared: Any) -> None:
    takes_stream = [
        function.name
        for function in declared.functions
        if any(parameter.type.removeprefix("const ") == "aclrtStream" for parameter in function.parameters)
    ]
    assert sorted(RULE.findall(TABLE.read_text(encoding="utf-8"))) == sorted(takes_stream)
