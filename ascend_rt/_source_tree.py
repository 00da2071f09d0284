# SPDX-License-Identifier: Apache-2.0
"""A sentence for those whose Python finds the source tree instead of the installed package."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

_SENTENCE = (
    "{place} is the source of ascend_rt, not the installed package: it has no compiled part. "
    "Run 'pip install .' (or 'pip install -e .') there, then start Python in another directory, "
    "or use the command 'ascend-rt'."
)


def explain_if_uninstalled() -> None:
    """Raise ImportError with a sentence that says what to do; ``python -m ascend_rt`` ends with just the sentence."""
    if find_spec("ascend_rt._aclrt") is not None:
        return
    sentence = _SENTENCE.format(place=Path(__file__).parent)
    if sys.argv[:1] == ["-m"]:
        sys.exit(sentence)
    raise ImportError(sentence)
