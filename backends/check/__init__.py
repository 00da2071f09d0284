# SPDX-License-Identifier: Apache-2.0
"""The race check for programs on the vendor's library: a library that passes calls on to it, and notes them."""

from __future__ import annotations

import os


def library_path() -> str:
    """Return the path of ``libascend_rt_check.so``.

    Returns
    -------
    str
        The library inside the installed package, or inside the build directory of an editable install.
    """
    beside = os.path.join(os.path.dirname(__file__), "lib", "libascend_rt_check.so")
    if os.path.exists(beside):
        return beside
    from importlib import resources  # knows the build directory of an editable install

    return str(resources.files(__name__) / "lib" / "libascend_rt_check.so")
