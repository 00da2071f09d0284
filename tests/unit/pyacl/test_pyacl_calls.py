# SPDX-License-Identifier: Apache-2.0
"""The functions of pyACL call the right C function, with its arguments in C's order, in whichever library has it.

A look-alike of the vendor's library prints each call: the name, and the arguments as numbers and texts.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]

# Calls that the search makes before it uses a library: the look-alike has to answer.
_ASKED = ("aclrtGetDeviceCount", "aclrtGetSocName")


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    """Return the functions as the build reads them; the source tree is not on the path."""
    sys.path.append(str(ROOT))
    try:
        yield importlib.import_module("codegen.pyacl").entries()
    finally:
        sys.path.remove(str(ROOT))


def definition(function: Any) -> str:
    """Return a function that prints its call."""
    formats, values = [], []
    for parameter in function.parameters:
        if parameter.type in ("const char *", "char *"):
            formats.append("%s")
            values.append(parameter.name)
        elif parameter.type == "float":
            formats.append("%g")
            values.append(parameter.name)
        else:
            formats.append("%lld")
            values.append(f"(long long)(intptr_t){parameter.name}")
    call = f'printf("{" ".join([function.name, *formats])}\\n"{"".join(f", {value}" for value in values)});'
    result = "" if function.returns == "void" else "return 0;"
    return f"{function.prototype} {{ {call} fflush(stdout); {result} }}"


def run_calls(run: Any, library: Path, calls: list[tuple[str, list[Any]]]) -> list[str]:
    script = (
        "import functools, json, sys\nimport ascend_rt.pyacl as acl\n"
        "for name, arguments in json.loads(sys.argv[1]):\n"
        "    result = functools.reduce(getattr, name.split('.')[1:], acl)(*arguments)\n"
        "    sys.stdout.write(f'= {json.dumps(result)}\\n')\n    sys.stdout.flush()\n"
    )
    done = run("-c", script, json.dumps(calls), ASCEND_RT_BACKEND="cann", ASCEND_RT_LIBRARY=library)
    assert done.returncode == 0, done.stderr
    return list(done.stdout.splitlines())


def test_generated_functions_pass_their_arguments_on_in_order(
    build: Any, vendor_source: Any, declared: Any, run: Any, table: Any, tmp_path: Path
) -> None:
    generated = [entry for entry in table if not entry.home and entry.function.name not in _ASKED]
    printing = {entry.function.name: definition(entry.function) for entry in generated}
    source = vendor_source(lambda function: function.name not in printing) + "\n".join(printing.values())
    library = build(tmp_path / "libascendcl.so", source=source)
    # With one device, it is known where a new event lives; otherwise aclrtGetDevice is asked.
    calls, expected = [("acl.rt.set_device", [0])], ["aclrtGetCurrentContext"]  # the primary one, whose end is known
    for entry in generated:
        arguments = [f"text{number}" if p.letter == "s" else number for number, p in enumerate(entry.parameters, 1)]
        calls.append((entry.full_name, arguments))
        expected.append(" ".join([entry.function.name, *map(str, arguments)]))

    printed = [line for line in run_calls(run, library, calls) if not line.startswith("= ")]

    # Outputs are addresses, and wherever C wants them.
    assert [re.sub(r" -?\d{4,}", "", line) for line in printed] == expected


def test_a_library_without_the_function_answers_that_it_is_not_supported(build: Any, run: Any, tmp_path: Path) -> None:
    library = build(tmp_path / "libascendcl.so")  # a release that has neither
    calls = [("acl.rt.get_event_avail_num", []), ("acl.rt.get_function_name", [1, 8]), ("acl.rt.create_event", [])]

    assert run_calls(run, library, calls) == ["= [0, 207000]", '= ["", 207000]', "= [0, 0]"]


def test_profiling_opens_the_library_that_has_it(build: Any, vendor_source: Any, run: Any, tmp_path: Path) -> None:
    library = build(tmp_path / "libascendcl.so")
    source = vendor_source(lambda function: function.family == "profiling")
    build(tmp_path / "libmsprofiler.so", source=source, CODE=107)

    assert run_calls(run, library, [("acl.prof.finalize", []), ("acl.prof.init", ["/"])]) == ["= 107", "= 107"]
