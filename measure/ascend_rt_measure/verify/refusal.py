# SPDX-License-Identifier: Apache-2.0
"""In a separate process: print why the library in use refuses every call, as a line of JSON; null if it does not."""

from __future__ import annotations

from ascend_rt._runtime.driver import call, ffi
from ascend_rt.errors import AclError, ConfigurationError
from ascend_rt_measure.verify.children import results
from ascend_rt_measure.verify.strict_json import dumps


def refusal() -> str | None:
    """Return the library's own words."""
    try:
        call("aclInit", ffi.NULL)
    except AclError as error:
        return error.message
    except ConfigurationError as error:
        return str(error)
    return None


if __name__ == "__main__":
    with results() as out:
        print(dumps(refusal()), file=out)
