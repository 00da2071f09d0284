# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt info``: the library in use, and the details that a bug report needs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any

from ascend_rt import __version__
from ascend_rt._generated.functions import FUNCTIONS
from ascend_rt._runtime.driver import library, providers, supports
from ascend_rt._startup import acl_finder
from ascend_rt.backends import IN_WORDS
from ascend_rt.cli import terminal
from ascend_rt.device import Device
from ascend_rt.errors import AclError, LibraryError
from ascend_rt.versions import version

_VARIABLE_PREFIXES = ("ASCEND_", "ACL_", "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "PYTHONPATH")


DESCRIPTION = (
    "Show which library is used, which rule chose it, and its devices. --verbose and --json add the details that a bug "
    "report needs: files, places that were searched, functions by family, environment variables."
)
EXAMPLES = ("ascend-rt info", "ascend-rt info --backend cann --verbose", "ascend-rt info --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    terminal.add_json(parser)
    parser.add_argument("--verbose", action="store_true", help="show all details")


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 1: the library cannot be loaded."""
    collected = collect()
    if arguments.json:
        print(json.dumps(collected, indent=2))
    else:
        if "error" in collected:
            terminal.say(f"ascend-rt: {collected['error']}")
        terminal.print_facts(facts(collected, verbose=arguments.verbose))
    return 1 if "error" in collected else 0


def collect() -> dict[str, Any]:
    """Load the library and describe it; if it cannot be loaded, the description says why."""
    info: dict[str, Any] = {
        "package": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "acl": dict(zip(("which", "path", "reason"), acl_finder.choose(acl_finder.asked()), strict=True)),
        "environment": {
            name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLE_PREFIXES)
        },
    }
    try:
        loaded = library()
    except LibraryError as error:
        return info | {"error": str(error), "tried": [asdict(attempt) for attempt in error.attempts]}
    versions = version()
    return info | {
        "backend": loaded.backend,
        "libraries": list(loaded.paths),
        "reason": loaded.reason,
        "tried": [asdict(attempt) for attempt in loaded.attempts],
        "cann_version": versions.cann,
        "api_version": versions.api,
        "driver_version": versions.driver,
        **_of_devices(),
        "simulated": sum(map(supports, FUNCTIONS)) if loaded.backend == "sim" else None,
        "families": _of_families(),
    }


def _of_devices() -> dict[str, Any]:
    try:
        return {"product": Device().name, "devices": [_of_device(i) for i in range(Device.count())]}
    except AclError as error:  # bug reports are about installations that fail here
        return {"product": None, "devices": [], "error": str(error)}


def _of_device(device_id: int) -> dict[str, Any]:
    try:
        free, total = Device(device_id).memory_info
    except AclError as error:
        return {"id": device_id, "error": str(error)}
    return {"id": device_id, "memory_free": free, "memory_total": total}


def _of_families() -> dict[str, Any]:
    """Return, by family, the libraries with the number of functions that each has, and the functions that none has."""
    where = providers()
    families: dict[str, Any] = {}
    for name, (family, *_) in FUNCTIONS.items():
        entry = families.setdefault(family, {"present": Counter(), "missing": []})
        if name in where:
            entry["present"][where[name]] += 1
        else:
            entry["missing"].append(name)
    return families


def facts(info: dict[str, Any], *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield labels and texts for people, the most important ones first."""
    if "backend" in info:
        yield from _of_library(info)
    yield "acl", _acl_in_words(**info["acl"])
    yield "ascend_rt", info["package"]
    if verbose:
        yield from _details(info)
    else:
        yield "details", "ascend-rt info --verbose, or --json"


def _of_library(info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "library", IN_WORDS[info["backend"]]
    yield "why", info["reason"]
    yield from ((label, info[key]) for label, key in _LABELS if info[key])
    yield "devices", str(len(info["devices"]))
    yield from (("", text) for text in _devices_in_words(info["devices"]))
    if info["simulated"] is None:
        present = sum(sum(family["present"].values()) for family in info["families"].values())
        yield "functions", f"the library has {present} of {len(FUNCTIONS)}"
    else:
        yield "functions", f"{info['simulated']} of {len(FUNCTIONS)} are simulated"


_LABELS = (
    ("product", "product"),
    ("CANN", "cann_version"),
    ("API version", "api_version"),
    ("driver", "driver_version"),
)


def _acl_in_words(which: str, path: str | None, reason: str) -> str:
    name = "ascend_rt.pyacl, under 'ascend-rt run'" if which == "ours" else f"the vendor's, {path}" if path else "none"
    return f"{name}: {reason}"


def _details(info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Python", info["python"]
    yield "platform", info["platform"]
    families = info.get("families", {})
    providers = (path for family in families.values() for path in family["present"])
    yield from (("path", path) for path in dict.fromkeys((*info.get("libraries", ()), *providers)))
    yield from (("tried", f"{a['path']} ({a['source']}): {a['verdict']}") for a in info["tried"])
    yield from (("environment", f"{name}={value}") for name, value in info["environment"].items())
    yield from (("families", _family_in_words(name, **family)) for name, family in families.items())


def _devices_in_words(devices: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a description of each device; neighbours that do not differ share one."""
    for text, group in groupby(devices, _device_in_words):
        ids = [device["id"] for device in group]
        yield f"{ids[0]}: {text}" if len(ids) == 1 else f"{ids[0]} to {ids[-1]}: {text}"


def _device_in_words(device: dict[str, Any]) -> str:
    if "error" in device:
        return str(device["error"])
    free, total = (device[key] / 2**30 for key in ("memory_free", "memory_total"))
    return f"{free:.1f} GiB of {total:.1f} GiB free"


def _family_in_words(name: str, present: dict[str, int], missing: list[str]) -> str:
    parts = [f"{count} in {os.path.basename(path)}" for path, count in present.items()]
    parts += [f"{len(missing)} in no library: {', '.join(missing)}"] if missing else []
    return f"{name}, {sum(present.values()) + len(missing)} functions: {'; '.join(parts)}"
