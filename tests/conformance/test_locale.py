# SPDX-License-Identifier: Apache-2.0
"""A program in a locale whose numbers have a decimal comma: those that the simulator reads and writes have none."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("internals")

KiB = 1 << 10

# From which locale each category comes.
CATEGORIES = dict.fromkeys(("NUMERIC", "MONETARY", "TIME", "MESSAGES", "PAPER", "NAME", "ADDRESS"), "de_DE")
CATEGORIES |= dict.fromkeys(("TELEPHONE", "MEASUREMENT", "IDENTIFICATION"), "de_DE")
CATEGORIES |= dict.fromkeys(("CTYPE", "COLLATE"), "POSIX")

SCRIPT = """
    import locale
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    assert locale.localeconv()["decimal_point"] == ","
    folder = sys.argv[1].encode()
    limit = ffi.new("size_t *")
    config = ffi.new("uint32_t[]", [0])
    stream, begin, end = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *"), ffi.new("aclrtEvent *")
    lasted = ffi.new("float *")
    assert lib.aclInit(folder + b"/acl.json") == 0, text()
    assert lib.aclrtSetDevice(0) == 0
    assert lib.aclrtDeviceGetLimit(lib.ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, limit) == 0, text()
    assert lib.aclprofInit(folder, len(folder)) == 0, text()
    config = lib.aclprofCreateConfig(config, 1, lib.ACL_AICORE_NONE, ffi.NULL, lib.ACL_PROF_TASK_TIME)
    assert lib.aclprofStart(config) == 0
    assert lib.aclrtCreateStream(stream) == 0
    for event in (begin, end):
        assert lib.aclrtCreateEventExWithFlag(event, 9) == 0
        assert lib.aclrtRecordEvent(event[0], stream[0]) == 0
    assert lib.aclrtSynchronizeStream(stream[0]) == 0
    assert lib.aclrtEventElapsedTime(lasted, begin[0], end[0]) == 0
    assert lib.aclprofStop(config) == 0, text()
    reported([limit[0], lasted[0]])
"""


@pytest.fixture(scope="session")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with de_DE.UTF-8, without the characters and their order, which take long to compile."""
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("needs localedef and the sources of locales")
    directory = tmp_path_factory.mktemp("locales")
    source = directory / "source"
    source.write_text(
        "".join(f'LC_{name}\ncopy "{of}"\nEND LC_{name}\n' for name, of in CATEGORIES.items()), encoding="utf-8"
    )
    command = ["localedef", "--no-archive", "-i", str(source), "-f", "UTF-8", str(directory / "de_DE.UTF-8")]
    subprocess.run(command, check=True, capture_output=True)
    return directory


def test_numbers_under_a_decimal_comma(child: Callable[..., Any], locales: Path, tmp_path: Path) -> None:
    (tmp_path / "acl.json").write_text('{"StackSize": {"aicore_stack_size": 6.5536e4}}', encoding="utf-8")
    profile = {"profile": {"format": 1, "costs": {"record": {"ns": 1.5e6}}}}
    (tmp_path / "card.json").write_text(json.dumps(profile).replace("1500000.0", "1.5e6"), encoding="utf-8")
    stack, lasted = child(SCRIPT, tmp_path, LOCPATH=locales, ASCEND_RT_SIM_PROFILE=tmp_path / "card.json")
    assert stack == 64 * KiB
    assert lasted >= 1.5 - 3e-5  # milliseconds, in the ticks of a stamp
    (trace,) = tmp_path.glob("PROF_*/mindstudio_profiler_output/msprof_*.json")
    stamps = [event["ts"] for event in json.loads(trace.read_text(encoding="utf-8")) if event["ph"] == "X"]
    assert stamps == sorted(stamps)
    assert len(stamps) == 2
    (table,) = tmp_path.glob("PROF_*/mindstudio_profiler_output/task_time_*.csv")
    rows = table.read_text(encoding="utf-8").splitlines()
    assert {len(row.split(",")) for row in rows} == {8}
