# SPDX-License-Identifier: Apache-2.0
"""Count the instructions of hot paths and compare them with what is recorded: ``python benchmarks/instructions.py``.

Callgrind counts two runs, one of twice as many loops; the difference, by loop, is what one iteration takes. Ends with 1
if a count is more than 5 % away from the recorded one, up or down; ``--update`` records what is counted now.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ascend_rt import library, use
from ascend_rt_measure.bench import building
from ascend_rt_measure.bench.building import BenchmarkError

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "instructions.json"
TOLERANCE = 0.05
LOOPS = 500
# Without memory: the simulator reserves the addresses of whole devices, and valgrind has less than 64 GiB of them.
PATHS = (
    "event_create_destroy",
    "event_record",
    "stream_wait_event",
    "event_query_complete",
    "event_query_pending",
    "event_synchronize_complete",
    "record_wait_synchronize",
    "submit_pairs_10",
    "capture_pairs_10",
    "replay_pairs_10",
)
MARK = "sampled"
Counts = dict[str, int]  # instructions of one iteration, by id


# --- counting --------------------------------------------------------------------------------------------------------


def instructions(command: Sequence[str], directory: Path) -> list[int]:
    """Run a program under callgrind and return the instructions of each part between two marks."""
    directory.mkdir(parents=True)
    callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", f"--dump-after={MARK}"]
    # Addresses and hashes have a part in what is executed, and so do other processes that share the card.
    environment = {"ASCEND_RT_BACKEND": "sim", "ASCEND_RT_SIM_CARDS": "separate", "PYTHONHASHSEED": "0"}
    building.output_of(["setarch", "-R", *callgrind, *command], environment)
    dumps = sorted(directory.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    totals = [re.search(r"^totals: (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE) for path in dumps]
    return [int(found[1]) for found in totals if found]


def count(program: Sequence[str], directory: Path) -> Counts:
    """Return the instructions of one iteration of each path."""
    with ThreadPoolExecutor() as executor:
        few, many = executor.map(
            lambda loops: instructions([*program, f"-l{loops}", *PATHS], directory / str(loops)), (LOOPS, 2 * LOOPS)
        )
    pairs = zip(PATHS, few[-len(PATHS) :], many[-len(PATHS) :], strict=True)
    return {name: round((b - a) / LOOPS) for name, a, b in pairs}


def count_all(directory: Path) -> dict[str, Counts]:
    """Return the counts in C and through the facade, each by what it depends on."""
    use("sim")
    bench, mark = directory / "bench", directory / "libsampled.so"
    building.compile_bench(bench, library().paths, ())
    building.compiled([HERE / "c" / "sampled.c"], mark, building.HEADERS, ["-shared", "-fPIC"])
    compiler = building.output_of([*building.compiler(), "-dumpfullversion", "-dumpversion"]).strip()
    where = f"{platform.machine()}, cc {compiler}"
    python = f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}"
    facade = [sys.executable, __file__, f"--mark={mark}"]
    return {
        f"c, {where}": count([str(bench), "-n1", "-m"], directory / "c"),
        f"facade, {where}, {python}": count(facade, directory / "facade"),
    }


def run_facade(mark: str, loops: int, names: Sequence[str]) -> None:
    """Be the program that callgrind runs: every path so many times, and a mark behind each."""
    from ascend_rt_measure.bench.facade import BENCHMARKS

    sampled = getattr(ctypes.CDLL(mark), MARK)
    gc.disable()
    sampled()  # Python's work until here varies
    for name in names:
        with BENCHMARKS[name]() as timed:
            timed(loops)
            sampled()


# --- what is recorded ------------------------------------------------------------------------------------------------


def compare(counted: dict[str, Counts], recorded: dict[str, Counts]) -> list[str]:
    """Print both and return the paths that are too far away."""
    far = []
    for where, counts in counted.items():
        print(f"{where}{'' if where in recorded else ': nothing is recorded, so nothing is compared'}")
        for name, number in counts.items():
            known = recorded.get(where, {}).get(name)
            change = "" if known is None else f"{number / known - 1:+8.1%}"
            print(f"  {name:<28} {number:>8} {'' if known is None else known:>8} {change}")
            if known is not None and abs(number - known) > TOLERANCE * known:
                far.append(f"{where}: {name} {known} -> {number}")
    return far


def main() -> int:
    parser = argparse.ArgumentParser(description="Count instructions and compare them with what is recorded.")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    parser.add_argument("--mark", help=argparse.SUPPRESS)
    parser.add_argument("-l", type=int, dest="loops", help=argparse.SUPPRESS)
    parser.add_argument("ids", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.mark:
        run_facade(arguments.mark, arguments.loops, arguments.ids)
        return 0
    try:
        for tool in ("valgrind", "setarch"):
            if shutil.which(tool) is None:
                raise BenchmarkError(f"there is no {tool}: install the packages valgrind and util-linux")
        with tempfile.TemporaryDirectory() as directory:
            counted = count_all(Path(directory))
    except BenchmarkError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    far = compare(counted, recorded)
    if arguments.update:
        RECORDED.write_text(json.dumps(recorded | counted, indent=1) + "\n", encoding="utf-8")
    elif far:
        print("more than 5 % away from what is recorded (--update records anew):", *far, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
