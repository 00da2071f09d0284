# SPDX-License-Identifier: Apache-2.0
"""MindSpore on the simulator: it is loaded, and says what is missing."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

import pytest

from ascend_rt.backends.sim import companion_directory

pytestmark = [
    pytest.mark.simulator("internals", "the libraries are the simulator's"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="MindSpore looks for CANN on Linux alone"),
]

SENTENCE = "RuntimeWarning: The simulator has no operators for MindSpore and no graph engine"


def graph_function(symbol: str):
    return getattr(ctypes.CDLL(str(companion_directory() / "libgraph.so")), symbol)


def test_the_factory_of_error_texts_is_a_map_that_is_empty() -> None:
    instance = graph_function("_ZN2ge13StatusFactory8InstanceEv")
    instance.restype = ctypes.c_void_p
    [factory] = {instance() for _ in range(2)}
    color, parent, leftmost, rightmost, size = (ctypes.c_size_t * 5).from_address(factory + 8)
    assert (color & 0xFFFFFFFF, parent, size) == (0, 0, 0)
    assert leftmost == rightmost == factory + 8  # the header's address


def test_operators_are_registered_without_effect() -> None:
    symbol = "_ZN2ge23OperatorCreatorRegisterC1EPKcRKSt8functionIFNS_8OperatorERKNS_12AscendStringEEE"
    graph_function(symbol)(None, b"Add", None)


def test_builders_of_graphs_raise_an_exception_with_a_text(run) -> None:
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1])._ZN2ge6TensorC1Ev(None)"
    done = run("-c", script, companion_directory() / "libgraph.so")
    assert done.returncode < 0  # a C program without a handler
    assert "ge::Tensor::Tensor(): the simulator has no graph engine, so MindSpore cannot build graphs" in done.stderr


@pytest.fixture
def imitation(tmp_path: Path) -> Path:
    """Return the directory of a package that chooses devices like MindSpore."""
    package = tmp_path / "mindspore"
    package.mkdir()
    (package / "__init__.py").write_text("from mindspore.device_manager import *\n", encoding="utf-8")
    (package / "device_manager.py").write_text(
        "def set_device(device_target, device_id=None):\n"
        "    'Choose.'\n"
        "    if device_target not in ('CPU', 'Ascend'):\n"
        "        raise ValueError(device_target)\n"
        "    print(device_target, device_id, flush=True)\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize(
    ("call", "printed", "warned"),
    [
        ("set_device('Ascend', 1)", "Ascend 1\n", True),
        ("set_device(device_target='Ascend')", "Ascend None\n", True),
        ("set_device('CPU')", "CPU None\n", False),
        ("set_device('TPU')", "", False),
    ],
)
def test_the_choice_of_a_device_says_what_is_missing(
    run, imitation: Path, call: str, printed: str, warned: bool
) -> None:
    script = f"import mindspore; assert mindspore.set_device.__doc__ == 'Choose.'; mindspore.{call}"
    done = run("-m", "ascend_rt", "run", "--backend", "sim", "-c", script, PYTHONPATH=imitation)
    assert done.stdout == printed
    assert done.returncode == (0 if printed else 1)
    assert done.stderr.count(SENTENCE) == warned


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="needs MindSpore")
def test_mindspore_is_loaded_and_refuses_an_operator(run) -> None:
    script = (
        "import mindspore as m\n"
        "m.set_device('Ascend')\n"
        "a = m.Tensor([1.0, 2.0])\n"
        "try:\n    print(a + a)\nexcept RuntimeError as error:\n    print('refused', error)\n"
    )
    done = run("-m", "ascend_rt", "run", "--backend", "sim", "-c", script)
    assert done.returncode == 0, done.stderr
    assert SENTENCE in done.stderr
    assert "refused aclnnAddGetWorkspaceSize " in done.stdout
