# SPDX-License-Identifier: Apache-2.0
"""Functions of the package that a call enters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ascend_rt

PACKAGE = Path(ascend_rt.__file__).parent


def called_in_python(call: Callable[[], object]) -> list[str]:
    """Return the functions of the package that a call enters."""
    entered: list[str] = []

    def note(frame: Any, happening: str, _: object) -> None:
        if happening == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            entered.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered
