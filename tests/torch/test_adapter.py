# SPDX-License-Identifier: Apache-2.0
"""PyTorch's adapter as the package index has it: devices, streams, memory, processes and graphs, no operators."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest
from support.torch_release import before

pytestmark = pytest.mark.simulator("independent")

Program = Callable[..., Any]


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("910B", "Ascend910B1"),
        ("910", "Ascend910A"),
        *(
            pytest.param(*pair, marks=pytest.mark.full)
            for pair in [
                ("910C", "Ascend910_9391"),
                ("310B", "Ascend310B1"),
                ("310P", "Ascend310P3"),
            ]
        ),
        pytest.param(
            *("950", "Ascend950PR"),
            marks=[pytest.mark.full, before(2, 12, "it refuses copies between devices of this product")],
        ),
    ],
)
def test_it_starts_on_every_product(program: Program, product: str, name: str) -> None:
    found = program("start.py", ASCEND_RT_SIM_PRODUCT=product, ASCEND_RT_SIM_DEVICES="3")
    assert found["version"] == metadata.version("torch_npu")
    assert (found["devices"], found["name"]) == (3, name)
    assert found["memory"] > 1 << 30


@pytest.mark.parametrize("name", ["streams", "memory", "threads", "processes", "graph"])
def test_without_operators(program: Program, name: str) -> None:
    assert program(f"{name}.py") == name


def test_segments_that_grow(program: Program) -> None:
    assert program("memory.py", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True") == "memory"


def test_without_run() -> None:
    code = "import ascend_rt.torch, torch; print((torch.ones(2, device='npu') + 1).cpu().tolist())"
    environment = {**os.environ, "LD_LIBRARY_PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[2.0, 2.0]"


@pytest.mark.parametrize(("way", "code"), [("return", 0), ("exit", 3), ("raise", 1)])
def test_the_end_with_work_in_a_stream(program: Program, way: str, code: int) -> None:
    assert program("ending.py", way, code=code) == "ending"
