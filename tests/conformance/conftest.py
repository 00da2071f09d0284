# SPDX-License-Identifier: Apache-2.0
"""Calls of the C functions by table, programs under the memory check, and objects that many tests make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.codes import INTERNAL, OK
from support.dead_handles import first_dead
from support.graphs import Graph
from support.memory_check import PRELUDE, Program, Run
from support.memory_pools import MakePool, Pool
from support.programs_in_forks import Programs

from ascend_rt import Buffer, Device, fill

GARBAGE = 0x1234567800
PLAYER = "from ascend_rt_measure.verify import player\nplayer.main()"


@pytest.fixture(scope="session")
def followed(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Callable[[list[list[Any]]], str | None]:
    """Return a function that finds the first call of a table in which the library under test follows a dead handle."""
    if pytestconfig.getoption("--backend") == "sim":
        return lambda rows: None
    functions = {function.name: function for function in request.getfixturevalue("declared").functions}
    return lambda rows: first_dead(rows, functions)


@pytest.fixture(scope="session")
def calls(answer: Callable[..., Any], followed: Callable[..., str | None]) -> Callable[..., list[Any]]:
    """Return a function that makes calls in a new process and returns ``[code, outputs]`` of each.

    A row is a function with its arguments as ``measure/ascend_rt_measure/verify/player.py`` takes them.
    """

    def make(rows: list[list[Any]], **environment: object) -> list[Any]:
        may_die = followed(rows) is not None
        return list(answer(PLAYER, (), environment, standard_input=json.dumps(rows), lines=True, may_die=may_die))

    return make


@pytest.fixture
def check(lib: Any, ffi: Any, followed: Callable[..., str | None]) -> Callable[..., None]:
    """Return a function that makes the calls of a table, ``(function, arguments, code)``, and compares the codes.

    Words among the arguments are looked up, "NULL" is NULL. Garbage must not be passed to a library that follows it.
    """

    def make(rows: list[tuple[str, tuple[Any, ...], int]], **values: Any) -> None:
        values["NULL"] = ffi.NULL
        for row in rows:
            function, arguments, code = row
            if followed([[function, *(GARBAGE if it == "garbage" else None for it in arguments)]]):
                continue
            call = getattr(lib, function)
            types = ffi.typeof(call).args
            given = [
                values[it] if isinstance(it, str) else int(ffi.cast(c_type, it))  # -1 is an enumerator too
                for it, c_type in zip(arguments, types, strict=True)
            ]
            assert call(*given) == code, row

    return make


@pytest.fixture
def run_checked(tmp_path: Path, programs: Programs) -> Run:
    """Return a function that runs a program with the memory check; see support/memory_check.py."""

    def start(script: str, check: str | None = "memory", prelude: str = PRELUDE) -> Program:
        return Program(programs, script, tmp_path / "program.py", check, prelude)

    return start


@pytest.fixture
def make_pool(lib: Any, ffi: Any, device: Device) -> Iterator[MakePool]:
    """Return a function that creates a memory pool; all are destroyed after the test."""
    made: list[Pool] = []

    def make(size: int = 0) -> Pool:
        made.append(Pool(lib, ffi, size))
        return made[-1]

    yield make
    for pool in made:
        assert pool.destroy() in (OK, INTERNAL)
    device.synchronize()


@pytest.fixture
def memory(device: Device) -> Iterator[Buffer]:
    """Return 4096 bytes of device memory, all 0."""
    with Buffer(4096) as memory:
        fill(memory, 0)
        yield memory


@pytest.fixture
def notify(lib: Any, ffi: Any, device: Device) -> Iterator[Any]:
    """Return a notify of device 0."""
    out = ffi.new("aclrtNotify *")
    assert lib.aclrtCreateNotify(out, 0) == OK
    yield out[0]
    assert lib.aclrtDestroyNotify(out[0]) == OK


@pytest.fixture
def graph(lib: Any, ffi: Any, device: Any) -> Iterator[Graph]:
    graph = Graph(lib, ffi)
    yield graph
    graph.close()


@pytest.fixture
def cell(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    """Eight bytes of device memory that hold 0."""
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 64, 0) == OK
    assert lib.aclrtMemset(out[0], 64, 0, 64) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK
