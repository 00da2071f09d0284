# SPDX-License-Identifier: Apache-2.0
"""A sentence for those whose Python finds the source tree instead of the installed package."""

from __future__ import annotations

import os
import sys

_SENTENCE = (
    "{place} is the source of ascend_rt, not the installed package: it has no compiled part. "
    "Run 'pip install .' (or 'pip install -e .') there, then start Python in another directory, "
    "or use the command 'ascend-rt'."
)


def explain_if_uninstalled() -> None:
    """Raise ImportError with a sentence that says what to do; ``python -m ascend_rt`` ends with just the sentence."""
    try:
        import ascend_rt._aclrt  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "ascend_rt._aclrt":
            raise  # something that the compiled part needs
        sentence = _SENTENCE.format(place=os.path.dirname(__file__))
        if sys.argv[:1] == ["-m"]:
            sys.exit(sentence)
        raise ImportError(sentence) from None
