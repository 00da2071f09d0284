# SPDX-License-Identifier: Apache-2.0
"""Run in a child process: open a library, ask it for its devices, write the verdict as JSON to a file descriptor.

``probe.py LIBRARY DESCRIPTOR``. Standard output belongs to the library, which may print what it likes. Needs nothing
but the standard library, so that the child starts fast and loads nothing else.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys

_STUB_MODE = 100039  # what every function of a compile-time stub answers


def verdict(path: str) -> str:
    """Return ``"usable"``, ``"the simulator"``, ``"not there"``, or what is wrong with the library."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return _explain(path, str(error))
    if hasattr(library, "aclsimHold"):
        return "the simulator"
    missing = [name for name in ("aclInit", "aclrtGetDeviceCount", "aclrtSetDevice") if not hasattr(library, name)]
    if missing:
        return f"no runtime of CANN: it lacks {missing[0]}"
    count = ctypes.c_uint32(0)
    code = library.aclrtGetDeviceCount(ctypes.byref(count))
    if code == _STUB_MODE:
        return f"a link-time stub (it answers {_STUB_MODE})"
    if code != 0:
        return f"aclrtGetDeviceCount failed with {code}; is the driver running?"
    if count.value == 0:
        return "it has no device"
    return "usable"


def _explain(path: str, text: str) -> str:
    match = re.match(r"(\S+): cannot open shared object file: No such file", text)
    if match and match[1] == path:
        return "not there"
    if match:
        return f"a library that it needs is missing: {match[1]}"
    return text


if __name__ == "__main__":
    answer = json.dumps(verdict(sys.argv[1]))
    os.write(int(sys.argv[2]), answer.encode())
    os._exit(0)  # whatever the library registered for the exit is not our business
