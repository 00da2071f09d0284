# SPDX-License-Identifier: Apache-2.0
"""Load the installed package if Python finds the source tree first, which has no compiled part."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing costs more than the rest of this file, and so does what the search needs
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_SENTENCE = (
    "{place} is the source of ascend_rt, not the installed package: it has no compiled part, and {python} has no "
    "ascend_rt installed. Run 'pip install .' there, or 'pip install -e .' for changes of the source to take effect."
)


def give_way_to_installed() -> None:
    """Replace this package by the installed one if this one has not been compiled.

    Raises
    ------
    ImportError
        None is installed. ``python -m ascend_rt`` ends with the sentence alone.
    """
    try:
        import ascend_rt._aclrt  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "ascend_rt._aclrt":
            raise  # something that the compiled part needs
    else:
        return
    import os
    from importlib.util import module_from_spec

    spec = _installed()
    if spec is None or spec.loader is None:
        sentence = _SENTENCE.format(place=os.path.dirname(os.path.dirname(__file__)), python=sys.executable)
        if sys.argv[:1] == ["-m"]:
            sys.exit(sentence)
        raise ImportError(sentence) from None
    for name in [name for name in sys.modules if name.startswith("ascend_rt.")]:
        del sys.modules[name]
    # An import returns what is in this table at its end.
    sys.modules["ascend_rt"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


def _installed() -> ModuleSpec | None:
    """Return the first package of this name on the path that has a compiled part."""
    from importlib.machinery import PathFinder

    for entry in sys.path:
        spec = PathFinder.find_spec("ascend_rt", [entry])
        if spec is not None and PathFinder.find_spec("ascend_rt._aclrt", spec.submodule_search_locations):
            return spec
    return None
