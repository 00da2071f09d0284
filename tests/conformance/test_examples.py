# SPDX-License-Identifier: Apache-2.0
"""The examples of CANN's runtime repository: their sequences of calls succeed here, and compute what they are to.

The programs are in ``support/examples.py``; docs/examples.md says which example each one is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.examples import NUMBERS, SOURCE
from support.kernels import compile_kernels

pytestmark = pytest.mark.simulator("kernels")

QUEUE_FULL = 207014
SOFTWARE_QUEUES = {"ASCEND_RT_SIM_SOFTWARE_QUEUES": "1"}
X, Y = np.arange(1, 9, dtype=np.float32), np.full(8, 2, np.float32)
HALVES = np.arange(1, 9, dtype=np.float32) / 2

EXAMPLES = "import runpy\nrunpy.run_module('support.examples', run_name='__main__')"

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_kernels(tmp_path_factory.mktemp("examples"), SOURCE)


@pytest.fixture
def run(answer: Callable[..., Any], kernels: Path) -> Run:
    """Return a function that runs an example in a separate process, and returns its results."""

    def run(name: str, **environment: str) -> Any:
        return answer(EXAMPLES, (name, kernels), environment)

    return run


def test_kernel_launch_kernel(run: Run) -> None:
    assert run("launch_kernel_simple") is True
    assert run("launch_kernel_placeholder") is True


def test_kernel_launch_kernel_with_reslimit(run: Run) -> None:
    assert run("launch_kernel_with_reslimit") == [8, 8]


def test_label_simple_label(run: Run) -> None:
    assert run("simple_label") == "done"


def test_model_ri_simple_model(run: Run) -> None:
    is_printed, *results = run("simple_model")
    assert is_printed
    assert len(results) == 4
    for result in results:
        np.testing.assert_allclose(result, (X + Y * 1.1) * Y, rtol=1e-6)


def test_model_ri_model_update(run: Run) -> None:
    first, second = run("model_update")
    np.testing.assert_allclose(first, X + Y * 1.1 + Y * 1.1, rtol=1e-6)
    np.testing.assert_allclose(second, X + Y * 1.1 + Y * 2.2, rtol=1e-6)


def test_model_ri_model_switch(run: Run) -> None:
    sums = [(i + 2 * 1.2) * np.ones(8) for i in (1, 2, 3)]
    chosen_one, chosen_two = run("model_switch")
    np.testing.assert_allclose(chosen_one, [sums[0], np.zeros(8), sums[2]], rtol=1e-6)
    np.testing.assert_allclose(chosen_two, sums, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "with_default", "written"),
    [("cond_if", (0.5, 0.5), (2, 0.5)), ("cond_while", (None,), (1,)), ("cond_switch", (1, 1, 1), (1, 2, 0.5))],
)
def test_model_ri_cond_model(
    name: str, with_default: tuple[float | None, ...], written: tuple[float, ...], run: Run
) -> None:
    """The first results are those that the example's own documentation shows; None: the loop is not entered."""
    for scales, results in zip((with_default, written), run(name, **SOFTWARE_QUEUES), strict=True):
        expected = [np.zeros(8) if scale is None else X + HALVES * scale for scale in scales]
        np.testing.assert_allclose(results, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["stream_record_graph_wait", "graph_record_stream_wait", "graph_record_graph_wait"])
def test_model_ri_model_sync_external(name: str, run: Run) -> None:
    assert run(name, **SOFTWARE_QUEUES) == list(range(1, 9))


def test_host_register_simple_zero_copy(run: Run) -> None:
    assert run("simple_zero_copy") == [3]


@pytest.mark.parametrize(("product", "result"), [("910B", True), ("910", None)])
def test_managed_memory_uvm_allocate(product: str, result: bool | None, run: Run) -> None:
    assert run("uvm_allocate", ASCEND_RT_SIM_PRODUCT=product) is result


def test_built_in_task_reduce_task(run: Run) -> None:
    assert run("reduce_task") == [2, 4, 6, 8]


def test_built_in_task_random_num_task(run: Run) -> None:
    """The examples print numbers; here they lie where the distribution has them, and are not all the same."""
    normal, truncated, uniform, integers, mask = run("random_num_task")
    assert abs(np.mean(normal) - 3) < 6 * 2 / NUMBERS**0.5
    assert min(truncated) >= 1 - 2 * 2.02  # two standard deviations, and the rounding of the type
    assert max(truncated) <= 1 + 2 * 2.02
    assert 1 <= min(uniform) <= max(uniform) <= 2
    assert 1 <= min(integers) <= max(integers) <= 100
    kept = np.unpackbits(np.array(mask, np.uint8)).mean()
    assert abs(kept - 0.6) < 6 * 0.5 / NUMBERS**0.5
    assert all(len(set(numbers)) > NUMBERS // 16 for numbers in (normal, truncated, uniform, integers))


def test_profiling_create_config(run: Run) -> None:
    assert run("create_config") == 1


def test_profiling_msproftx(run: Run) -> None:
    ranges, steps = run("msproftx")
    assert ranges == {
        "model_load_mark": "marker",
        "forward_pass_push": "push/pop",
        "operator_dispatch_push": "push/pop",
        "preprocess_range": "start/end",
        "model_exec_mark": "marker",
    }
    assert steps == 1


def test_adump_save_exception_info(run: Run) -> None:
    values, is_placed = run("save_exception_info")
    assert values == [*range(8), *range(1, 9), *range(2, 10)]
    assert is_placed


def test_tdt_channel_simple_channel(run: Run) -> None:
    item = [1, 0, 0, 16, [1, 4], 1.0]
    assert run("simple_channel") == [item, 1, item, 0]


def test_tdt_channel_channel_capacity(run: Run) -> None:
    assert run("channel_capacity") == [0, 0, 0, "", 1, 2, QUEUE_FULL]


def test_tdt_queue_simple_queue(run: Run) -> None:
    assert run("simple_queue") == ["simple_queue", 4]


def test_tdt_queue_queue_route(run: Run) -> None:
    assert run("queue_route") == [1, True]
