# SPDX-License-Identifier: Apache-2.0
"""The README's example, and arrays, have the right types for mypy and pyright, in every supported version of Python."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.simulator("independent")

README = Path(__file__).resolve().parents[3] / "README.md"


ARRAYS = """
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

from ascend_rt import Buffer, ManagedBuffer, PinnedBuffer

buffer = Buffer.from_array(np.zeros(4, np.float32))
assert_type(buffer, Buffer)
assert_type(ManagedBuffer.from_array(b"bytes"), ManagedBuffer)
assert_type(buffer.to_numpy(), NDArray[np.uint8])
assert_type(buffer.to_numpy(shape=(4, 4)), NDArray[np.uint8])
assert_type(buffer.to_numpy(np.float32), NDArray[np.float32])
assert_type(buffer.to_numpy(np.dtype(np.int64), 2), NDArray[np.int64])
assert_type(buffer.to_numpy("f4", (2, 2)), NDArray[Any])
assert_type(PinnedBuffer(16), PinnedBuffer[np.uint8])
assert_type(PinnedBuffer.empty(16), PinnedBuffer[np.float32])
assert_type(PinnedBuffer.empty((4, 4), np.int32), PinnedBuffer[np.int32])
assert_type(PinnedBuffer.empty((4, 4), "i4"), PinnedBuffer[Any])
assert_type(PinnedBuffer.from_array(np.zeros(4, np.float16)), PinnedBuffer[np.float16])


def first(pinned: PinnedBuffer) -> int:  # bytes, if nothing else is said
    return int(pinned[0])


with PinnedBuffer.empty(3) as three:
    three[:] = 1.5
    total: NDArray[np.float32] = three
first(PinnedBuffer(16))
"""


def _readme() -> str:
    found = re.search(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


FOREIGN = """
from ascend_rt import Event, Stream


class Foreign:
    npu_stream = 7


class WithProtocol:
    def __ascend_stream__(self) -> tuple[int, int]:
        return 0, 7


stream = Stream()
stream.wait(Event())
stream.wait(Stream())
stream.wait(Foreign())
stream.wait(WithProtocol())
Stream.from_foreign(Foreign())
stream.wait(7)  # type: ignore
"""


def _two_processes() -> str:
    return (README.parent / "examples" / "two_processes.py").read_text(encoding="utf-8")


PROGRAMS = {"README": _readme, "arrays": lambda: ARRAYS, "foreign": lambda: FOREIGN, "processes": _two_processes}


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a program."""
    path = tmp_path / "example.py"
    path.write_text(request.param(), encoding="utf-8")
    return path


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
@pytest.mark.parametrize(
    ("checker", "options"),
    [
        ("mypy", ["--strict", "--python-version"]),
        ("pyright", ["--warnings", "--pythonpath", sys.executable, "--pythonversion"]),
    ],
    ids=["mypy", "pyright"],
)
def test_the_example_has_correct_types(example: Path, checker: str, options: list[str], version: str) -> None:
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed (the extra dev)")
    if subprocess.run([sys.executable, "-m", checker, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{checker} does not start; that of PyPI fetches its larger part at its first use")
    command = [sys.executable, "-m", checker, *options, version, example.name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=example.parent, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
