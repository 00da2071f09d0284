# SPDX-License-Identifier: Apache-2.0
"""In a separate process: the C functions, ``lib`` and ``ffi``, without the facade.

Half of the time of an import is the facade's. Names of the facade are imported on request.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

_spec = find_spec("ascend_rt")
assert _spec is not None
_package = module_from_spec(_spec)


def _name_of_the_facade(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)  # a submodule
    del _package.__dict__["__getattr__"]
    assert _spec is not None
    assert _spec.loader is not None
    _spec.loader.exec_module(_package)
    return getattr(_package, name)


_package.__dict__["__getattr__"] = _name_of_the_facade
sys.modules["ascend_rt"] = _package

from ascend_rt._runtime import driver  # noqa: E402  (the package above)

lib, ffi = driver.lib, driver.ffi


def ok(code: int) -> None:
    """Expect a call to succeed."""
    assert code == 0, code


def new(c_type: str, function: str, *arguments: Any) -> Any:
    """Return what a function creates, or looks up, in its first argument."""
    out = ffi.new(f"{c_type} *")
    ok(getattr(lib, function)(out, *arguments))
    return out[0]
