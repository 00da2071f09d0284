# SPDX-License-Identifier: Apache-2.0
"""The build back end: meson-python, with settings that its configuration does not have.

- A wheel is tagged for the oldest Python that it runs on, whatever Python builds it; one that is built by a Python
  without the GIL, for that Python.
- The commands of the build requirements are found also where their environment is not activated.
- An editable install can be imported after pip has deleted the isolated environment that it was built in.
- An older Python is refused with a sentence, not by the first build requirement that lacks a version for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

if sys.version_info < (3, 10):  # noqa: UP036  (such a Python gets as far as here)
    sys.exit(f"ascend_rt needs Python 3.10 or newer; this is {sys.version.split()[0]} ({sys.executable})")

import mesonpy

OLDEST_PYTHON = "cp310"  # also requires-python in pyproject.toml, and limited_api in ascend_rt/meson.build

Settings = Mapping[str, Any]

build_sdist = mesonpy.build_sdist
get_requires_for_build_sdist = mesonpy.get_requires_for_build_sdist
get_requires_for_build_wheel = mesonpy.get_requires_for_build_wheel


def get_requires_for_build_editable(config_settings: Settings | None = None) -> list[str]:
    """Return ninja too where the system has one, which would outlive the files that it is to build from."""
    return [*mesonpy.get_requires_for_build_editable(config_settings), "ninja >= 1.11"]


def build_wheel(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel; its extension modules keep to the limited API, so one wheel serves all versions of Python."""
    _find_commands()
    name = mesonpy.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)
    if "-abi3-" not in name:  # not CPython, or without the GIL
        return str(name)
    command = [sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", OLDEST_PYTHON, name]
    done = subprocess.run(command, cwd=wheel_directory, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def build_editable(
    wheel_directory: str, config_settings: Settings | None = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel. At each import it starts the ninja of the build, here a script.

    In an environment that is gone there is nothing to build with: the script does nothing, and changes of C and C++
    wait for the next ``pip install -e .``.
    """
    _find_commands()
    ninja = _command("ninja")
    script = Path("build", f"ninja-{sys.implementation.cache_tag}").absolute()
    script.parent.mkdir(exist_ok=True)
    quoted = shlex.quote(str(ninja))
    script.write_text(f'#!/bin/sh\n[ -x {quoted} ] || exit 0\nexec {quoted} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    os.environ["NINJA"] = str(script)
    return str(mesonpy.build_editable(wheel_directory, _settings(config_settings), metadata_directory))


def _settings(asked: Settings | None) -> Settings:
    """Return the settings of the caller, without the limited API where Python has none: without the GIL."""
    settings = dict(asked or {})
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        others = settings.get("setup-args", [])
        others = [others] if isinstance(others, str) else others
        settings["setup-args"] = ["-Dpython.allow_limited_api=false", *others]
    return settings


def _find_commands() -> None:
    """Put the directory of the build requirements' commands first on PATH."""
    directory = _command("meson").parent
    os.environ["PATH"] = os.pathsep.join([str(directory), os.environ.get("PATH", os.defpath)])


def _command(distribution: str) -> Path:
    """Return the command that an installed distribution of this Python brings."""
    for file in metadata.files(distribution) or ():
        if file.name == distribution and file.parent.name == "bin":
            return Path(str(file.locate())).resolve()
    if found := shutil.which(distribution):  # from a package of the system, which keeps no list of files
        return Path(found)
    raise SystemExit(f"the build requirement {distribution} is not installed: pip install {distribution}")
