# SPDX-License-Identifier: Apache-2.0
"""The simulator: a ``libascendcl.so`` of its own, installed inside the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def library_path() -> Path:
    """Return the path of the simulator's ``libascendcl.so``.

    Returns
    -------
    Path
        The library inside the installed package, or inside the build directory of an editable install.
    """
    return Path(str(resources.files(__name__) / "lib" / "libascendcl.so"))


def library_directory() -> Path:
    """Return the directory for ``LD_LIBRARY_PATH``, which has ``libacl_rt.so`` as well.

    Returns
    -------
    Path
        The directory of `library_path`.
    """
    return library_path().parent
