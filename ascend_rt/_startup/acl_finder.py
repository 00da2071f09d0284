# SPDX-License-Identifier: Apache-2.0
"""Choose the module that ``import acl`` loads: the vendor's or :mod:`ascend_rt.pyacl`.

This file imports nothing of the package: ``ascend-rt run`` executes it at the start of every Python process, and most
of them never import ``acl``.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # importing typing costs more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
else:
    Loader = object

CHOICES = ("auto", "ours", "vendor")


class Finder:
    """Finds ``acl`` and nothing else; comes before all others in ``sys.meta_path``.

    Parameters
    ----------
    which : {"auto", "ours"}
        See :func:`install_acl`.
    """

    def __init__(self, which: str) -> None:
        self.which = which

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load ``ascend_rt.pyacl`` as ``acl``, or None to leave it to the other finders."""
        if name == "acl" and choose(self.which)[0] == "ours" and _is_installed("ascend_rt"):
            return ModuleSpec(name, _Loader(), origin="ascend_rt.pyacl")
        return None


class _Loader(Loader):
    """Loads ``ascend_rt.pyacl`` itself as ``acl``, without changing it.

    Another thread may import a submodule as soon as ``acl`` is in ``sys.modules``, so ``acl`` must be complete by then.
    """

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        pyacl = _complete_module()
        self._spec = pyacl.__spec__  # which the import system replaces by its own
        return pyacl

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


def _complete_module() -> ModuleType:
    """Return :mod:`ascend_rt.pyacl`, whose submodules can be imported as those of ``acl`` from now on."""
    from ascend_rt import pyacl

    modules = [value for value in vars(pyacl).values() if isinstance(value, ModuleType)]
    sys.modules.update({each.__name__: each for each in modules if each.__name__.startswith("acl.")})
    return pyacl


def replace(name: str) -> None:
    """Let the import of a module that executes this give :mod:`ascend_rt.pyacl`."""
    sys.modules[name] = _complete_module()


def install_acl(which: str = "auto") -> None:
    """Let ``import acl`` load :mod:`ascend_rt.pyacl` in this process.

    ``ascend-rt run`` does the same for an untouched script.

    Parameters
    ----------
    which : {"auto", "ours"}
        ``"auto"`` loads the vendor's ``acl`` if it is installed, and otherwise ours; ``"ours"`` always loads ours.

    Raises
    ------
    ValueError
        The argument is neither of these.
    WrongState
        ``"ours"`` was given, and the vendor's module has been imported already.

    Examples
    --------
    >>> install_acl()
    >>> import acl
    >>> acl.rt.get_device_count()
    (8, 0)
    """
    if which not in ("auto", "ours"):
        raise ValueError(f"install_acl({which!r}) is not one of auto, ours")
    loaded = sys.modules.get("acl")
    if which == "ours" and loaded is not None and loaded is not sys.modules.get("ascend_rt.pyacl"):
        from ascend_rt.errors import WrongState

        raise WrongState(f"{getattr(loaded, '__file__', loaded)} is imported as acl already")
    sys.meta_path[:] = [Finder(which), *(finder for finder in sys.meta_path if not isinstance(finder, Finder))]


def asked() -> str:
    """Return the value of ``ASCEND_RT_PYACL``, by default ``"auto"``."""
    which = os.environ.get("ASCEND_RT_PYACL") or "auto"
    if which not in CHOICES:
        from ascend_rt.errors import ConfigurationError

        raise ConfigurationError(f"ASCEND_RT_PYACL={which} is not one of {', '.join(CHOICES)}")
    return which


def choose(which: str) -> tuple[str, str | None, str]:
    """Return ``"vendor"`` or ``"ours"``, the path of the vendor's module, and why it is this one."""
    if which == "ours":
        return "ours", None, "asked for"
    path = _path_of_another()
    if which == "vendor":
        return "vendor", path, "asked for" if path else "asked for, but there is none"
    return ("vendor", path, "it is installed") if path else ("ours", None, "there is no other module of that name")


def _path_of_another() -> str | None:
    others = (finder for finder in sys.meta_path if not isinstance(finder, Finder) and hasattr(finder, "find_spec"))
    for spec in (finder.find_spec("acl", None) for finder in others):
        # A directory without code, such as one of C headers, has no loader: it would be an empty namespace package.
        # The package in the simulated toolkit only leads here.
        if spec is not None and spec.loader is not None and not _is_of_toolkit(spec.origin):
            return spec.origin or repr(spec.loader)
    return None


def _is_of_toolkit(path: str | None) -> bool:
    home = os.path.join(path or "", *[os.pardir] * 4)
    return bool(path) and os.path.isfile(os.path.join(os.path.normpath(home), "simulated"))


def _is_installed(package: str) -> bool:
    """Look for the package; another Python, started with this one's environment, may not have it."""
    from importlib.util import find_spec

    return find_spec(package) is not None
