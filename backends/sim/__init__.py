# SPDX-License-Identifier: Apache-2.0
"""The simulator: a separate ``libascendcl.so``, installed inside the package."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from pathlib import Path


def find() -> str:
    """Return what `library_path` does, without what its import takes: every process begins with it."""
    return _find("libascendcl.so")


def _find(name: str) -> str:
    beside = os.path.join(os.path.dirname(__file__), "lib", name)
    if os.path.exists(beside):
        return beside
    from importlib import resources  # knows the build directory of an editable install

    return str(resources.files(__name__) / "lib" / name)


def library_path() -> Path:
    """Return the path of the simulator's ``libascendcl.so``.

    Returns
    -------
    Path
        The library inside the installed package, or inside the build directory of an editable install.
    """
    from pathlib import Path

    return Path(find())


def library_directory() -> Path:
    """Return the directory for ``LD_LIBRARY_PATH``, which has ``libacl_rt.so`` as well.

    Returns
    -------
    Path
        The directory of `library_path`.
    """
    return library_path().parent


def companion_directory() -> Path:
    """Return the directory with the libraries of CANN that use the runtime, such as ``libhccl.so``.

    Returns
    -------
    Path
        That of `library_directory`, but for the build directory of an editable install.
    """
    from pathlib import Path

    return Path(_find("libhccl.so")).parent


def load_companions() -> None:
    """Load the libraries of `companion_directory`, for those that are linked with them and are loaded later."""
    import ctypes

    for path in sorted(companion_directory().glob("lib*.so")):
        ctypes.CDLL(str(path))
