# SPDX-License-Identifier: Apache-2.0
"""Methods and functions that Python declares, and whose bodies are in C.

The declaration is the only one: C gets the names of the parameters from it, and shows them with the docstring. It has
no body. For a wrong call C calls the declaration, which raises the error that Python has for the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ascend_rt._native import handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Declared = TypeVar("_Declared", bound="Callable[..., Any]")

_HAS_ARGUMENTS, _HAS_KEYWORDS = 0x04, 0x08  # inspect.CO_VARARGS and CO_VARKEYWORDS; that module imports for 6 ms


def in_c(declared: _Declared) -> _Declared:
    """Replace a function, or the methods and properties of a class, by those that have a body in C."""
    return handles.install_hot_methods(declared, _definition)


def _definition(function: Any) -> tuple[str, tuple[str, ...], int, int, int]:
    """Return what C needs of a function.

    Returns
    -------
    tuple
        Its parameters in the form that :func:`inspect.signature` reads, their names without self, how many of them must
        be given, how many may be given by position, and how many only so.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_method = int(names[:1] == ("self",))
    required = code.co_argcount - len(function.__defaults__ or ()) - is_method
    only = max(code.co_posonlyargcount - is_method, 0)
    text = f"({', '.join(_shown(function))})"
    return text, names[is_method:], required, code.co_argcount - is_method, only


def _shown(function: Any) -> Iterator[str]:
    code = function.__code__
    count, defaults = code.co_argcount, function.__defaults__ or ()
    names = iter(code.co_varnames)
    for i in range(count):
        name, place = next(names), i - (count - len(defaults))
        yield "$self" if (i, name) == (0, "self") else name if place < 0 else f"{name}={defaults[place]!r}"
        if i + 1 == code.co_posonlyargcount:
            yield "/"
    only_by_name = [next(names) for _ in range(code.co_kwonlyargcount)]
    if code.co_flags & _HAS_ARGUMENTS:
        yield f"*{next(names)}"
    elif only_by_name:
        yield "*"
    for name in only_by_name:
        yield f"{name}={function.__kwdefaults__[name]!r}"
    if code.co_flags & _HAS_KEYWORDS:
        yield f"**{next(names)}"
