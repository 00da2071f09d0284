# SPDX-License-Identifier: Apache-2.0
"""``import acl.rt`` in a program that has put :mod:`ascend_rt.pyacl` into ``sys.modules`` as ``acl``."""

from __future__ import annotations

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PREFIX = "acl."


class Finder(Loader):
    """Finds the submodules, which have no files; comes after all other finders."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import a submodule if ``acl`` is the package, and not the vendor's module."""
        if not name.startswith(_PREFIX) or sys.modules.get("acl") is not self._package:
            return None
        found = vars(self._package).get(name.removeprefix(_PREFIX))
        return ModuleSpec(name, self) if isinstance(found, ModuleType) and found.__name__ == name else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the submodule, which exists."""
        found: ModuleType = vars(self._package)[spec.name.removeprefix(_PREFIX)]
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is: it is complete."""
