# SPDX-License-Identifier: Apache-2.0
"""In a separate process: print which library is in use and its versions, as one line of JSON."""

from __future__ import annotations

import os
import sys
from typing import Any

from ascend_rt._generated.functions import FUNCTIONS
from ascend_rt._runtime.driver import ffi, lib, library, supports
from ascend_rt._runtime.releases import cann_version
from ascend_rt.errors import LibraryError
from ascend_rt.versions import version
from ascend_rt_measure.verify.children import results
from ascend_rt_measure.verify.strict_json import dumps


def about() -> dict[str, Any]:
    """Return the library's kind and versions, its devices, and the functions that it does not have, or simulate.

    The runtime is not initialized for that: where that fails, the report shows it.
    """
    versions = version()
    loaded = library()
    count = ffi.new("uint32_t *")
    chip = lib.aclrtGetSocName() if supports("aclrtGetSocName") else ffi.NULL
    return {
        "backend": loaded.backend,
        "cann": cann_version(),
        "api": versions.api,
        "driver": versions.driver,
        "soc": None if chip == ffi.NULL else ffi.string(chip).decode(errors="replace"),
        "devices": 0 if lib.aclrtGetDeviceCount(count) else count[0],
        "missing": sorted(name for name in FUNCTIONS if not supports(name)),
    }


if __name__ == "__main__":
    with results() as out:
        try:
            print(dumps(about()), file=out, flush=True)
        except LibraryError as error:
            sys.exit(str(error))
    os._exit(0)  # at once: libraries can hang when their process exits
