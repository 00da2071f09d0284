# SPDX-License-Identifier: Apache-2.0
"""When the steps of a pipeline were made: as a picture in the terminal, and as a trace for a viewer."""

from __future__ import annotations

import json
from typing import NamedTuple

_WIDTH = 64
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Span(NamedTuple):
    """One step.

    Attributes
    ----------
    stage : str
        Which one.
    begin_ms, end_ms : float
        When, in milliseconds from the beginning of the pipeline.
    """

    stage: str
    begin_ms: float
    end_ms: float


def draw(chunks: list[list[Span]]) -> list[str]:
    """Return one line per stage, in which each chunk has a digit of its own, and the length of the picture."""
    spans = [(number, span) for number, chunk in enumerate(chunks) for span in chunk]
    begin = min(span.begin_ms for _, span in spans)
    scale = _WIDTH / max(max(span.end_ms for _, span in spans) - begin, 1e-6)
    lines = {span.stage: [" "] * _WIDTH for _, span in spans}
    for number, span in spans:
        first = min(int((span.begin_ms - begin) * scale), _WIDTH - 1)
        last = max(min(int((span.end_ms - begin) * scale), _WIDTH), first + 1)
        lines[span.stage][first:last] = _DIGITS[number % len(_DIGITS)] * (last - first)
    ruler = f"{'':28}0{f'{_WIDTH / scale:.1f} ms':>{_WIDTH - 1}}"
    return [f"          {stage:<17}|{''.join(line)}|" for stage, line in lines.items()] + [ruler]


def write(path: str, chunks: list[list[Span]]) -> None:
    """Write all steps to a file, in the format of Perfetto and chrome://tracing."""
    stages = list(dict.fromkeys(span.stage for chunk in chunks for span in chunk))
    events: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": i, "args": {"name": stage}}
        for i, stage in enumerate(stages)
    ]
    events += [
        {
            "name": f"chunk {number}",
            "cat": span.stage,
            "ph": "X",
            "pid": 0,
            "tid": stages.index(span.stage),
            "ts": 1000 * span.begin_ms,
            "dur": 1000 * (span.end_ms - span.begin_ms),
        }
        for number, chunk in enumerate(chunks)
        for span in chunk
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)
