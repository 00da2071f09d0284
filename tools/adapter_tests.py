# SPDX-License-Identifier: Apache-2.0
"""Run the tests of PyTorch's adapter itself on the simulator, and compare their results with the recorded ones.

``adapter_tests.py CHECKOUT [FILE ...]`` takes a checkout of the adapter's public repository, of the tag that
``tests/data/torch_npu_tests.json`` names, and runs the files of tests in that list, or those given, each in a separate
process under ``ascend-rt run --backend sim``. Every result that is not the recorded one is printed, and is a failure.
``--record`` writes the results down instead; a recorded reason is kept while the result is the same.

It needs ``pip install ".[torch-test,test]" ninja``, and a C++ compiler for extensions that tests build.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "torch_npu_tests.json"
TIMEOUT = 900.0  # seconds for a file
TEST_TIMEOUT = 120  # seconds for a test

# Test -> "passed", "skipped: reason" or "failed: reason"; "left out: reason" is written by hand.
Results = dict[str, str]


def run(checkout: Path, name: str, left_out: Results) -> Results:
    """Run the tests of one file, but for those to be left out, which have their results already."""
    path = checkout / "test" / name
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={checkout / 'test'}"]
        options += [f"--junitxml={report}", f"--timeout={TEST_TIMEOUT}"]
        options += [f"--deselect={name}::{test}" for test in left_out]
        command = [sys.executable, "-m", "ascend_rt", "run", "--backend", "sim", "-m", "pytest", *options, str(path)]
        programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # ninja is one
        environment = {**os.environ, "PATH": programs}
        try:
            done = subprocess.run(
                command, cwd=path.parent, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
            )
        except subprocess.TimeoutExpired:
            return {"": f"failed: not done after {TIMEOUT:.0f} s"}
        if not report.exists():
            return {"": f"failed: the process ended with {done.returncode}: {_last_line(done.stdout + done.stderr)}"}
        return {**left_out, **dict(outcomes(report))}


def outcomes(report: Path) -> Iterator[tuple[str, str]]:
    """Yield every test of a report with its result."""
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        outcome = "passed"
        for kind, word in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
            found = case.find(kind)
            if found is not None:
                outcome = f"{word}: {_reason(found.get('message', ''))}"
        yield name, outcome


def _reason(message: str) -> str:
    return message.strip().partition("\n")[0][:160]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1][:160]


def _word(outcome: str | None) -> str | None:
    return None if outcome is None else outcome.partition(":")[0]


def differences(expected: Results, found: Results) -> Iterator[str]:
    """Yield a line for every test whose result is not the recorded one."""
    for test in sorted(expected.keys() | found.keys()):
        if _word(expected.get(test)) != _word(found.get(test)):
            yield f"{test}: {found.get(test, 'not run')}; recorded: {expected.get(test, 'nothing')}"


def recorded(expected: Results, found: Results) -> Results:
    """Return the content to record: the results, with the recorded reasons."""
    return {
        test: expected[test] if _word(expected.get(test)) == _word(outcome) else outcome
        for test, outcome in sorted(found.items())
    }


def main() -> int:
    """Run, and compare or record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "files", nargs="*", help="below the checkout's directory 'test'; default: all that are recorded"
    )
    parser.add_argument("--record", action="store_true", help="write the results down")
    arguments = parser.parse_intermixed_args()
    data = json.loads(DATA.read_text(encoding="utf-8"))
    wrong = 0
    for name in arguments.files or sorted(data["files"]):
        expected = data["files"].get(name, {})
        left_out = {test: outcome for test, outcome in expected.items() if _word(outcome) == "left out"}
        found = run(arguments.checkout.resolve(), name, left_out)
        counts = {
            word: sum(_word(outcome) == word for outcome in found.values()) for word in ("passed", "failed", "skipped")
        }
        print(f"{name}: " + ", ".join(f"{count} {word}" for word, count in counts.items()), flush=True)
        if arguments.record:
            data["files"][name] = recorded(expected, found)
            DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            continue
        for line in differences(expected, found):
            wrong += 1
            print(f"  {line}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
