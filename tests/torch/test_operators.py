# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch on the simulated device, against the CPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

Program = Callable[..., Any]
Require = Callable[..., None]

DATA = Path(__file__).resolve().parents[1] / "data"

# An entry of torch's database that the device refuses with or without a graph.
NOT_ON_THE_DEVICE = ("tensor_split",)


@pytest.mark.parametrize(
    "name",
    [
        "operators",
        "order",
        "inference",
        "refusals",
        "graph_operators",
        "features",
        "formulas",
        "arguments",
        "peak_memory",
        "precision",
        "recurrent",
        "layouts",
        "restarting",
        "interrupted",
    ],
)
def test_program(program: Program, name: str) -> None:
    assert program(f"{name}.py") == name


def test_program_with_freed_memory_that_changes(program: Program) -> None:
    # A kernel that uses a tensor after its end would often find it unchanged otherwise.
    assert program("several_outputs.py", MALLOC_PERTURB_="165") == "several_outputs"


def test_formulas_in_graphs(program: Program) -> None:
    # The amount of work is in the data.
    assert program("formulas.py", "captured") == ["npu_grouped_matmul"]


@pytest.mark.parametrize("every", [13, pytest.param(3, marks=pytest.mark.full)])
def test_operators_in_graphs(program: Program, require: Require, every: int) -> None:
    require("expecttest")
    for name, reason in program("../graph_sweep.py", str(every)).items():
        assert "cannot be captured, because the host has to wait for it" in reason or name in NOT_ON_THE_DEVICE, reason


@pytest.mark.parametrize("every", [53, pytest.param(11, marks=pytest.mark.full)])
def test_operators_in_all_ways(program: Program, require: Require, every: int) -> None:
    """Directly, without data, compiled, under autocast, with channels last, nested and sparse, as recorded."""
    require("expecttest")
    recorded = json.loads((DATA / "torch_operators.json").read_text(encoding="utf-8"))["results"]
    for name, problems in program("../operator_sweep.py", str(every)).items():
        assert problems == {kind: text for kind, text in recorded[name].items() if kind in problems}, name


@pytest.mark.parametrize(("first", "count"), [(0, 60), pytest.param(1000, 1500, marks=pytest.mark.full)])
def test_random_programs(program: Program, first: int, count: int) -> None:
    assert program("random_programs.py", str(first), str(count)) == "random_programs"


def test_gradients(program: Program, require: Require) -> None:
    require("expecttest")
    assert program("gradients.py") == "gradients"


def test_without_memory_left(program: Program, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    limits = {"memory_bytes": 1 << 30, "free_memory_bytes": 3 << 28}
    profile.write_text(json.dumps({"profile": {"format": 1, "limits": limits}}))
    assert program("exhausted.py", ASCEND_RT_SIM_PROFILE=str(profile)) == "exhausted"


def test_operators_cost_what_a_profile_says(program: Program, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    costs = {"kernel": {"ns": 1e6, "bytes_per_us": 1000}, "kernels": {"aten::neg": {"ns": 5e6}}}
    profile.write_text(json.dumps({"profile": {"format": 1, "costs": costs}}))
    found = program("operator_costs.py", ASCEND_RT_SIM_PROFILE=str(profile))
    least = 4, 2, 5, 4  # milliseconds
    assert all(lasted >= wanted - 1e-3 for lasted, wanted in zip(found, least, strict=True)), found


def test_one_after_the_other(program: Program) -> None:
    assert program("operators.py", ASCEND_LAUNCH_BLOCKING="1") == "operators"


@pytest.mark.parametrize(
    "models",
    [
        ("gpt2", "llama", "qwen2_moe"),
        pytest.param(("mistral", "qwen2", "qwen3", "gemma2", "phi3", "opt"), marks=pytest.mark.full),
        pytest.param(("glm4", "gpt_neox", "bloom", "mamba", "mixtral", "qwen3_moe"), marks=pytest.mark.full),
    ],
    ids=lambda models: models[0],
)
def test_language_models_of_transformers(program: Program, require: Require, models: tuple[str, ...]) -> None:
    require("transformers")
    assert program("language_models.py", *models, HF_HUB_OFFLINE="1") == list(models)


@pytest.mark.parametrize(
    "models",
    [("bert", "clip", "whisper"), pytest.param(("vit", "t5", "wav2vec2"), marks=pytest.mark.full)],
    ids=lambda models: models[0],
)
def test_models_of_texts_images_and_sounds(program: Program, require: Require, models: tuple[str, ...]) -> None:
    require("transformers")
    assert program("encoders.py", *models, HF_HUB_OFFLINE="1") == list(models)


@pytest.mark.parametrize(
    ("library", "function"),
    [
        ("accelerate", "trainer"),  # the one of transformers, which uses accelerate
        ("accelerate", "accelerate"),
        ("peft", "peft"),
        ("lightning", "lightning"),
        ("diffusers", "diffusers"),
    ],
    ids=lambda each: each,
)
def test_libraries_that_train(program: Program, require: Require, library: str, function: str) -> None:
    require("transformers", library)
    assert program("libraries.py", function, HF_HUB_OFFLINE="1") == [function]


@pytest.mark.parametrize(
    ("model", "optimizer"), [("mlp", "adam"), ("cnn", "sgd"), ("cnn", "adam"), ("transformer", "adamw")]
)
def test_training_has_the_losses_of_the_cpu(program: Program, model: str, optimizer: str) -> None:
    on_cpu, on_device = program("training.py", model, optimizer)
    assert on_cpu[-1] < on_cpu[0]
    assert on_device == pytest.approx(on_cpu, rel=1e-6, abs=0)


@pytest.mark.parametrize("who", ["synchronize", "stream", "copy", "item", "size", "operator"])
def test_a_failure_reaches_who_waits(program: Program, who: str) -> None:
    assert program("failing.py", who) == "failing"


def test_a_failure_reaches_the_caller_that_waits_for_each(program: Program) -> None:
    assert program("failing.py", "call", ASCEND_LAUNCH_BLOCKING="1") == "failing"


@pytest.mark.parametrize(("way", "code"), [("return", 0), ("exit", 3), ("raise", 1)])
def test_the_end_with_operators_in_a_stream(program: Program, way: str, code: int) -> None:
    assert program("ending_operators.py", way, code=code) == "ending"


def test_operators_declare_what_they_access(program: Program) -> None:
    used = ["read", "written", "out", "in a list", "a transposed view"]
    found = program("declared.py", ASCEND_RT_SIM_CHECK="memory")
    assert found == {**dict.fromkeys(used, 1), "not used": 0}
