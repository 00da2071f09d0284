# SPDX-License-Identifier: Apache-2.0
"""The environment of the figures: machine and versions, without names, and settings that add noise."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ascend_rt import __version__
from ascend_rt_measure.bench import building, pocl

_PROCESSORS = "sys/devices/system/cpu"
_QUIET_LOAD = 0.3  # the highest load per processor before a run


def _read(root: Path, path: str) -> str:
    """Return the text of a file of the kernel; "" if it has none or does not say."""
    try:
        return (root / path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _field(root: Path, path: str, name: str) -> str:
    found = re.search(rf"^{name}\s*:\s*(.*)$", _read(root, path), re.MULTILINE)
    return found[1] if found else ""


def facts(root: Path = Path("/")) -> dict[str, str]:
    """Return what people compare before they compare figures."""
    memory = _field(root, "proc/meminfo", "MemTotal").partition(" ")[0]
    found = {
        "processor": _field(root, "proc/cpuinfo", "model name") or platform.machine(),
        "processors": f"{_processors()}, {platform.machine()}",
        "memory": f"{int(memory) / 2**20:.0f} GiB" if memory else "",
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}, {' '.join(platform.libc_ver())}",
        "compiler": _compiler(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "ascend_rt": __version__,
        "packages": ", ".join(f"{name} {number}" for name, number in _packages()),
        "PoCL": "" if pocl.missing() else pocl.version(),
    }
    return {name: text for name, text in found.items() if text}


def _compiler() -> str:
    try:
        command = [*building.compiler(), "--version"]
    except building.MissingCompiler:
        return ""
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return lines[0] if lines else ""


def _packages() -> Iterator[tuple[str, str]]:
    for name in ("cffi", "numpy", "pyperf"):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def warnings(root: Path = Path("/"), load: float | None = None) -> list[str]:
    """Return what will make the figures vary, a sentence each.

    Parameters
    ----------
    root : Path
        Where ``/proc`` and ``/sys`` are.
    load : float, optional
        How many threads ran lately, instead of what the system says.
    """
    return list(_warnings(root, os.getloadavg()[0] if load is None else load))


def _warnings(root: Path, load: float) -> Iterator[str]:
    governors = {
        text
        for path in sorted((root / _PROCESSORS).glob("cpu*/cpufreq/scaling_governor"))
        if (text := _read(root, str(path.relative_to(root))))
    }
    if slow := governors - {"performance"}:
        yield f"the frequency governor is {', '.join(sorted(slow))}: cpupower frequency-set -g performance"
    if _read(root, f"{_PROCESSORS}/cpufreq/boost") == "1" or _read(root, f"{_PROCESSORS}/intel_pstate/no_turbo") == "0":
        yield "turbo is on: the frequency depends on temperature, and on what else runs"
    if " hypervisor" in _field(root, "proc/cpuinfo", "flags"):
        yield "this is a virtual machine: others share its processors"
    if _processors() == 1:
        yield "there is one processor: hand-overs between threads are changes of context"
    elif load > _QUIET_LOAD * _processors():
        yield f"the machine is busy: a load of {load:.1f} on {_processors()} processors"
