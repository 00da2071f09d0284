# SPDX-License-Identifier: Apache-2.0
"""The libraries that can fill the table of functions: the vendor's (``cann``) and the simulator (``sim``)."""

import os
import sys

from ascend_rt.errors import ConfigurationError

# Names for users; "auto" is the vendor's library where CANN is installed, and otherwise the simulator.
BACKENDS = ("auto", "cann", "sim")

IN_WORDS = {"cann": "the vendor's library", "sim": "the simulator"}


def check_backend(backend: str, source: str) -> None:
    """Raise ConfigurationError for an unknown backend; ``source`` is the setting as the user wrote it."""
    if backend not in BACKENDS:
        raise ConfigurationError(f"{source} is not one of {', '.join(BACKENDS)}")


_PLACE = os.path.dirname(os.path.realpath(__file__))


def include_directory() -> str:
    """Return the directory for a C compiler's ``-I``, so that it finds ``acl/acl.h``."""
    return os.path.join(_PLACE, "include")


def pkg_config_directory() -> str:
    """Return the directory for ``PKG_CONFIG_PATH``, so that pkg-config finds ``ascend_rt``.

    Raises
    ------
    FileNotFoundError
        The install is an editable one, whose library is somewhere else.
    """
    if not os.path.isdir(os.path.join(_PLACE, "sim", "lib")):
        raise FileNotFoundError(f"{_PLACE}: an editable install has no file for pkg-config; run 'pip install .'")
    return os.path.join(_PLACE, "pkgconfig")


def python_program() -> str:
    """Return a program that runs this release of Python: this one, unless a program embeds it.

    Raises
    ------
    FileNotFoundError
        There is none on ``PATH`` or where this Python is installed.
    """
    import shutil

    if sys.executable:
        return sys.executable
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = shutil.which(name, path=os.path.join(sys.exec_prefix, "bin")) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"sys.executable names no Python, and {name} is not on PATH: set sys.executable")
    return found
