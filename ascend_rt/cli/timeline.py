# SPDX-License-Identifier: Apache-2.0
"""The times of a pipeline's steps: as a picture in the terminal, and as a trace for a viewer."""

from __future__ import annotations

import json
from typing import NamedTuple

from ascend_rt.cli import terminal

_MOST_COLUMNS, _FEWEST_COLUMNS = 64, 8  # the picture's width
_MARGIN = 28  # to the left of it
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Span(NamedTuple):
    """One step.

    Attributes
    ----------
    stage : str
        The stage that it belongs to.
    begin_ms, end_ms : float
        Its times, in milliseconds from the beginning of the pipeline.
    """

    stage: str
    begin_ms: float
    end_ms: float


def draw(chunks: list[list[Span]]) -> list[str]:
    """Return one line per stage, in which each chunk is a digit, and a ruler."""
    columns = max(_FEWEST_COLUMNS, int(min(_MOST_COLUMNS, terminal.width() - _MARGIN - 1)))
    spans = [(number, span) for number, chunk in enumerate(chunks) for span in chunk]
    begin = min(span.begin_ms for _, span in spans)
    scale = columns / max(max(span.end_ms for _, span in spans) - begin, 1e-6)
    lines = {span.stage: [" "] * columns for _, span in spans}
    for number, span in spans:
        first = min(int((span.begin_ms - begin) * scale), columns - 1)
        last = max(min(int((span.end_ms - begin) * scale), columns), first + 1)
        lines[span.stage][first:last] = _DIGITS[number % len(_DIGITS)] * (last - first)
    ruler = f"{'':{_MARGIN}}0{f'{columns / scale:.1f} ms':>{columns - 1}}"
    return [f"{'':10}{stage:<17}|{''.join(line)}|" for stage, line in lines.items()] + [ruler]


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
    with terminal.explained(f"write {path}"), open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)
