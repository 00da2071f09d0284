# SPDX-License-Identifier: Apache-2.0
"""Run in a child process: open libraries, ask them for their devices, write the answer as JSON to a file descriptor.

``probe.py DESCRIPTOR QUESTION LIBRARY...``, where the question is ``devices``, or ``open`` if opening is all. Standard
output belongs to the libraries, which may print what they like. Needs nothing but the standard library, so that the
child starts fast and loads nothing else.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from typing import Any

SIMULATOR = "the simulator"
ABSENT = "not there"
USABLE = "usable"

_STUB_MODE = 100039  # the answer of every function of a link-time stub
_PARTS = {"libascend_hal.so": "it comes with the NPU driver: install it, or put its lib64 on LD_LIBRARY_PATH"}
_NEEDED = ("aclInit", "aclrtSetDevice", "aclrtGetDeviceCount")


def examine(question: str, paths: list[str]) -> tuple[str, dict[str, str]]:
    """Return the verdict on libraries that belong together, and what is wrong with those that cannot be opened."""
    opened, left_out = [], {}
    for path in paths:
        try:
            opened.append(ctypes.CDLL(path))
        except (OSError, UnicodeDecodeError) as error:
            left_out[path] = _explain(path, str(error))
    if not opened:
        return next((why for why in left_out.values() if why != ABSENT), ABSENT), left_out
    return verdict(opened) if question == "devices" else USABLE, left_out


def verdict(libraries: list[ctypes.CDLL]) -> str:
    """Return `USABLE`, `SIMULATOR`, or what is wrong with libraries that are open."""
    if _function(libraries, "aclsimHold"):
        return SIMULATOR
    if missing := [name for name in _NEEDED if not _function(libraries, name)]:
        return f"no runtime of CANN: it lacks {missing[0]}"
    return _verdict_on_devices(libraries)


def _verdict_on_devices(libraries: list[ctypes.CDLL]) -> str:
    count = ctypes.c_uint32(0)
    code = _function(libraries, "aclrtGetDeviceCount")(ctypes.byref(count))
    if code == _STUB_MODE:
        return f"a link-time stub (it answers {_STUB_MODE}): take the library of lib64, not of devlib"
    if code != 0:
        return f"aclrtGetDeviceCount failed with {code}; is the driver running? (npu-smi info)"
    if count.value == 0:
        return "it has no device"
    if get_name := _function(libraries, "aclrtGetSocName"):
        get_name.restype = ctypes.c_char_p
        if not get_name():
            return "aclrtGetSocName knows no chip; do driver and CANN fit together?"
    return USABLE


def _function(libraries: list[ctypes.CDLL], name: str) -> Any:
    for library in libraries:
        try:
            return getattr(library, name)
        except (AttributeError, UnicodeDecodeError):
            continue  # it lacks the function; ctypes cannot say so if the library's path is not text
    return None


def _explain(path: str, text: str) -> str:
    match = re.match(r"(.+?): cannot open shared object file: No such file", text)
    if match and match[1] == path:
        return ABSENT
    if match:
        part = _PARTS.get(match[1], "source the toolkit's set_env.sh")
        return f"a library that it needs is missing: {match[1]} ({part})"
    return text.removeprefix(f"{path}: ")


if __name__ == "__main__":
    answer = json.dumps(examine(sys.argv[2], sys.argv[3:]))
    os.write(int(sys.argv[1]), answer.encode())
    os._exit(0)  # without the exit handlers that the libraries have registered
