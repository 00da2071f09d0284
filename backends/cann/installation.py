# SPDX-License-Identifier: Apache-2.0
"""Which release of CANN, and of the driver, is installed: read from the files that the installers leave."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path

from ascend_rt.backends.cann.places import version_in

# Below a toolkit, of newer releases first.
_FILES = (
    "share/info/runtime/version.info",
    f"{platform.machine()}-linux/ascend_toolkit_install.info",
    "ascend_toolkit_install.info",
    f"{platform.machine()}-linux/ascend_nnrt_install.info",
    "ascend_nnrt_install.info",
    "runtime/version.info",
)
# version_dir is the release where Version is the number of an internal build.
_KEYS = ("version_dir", "version", "Version")

_DRIVER_FILES = ("driver/version.info",)
_INSTALL_RECORD = Path("/etc/ascend_install.info")
_LIBRARY_DEPTH = 4  # <toolkit>/<arch>-linux/lib64/<library>, and one more


def cann_version(library: str) -> str | None:
    """Return the release that a library belongs to, such as ``8.1.RC1``; None if it is unknown."""
    ancestors = list(Path(library).resolve().parents)[:_LIBRARY_DEPTH]
    told = (_value(ancestor / name, _KEYS) for ancestor in ancestors for name in _FILES)
    named = (version_in(ancestor.name) for ancestor in ancestors)
    return next(filter(None, (*told, *named)), None)


def driver_version() -> str | None:
    """Return the release of the driver; None if it is unknown."""
    told = (_value(root / name, ("Version",)) for root in _driver_roots() for name in _DRIVER_FILES)
    return next(filter(None, told), None)


def _driver_roots() -> Iterator[Path]:
    if root := _value(_INSTALL_RECORD, ("Driver_Install_Path_Param",)):
        yield Path(root)
    yield Path("/usr/local/Ascend")


def _value(file: Path, keys: tuple[str, ...]) -> str | None:
    """Return the value of the first of the keys that a file of lines ``key=value`` has."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None  # most of the files do not exist
    values = dict(re.findall(r"^\s*(\w+)\s*=\s*(\S+)\s*$", text, re.MULTILINE))
    return next((values[key] for key in keys if key in values), None)
