# SPDX-License-Identifier: Apache-2.0
"""The pipeline of ``ascend-rt demo`` on a modelled card, for hosts whose copies gain nothing from a second stream.

The simulator copies with the processors of the host, all through the same memory. A profile of costs
(``ASCEND_RT_SIM_PROFILE``) gives each copy the time of a card instead, divided by a factor, because a task never ends
before the simulator has done its work. The result says how the pipeline behaves if copies have engines apart from the
host's memory; it is not a measurement of a card.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ascend_rt.cli.terminal import CommandError

# Pinned memory of the host, 4 MiB, to a 910B4 under CANN 8.5.0 (deepspeedai/DeepSpeed#8531); the way back is taken to
# be as fast. No copy within a device is known, so that one takes what the simulator needs.
CARD_BYTES_PER_US = 23_000
SLOWDOWN = 20
_COPIES = {"host to device": "copy_host_to_device", "device to host": "copy_device_to_host"}

_BYTES = 16 << 20
_CHUNK_MIB = 1
_TOLERANCE = 1.25  # ratio of the copies' time to their cost, above which the host was too slow for the model
_SECONDS = 20  # for a run that takes half a second


def profile() -> dict[str, Any]:
    """Return the profile of costs."""
    rate = {"bytes_per_us": CARD_BYTES_PER_US // SLOWDOWN}
    return {"profile": {"format": 1, "costs": dict.fromkeys(_COPIES.values(), rate)}}


def run() -> float | None:
    """Return how many times as fast the pipeline is at most; None if this host is too busy for the model.

    The demo runs in another process, because a profile is read once, at the first call.
    """
    with tempfile.TemporaryDirectory() as directory:
        measured, sent = Path(directory, "profile.json"), Path(directory, "sent")
        measured.write_text(json.dumps(profile()), encoding="utf-8")
        sent.write_bytes(os.urandom(_BYTES))
        options = ["--backend", "sim", "--json", "--chunk-mib", str(_CHUNK_MIB)]
        others = {name: value for name, value in os.environ.items() if name != "ASCEND_RT_SIM_FAULTS"}
        command = [sys.executable, "-m", "ascend_rt", "demo", *options, str(sent)]
        variables = {**others, "ASCEND_RT_SIM_PROFILE": str(measured)}
        try:
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return None
    if done.returncode != 0:
        raise CommandError(f"the run on a modelled card failed: {done.stderr.strip() or done.stdout.strip()}")
    return _read(json.loads(done.stdout))


def _read(report: dict[str, Any]) -> float | None:
    """Return the gain by the times of the stages, because the time of the whole depends on this host, too.

    The slowest stage bounds a pipeline; the others add the time of a chunk, at its ends.
    """
    cost_ms = report["bytes"] / (CARD_BYTES_PER_US // SLOWDOWN) / 1e3
    stages = report["stage_ms"]
    if max(stages[stage] for stage in _COPIES) > _TOLERANCE * cost_ms:
        return None
    total, slowest = sum(stages.values()), max(stages.values())
    return float(total / (slowest + (total - slowest) / report["chunks"]))


def in_words(gain: float | None) -> list[str]:
    """Return the lines of the report."""
    if gain is None:
        return ["modelled  not shown: this host is too busy for the model; try again when it is idle"]
    return [
        f"modelled  at most {gain:.2f} times as fast as one step after the other, on a card that copies",
        f"          in both directions at once. Not measured on a card: by stages that took {SLOWDOWN} times",
        f"          as long as on a 910B, which copies {CARD_BYTES_PER_US / 1000:.0f} GB/s each way",
    ]
