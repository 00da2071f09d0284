#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare PyTorch's operators on the simulated device with the CPU, and make the guide's table of the results.

``torch_operators.py record`` runs the samples of torch's own database of operators (tests/torch/operator_sweep.py; it
needs the extra "torch" and expecttest) and writes tests/data/torch_operators.json; names after it run these entries
again and keep the others. ``torch_operators.py table`` makes
docs/torch_operators.md of that file; with ``--check`` it only says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWEEP = ROOT / "tests" / "torch" / "operator_sweep.py"
DATA = ROOT / "tests" / "data" / "torch_operators.json"
PAGE = ROOT / "docs" / "torch_operators.md"

Results = dict[str, dict[str, str]]  # by entry of the database, by type: "run", "untested" or what went wrong

_NO_QR = "torch_npu's autocast passes `bfloat16` on to the QR decomposition, which has no kernel for it"

# Why a result differs, where the simulator has no part in it.
NOTES = {
    "nn.functional.linear_cross_entropy:chunked_none": "torch itself sums in float32 on the CPU and CUDA alone, by the "
    "device's name; with the same `acc_policy` and `acc_dtype` the results are equal",
    "nn.functional.binary_cross_entropy": "torch itself, for every device but the CPU",
    "pca_lowrank": _NO_QR,
    "svd_lowrank": _NO_QR,
    "tensor_split": "torch itself wants this tensor on the CPU; it takes it there",
}

# Names on the page of the ways to call an operator.
WAYS = {
    "": "called directly",
    "fake": "without data (`FakeTensorMode`)",
    "compiled": '`torch.compile(backend="eager")`',
    "autocast": "under `torch.autocast`",
    "channels_last": "with `channels_last`",
    "nested": "with nested tensors",
    "sparse_coo": "with sparse tensors",
    "sparse_csr": "with compressed sparse tensors",
}

_RUN = (sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", str(SWEEP))


def names() -> list[str]:
    """Return the entries of torch's database."""
    return _printed("--names")


def of_kind(kind: str) -> list[str]:
    """Return the operators that are refused, or that are a formula."""
    return _printed(f"--{kind}")


def _printed(option: str) -> list[str]:
    printed = subprocess.run([*_RUN, option], capture_output=True, text=True, check=True).stdout
    found: list[str] = json.loads(printed.splitlines()[-1])  # torch_npu prints as well
    return found


def sweep(waiting: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the result of one entry after the other; a program that ends before the last is started again."""
    while waiting:
        done = 0
        for name, result in _some(waiting):
            done += 1
            yield name, result
        if done == 0:
            yield waiting[0], {"all": "the program ends"}
            done = 1
        waiting = waiting[done:]


def _some(waiting: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    with subprocess.Popen(_RUN, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        feeder = threading.Thread(target=_feed, args=(program, waiting))
        feeder.start()
        for line in program.stdout:
            if line.startswith('["'):
                name, result = json.loads(line)
                yield name, result
        feeder.join()


def _feed(program: subprocess.Popen[str], waiting: list[str]) -> None:
    assert program.stdin is not None
    try:
        program.stdin.write("\n".join(waiting))
        program.stdin.close()
    except BrokenPipeError:  # it has ended before it has read everything, and is started again for the rest
        return


def record(chosen: list[str]) -> None:
    """Run everything, or what is chosen, and write what came of it."""
    results: Results = json.loads(DATA.read_text())["results"] if chosen else {}
    for name, result in sweep(chosen or names()):
        results[name] = result
        print(name, result, flush=True)
    write(results)


def write(results: Results) -> None:
    """Write what came of the database, and which operators have a formula or are refused."""
    data = {"results": results, "refused": of_kind("refused"), "formulas": of_kind("formula")}
    DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


def page(data: dict[str, object]) -> str:
    """Return the page of the guide."""
    results: Results = data["results"]  # type: ignore[assignment]
    without: list[str] = data["refused"]  # type: ignore[assignment]
    formulas: list[str] = data["formulas"]  # type: ignore[assignment]
    groups: dict[str, list[str]] = {"run": [], "refused": [], "untested": []}
    for name, by_type in sorted(results.items()):
        groups[_verdict(by_type)].append(name)
    lines = [
        "<!-- Generated by tools/torch_operators.py; do not edit. -->",
        "# Operators of PyTorch on the simulator",
        "",
        "This page compares PyTorch's operators on the simulated device with the CPU. It runs the samples of torch's",
        "own database of operators on both. The results must have the same types, sizes and values, for each type of",
        "number that was tried; random numbers must have the same type and size. An entry of the database may cover",
        "several operators of PyTorch. With `float32` each entry is also called in other ways, with the samples that",
        "the CPU takes in the same way. There are no values to compare without data; under `torch.autocast` only sizes",
        "are compared, because each kind of device has another list of types.",
        "",
        "| Result | Operators |",
        "|---|---|",
        f"| run | {len(groups['run'])} |",
        f"| refused or different, for at least one type | {len(groups['refused'])} |",
        f"| untested: no sample has one of the tried types | {len(groups['untested'])} |",
        "| by a documented formula: torch_npu's own operators, cells of recurrent networks, and SyncBatchNorm "
        f"| {len(formulas)} |",
        f"| torch_npu's own operators, and others without a kernel for the CPU: refused | {len(without)} |",
        "",
        "| Way to call | Run | Refused or different |",
        "|---|---|---|",
        *(f"| {text} | {_count(results, way, 'run')} | {_count(results, way, '')} |" for way, text in WAYS.items()),
        "",
        "## Refused or different",
        "",
        "| Operator | Types | Reason |",
        "|---|---|---|",
    ]
    for name in groups["refused"]:
        for reason, types in sorted(_reasons(results[name]).items()):
            if name in NOTES:
                reason = f"{reason.rstrip('!')}: {NOTES[name]}"
            lines.append(f"| `{name}` | {'; '.join(types)} | {reason.replace('|', chr(92) + '|')} |")
    found = {
        "runs": groups["run"],
        "refused or different": groups["refused"],
        "untested": groups["untested"],
        "formula": formulas,
        "no kernel": without,
    }
    lines += [
        "",
        "## All operators",
        "",
        "- *Runs*: the results are the same as on the CPU.",
        "- *Untested*: no sample has one of the tried types.",
        "- *Formula*: computed by a documented formula.",
        "- *No kernel*: refused, because there is neither a kernel for the CPU nor a formula.",
        "",
        '<div class="table-filter"></div>',
        "",
        "| Operator | Result |",
        "|---|---|",
        *(f"| `{name}` | {result} |" for result, members in found.items() for name in members),
    ]
    return "\n".join(lines) + "\n"


def _verdict(by_type: dict[str, str]) -> str:
    found = set(by_type.values())
    return "refused" if found - {"run", "untested"} else "run" if "run" in found else "untested"


def _count(results: Results, way: str, wanted: str) -> int:
    """Return how many entries run in a way; with wanted = "" how many are refused or different."""
    found = 0
    for by_type in results.values():
        answers = {text for kind, text in by_type.items() if kind.partition(", ")[2] == way}
        bad = answers - {"run", "untested"}
        found += bool(bad) if not wanted else not bad and wanted in answers
    return found


def _reasons(by_type: dict[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for kind, text in sorted(by_type.items()):
        if text not in ("run", "untested"):
            reasons.setdefault(text, []).append(kind)
    return reasons


def main() -> int:
    """Return 0, or 1 if the page is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("record", "table"))
    parser.add_argument("entries", nargs="*", help="entries of the database to record; default: all")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.entries)
    text = page(json.loads(DATA.read_text()))
    if arguments.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
