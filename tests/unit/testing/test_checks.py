# SPDX-License-Identifier: Apache-2.0
"""The plug-in for pytest: findings fail the test that causes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import fake_findings as fake

pytestmark = pytest.mark.simulator("independent")

HEAD = f"""\
import pytest
{fake.WRITE}
from pathlib import Path
import sys
sys.path.append({str(Path(fake.__file__).parents[1])!r})
from support import fake_findings as fake

TRAIN = Path("train.py").resolve()

def race(**changed):
    write([fake.race(TRAIN, **changed)])
"""


@pytest.fixture
def tests(run, tmp_path: Path):
    """Return a function that runs tests with the plug-in, and returns what pytest prints."""
    (tmp_path / "train.py").write_text(fake.TRAIN, encoding="utf-8")

    def run_tests(text: str, *options: str, **variables: str):
        (tmp_path / "test_it.py").write_text(HEAD + text, encoding="utf-8")
        return run("-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *options, **variables)

    return run_tests


THREE = """
def test_clean(): pass
def test_race(): race()
def test_again(): write([{"kind": "count", "id": 1, "count": 2}])
def test_clean_after(): pass
@pytest.mark.ascend(check=False)
def test_allowed(): race(id=2, conflict="write after write")
"""


def outcomes(text: str) -> dict[str, str]:
    lines = (line.split() for line in text.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR")))
    return {line[1].partition("::")[2]: line[0] for line in lines}


@pytest.mark.parametrize("option", ["--ascend-check", "--ascend-check=races", "--ascend-check=deadlocks,memory,races"])
def test_findings_fail_the_tests_that_cause_them(tests, option: str) -> None:
    done = tests(THREE, option)
    assert done.returncode == 1, done.stdout
    assert outcomes(done.stdout) == {
        "test_clean": "PASSED",
        "test_race": "FAILED",
        "test_again": "FAILED",
        "test_clean_after": "PASSED",
        "test_allowed": "PASSED",
    }
    assert "read after write, not ordered" in done.stdout
    assert "train.py:6 in load" in done.stdout
    assert "train.py:11 in step" in done.stdout


def test_without_the_option_no_check_is_on(tests) -> None:
    text = "import os\ndef test_it(): assert 'ASCEND_RT_SIM_CHECK' not in os.environ\n"
    assert tests(text).returncode == 0


def test_findings_of_other_checks_do_not_fail_a_test(tests) -> None:
    assert tests(THREE, "--ascend-check=memory").returncode == 0


@pytest.mark.parametrize("argument", ['check="races"', 'check=["races"]', '"races"'])
def test_a_marker_turns_checks_on_for_its_tests_alone(tests, argument: str) -> None:
    text = """
import os
@pytest.mark.ascend(ARGUMENT)
def test_marked():
    assert os.environ["ASCEND_RT_SIM_CHECK"] == "races"
    race()
def test_other(): race(id=2, conflict="write after write")
"""
    done = tests(text.replace("ARGUMENT", argument))
    assert outcomes(done.stdout) == {"test_marked": "FAILED", "test_other": "PASSED"}


def test_findings_of_fixtures_count_and_those_of_a_test_that_fails_are_added(tests) -> None:
    done = tests(
        """
@pytest.fixture
def before(): race()
@pytest.fixture
def after():
    yield
    race(id=2, conflict="write after write")
def test_before(before): pass
def test_after(after): pass
def test_fails():
    race(id=3, conflict="write after read")
    assert 1 == 2
""",
        "--ascend-check",
    )
    starts = [line.partition(" - ")[0] for line in done.stdout.splitlines()]
    for expected in ("FAILED {}_before", "PASSED {}_after", "ERROR {}_after", "FAILED {}_fails", "ERROR {}_fails"):
        assert expected.format("test_it.py::test") in starts, done.stdout
    assert "traceback entries" not in done.stdout
    assert "write after read, not ordered" in done.stdout
    assert "assert 1 == 2" in done.stdout


def test_a_comment_ignores(tests, tmp_path: Path) -> None:
    text = fake.TRAIN.replace("# read", "# ascend-rt: ignore[race] any value  # read")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    assert tests("def test_it(): race()\n", "--ascend-check").returncode == 0


@pytest.mark.parametrize(
    ("text", "option", "said"),
    [
        ("", "--ascend-check=rases", "--ascend-check: 'rases' is not a check; the checks are races, deadlocks, memory"),
        (
            "@pytest.mark.ascend(check='rases')\ndef test_it(): pass\n",
            "-q",
            "@pytest.mark.ascend(check='rases'): 'rases' is not a check; the checks are races, deadlocks, memory",
        ),
        (
            "@pytest.mark.ascend(check=1)\ndef test_it(): pass\n",
            "-q",
            "@pytest.mark.ascend(check=1): name checks, as in check='races,deadlocks', or False",
        ),
        (
            "from ascend_rt import Device\nDevice.count()\n@pytest.mark.ascend(check='memory')\ndef test_it(): pass\n",
            "-q",
            "@pytest.mark.ascend(check='memory'): the runtime was used before; run pytest with --ascend-check=memory",
        ),
    ],
)
def test_a_wrong_use_is_one_message(tests, text: str, option: str, said: str) -> None:
    done = tests(text, option, ASCEND_RT_BACKEND="sim")
    assert done.returncode == 4
    assert f"ERROR: {said}\n" in done.stdout + done.stderr


def test_a_file_behind_the_option_is_not_its_value(tests) -> None:
    done = tests("def test_it(): pass\n", "--ascend-check", "test_it.py::test_it")
    assert done.returncode == 4
    said = "--ascend-check takes 'test_it.py::test_it' for its value; write --ascend-check=races,deadlocks test_it.py"
    assert said in done.stdout + done.stderr


def test_every_worker_of_xdist_has_its_findings(interpreter, tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "train.py").write_text(fake.TRAIN, encoding="utf-8")
    text = "".join(
        f"def test_{number}(): {f'race(id={number}, conflict=str({number}))' if number % 2 else 'pass'}\n"
        for number in range(6)
    )
    (tmp_path / "test_it.py").write_text(HEAD + text, encoding="utf-8")
    options = ("-q", "-rA", "-p", "no:cacheprovider", "-n", "2", "--ascend-check")
    done = interpreter("-m", "pytest", *options)
    assert outcomes(done.stdout) == {f"test_{number}": ("PASSED", "FAILED")[number % 2] for number in range(6)}, done
