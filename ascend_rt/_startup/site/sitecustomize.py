# SPDX-License-Identifier: Apache-2.0
"""Executed by Python at its start under ``ascend-rt run``, which puts this directory on ``PYTHONPATH``.

It makes ``import acl`` work in the script and in the processes that the script starts, and frameworks on the simulator,
and leaves no other trace: the module path is what it would be, and another ``sitecustomize`` is executed as
well.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))


def _module(name: str, room: str = "_startup") -> ModuleType:
    # Under its name in the package, without importing the package, which takes longer than Python's start.
    loader = SourceFileLoader(f"ascend_rt.{room}.{name}", os.path.join(_PACKAGE, room, f"{name}.py"))
    module = sys.modules[loader.name] = ModuleType(loader.name)
    loader.exec_module(module)
    return module


def _execute_the_next() -> None:
    this = sys.modules.pop("sitecustomize")
    try:
        import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


sys.path[:] = [entry for entry in sys.path if entry != _HERE]
if os.environ.get("ASCEND_RT_PYACL") in ("auto", "ours"):
    _module("acl_finder").install_acl(os.environ["ASCEND_RT_PYACL"])
if os.environ.get("ASCEND_RT_BACKEND") == "sim":
    _module("framework_finder").install()
_checks = os.environ.get("ASCEND_RT_SIM_CHECK", "").split(",")
if "deadlocks" in _checks:
    _module("checked_locks", "_runtime").install()  # before the program makes locks
if "races" in _checks or os.environ.get("ASCEND_RT_CHECK_WRAPS"):
    _module("host_threads").install()  # around those locks
_execute_the_next()
