# SPDX-License-Identifier: Apache-2.0
"""The double: a library with the vendor's names that ends the process where the official one may (``tests/double``)."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEWEST = "newest"


def build(release: str = NEWEST, without: str = "") -> Path:
    """Build the double unless it is up to date; return its library of the runtime.

    Parameters
    ----------
    release : str, optional
        Functions that came later are left out.
    without : str, optional
        More functions to leave out, separated by commas.
    """
    from ascend_rt.backends import sim

    directory = ROOT / "build-double" / "-without-".join(filter(None, (release, without)))
    directory.mkdir(parents=True, exist_ok=True)
    script = ROOT / "tests" / "double" / "build.py"
    command = [sys.executable, str(script), str(directory), "--simulator", str(sim.library_path())]
    command += ["--without", without] + ([] if release == NEWEST else ["--release", release])
    with (directory / "lock").open("w") as lock:  # one process of a session builds
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(built.stdout.strip())
