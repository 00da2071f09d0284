# SPDX-License-Identifier: Apache-2.0
"""Modules that follow those of frameworks on the simulator.

:mod:`ascend_rt.torch` follows ``torch_npu`` and runs its operators. MindSpore has none here, and says so.

This file imports nothing of the package: ``ascend-rt run --backend sim`` executes it at the start of every Python
process, and most of them never import a framework.
"""

from __future__ import annotations

import atexit
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_FOLLOWERS = {
    "torch_npu": "ascend_rt.torch",
    "mindspore.device_manager": "ascend_rt._startup.mindspore_devices",
}

# Functions that are called first.
_PREPARATIONS = {
    "torch_npu": (
        ("ascend_rt._startup.torch_versions", "require_supported_pair"),
        ("ascend_rt._startup.allocator_options", "forget"),
    ),
}

# As install_hint.py writes it.
_MISSING = "ascend-rt run: to have PyTorch with its adapter for NPUs: pip install '.[torch]' in a checkout of ascend_rt"

TYPE_CHECKING = False  # importing typing costs more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from typing import Any
else:
    Loader = object


class Finder:
    """Finds modules that have followers where the other finders do; comes before them in ``sys.meta_path``."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module and its follower, or None to leave a module to the other finders."""
        if name not in _FOLLOWERS:
            return None
        others = (finder for finder in sys.meta_path if not isinstance(finder, Finder))
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Does what the module's own loader does, after the preparations, and imports the follower then."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        for room, function in _PREPARATIONS.get(module.__name__, ()):
            getattr(import_module(room), function)()
        self._own.exec_module(module)
        import_module(_FOLLOWERS[module.__name__])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def install() -> None:
    """Let imports of frameworks also load followers; print at the end why torch_npu could not be imported."""
    sys.meta_path.insert(0, Finder())
    atexit.register(_say_what_is_missing)


def _say_what_is_missing() -> None:
    # Print only if the error ends the program, after its traceback: many programs try to import torch_npu, and go on
    # without.
    error = getattr(sys, "last_value", None)
    if isinstance(error, ModuleNotFoundError) and error.name == "torch_npu":
        print(_MISSING, file=sys.stderr)
    # torch, which imports torch_npu itself, ends the traceback with advice that does not help here.
    cause = getattr(error, "__cause__", None)
    if type(cause).__module__ == "ascend_rt.errors":
        print(f"ascend-rt run: {cause}", file=sys.stderr)
