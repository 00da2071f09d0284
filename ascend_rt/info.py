# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt info``: which library is in use, and everything a bug report needs about it."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from typing import Any

from ascend_rt import __version__
from ascend_rt._driver import ffi, lib, library
from ascend_rt.device import Device

_VARIABLES = (
    "ASCEND_RT_BACKEND",
    "ASCEND_RT_LIBRARY",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_RT_SIM_DEVICES",
    "ASCEND_RT_SIM_PRODUCT",
    "ASCEND_RT_SIM_WORKERS",
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
)


def collect() -> dict[str, Any]:
    """Load the library and return what there is to say about it."""
    loaded = library()
    return {
        "package": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "backend": loaded.backend,
        "library": loaded.path,
        "reason": loaded.reason,
        "product": Device().product,
        "api_version": _api_version(),
        "devices": Device.count(),
        "symbols_present": loaded.present,
        "symbols_missing": list(loaded.missing),
        "tried": [asdict(attempt) for attempt in loaded.attempts],
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def _api_version() -> str | None:
    parts = [ffi.new("int32_t *") for _ in range(3)]
    return None if lib.aclrtGetVersion(*parts) else ".".join(str(part[0]) for part in parts)


def as_text(info: dict[str, Any]) -> str:
    """Return the same for people to read."""
    backend = {"cann": "the vendor's library", "sim": "the simulator"}[info["backend"]]
    missing = info["symbols_missing"]
    rows = [
        ("ascend_rt", f"{info['package']}, Python {info['python']}, {info['platform']}"),
        ("library", f"{backend}, {info['reason']}"),
        ("path", info["library"]),
        ("product", info["product"]),
        ("API version", info["api_version"] or "unknown"),
        ("devices", info["devices"]),
        ("functions", f"{info['symbols_present']} present, {len(missing)} missing"),
    ]
    rows += [("missing", ", ".join(missing))] if missing else []
    rows += [("tried", f"{a['path']} ({a['source']}): {a['verdict']}") for a in info["tried"]]
    rows += [("environment", f"{name}={value}") for name, value in info["environment"].items()]
    return "\n".join(f"{label:<12} {value}" for label, value in rows)
