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
_METHOD_IN_C = type(str.join)


def in_c(declared: _Declared) -> _Declared:
    """Replace a function, or the methods and properties of a class, by those that have a body in C."""
    made = handles.install_hot_methods(declared, _definition)
    if isinstance(made, type) and isinstance(made.__dict__.get("__init__"), _METHOD_IN_C):
        made.__signature__ = _Signature(made)  # type: ignore[attr-defined]
    return made


class _Signature:
    """The signature of a class whose constructor is in C: :mod:`inspect` of Python 3.13 raises an error for it."""

    def __init__(self, declared: type) -> None:
        self._declared = declared

    def __get__(self, instance: object, owner: type) -> Any:
        between = owner.__mro__[: owner.__mro__.index(self._declared)]
        if any("__init__" in each.__dict__ or "__new__" in each.__dict__ for each in between):
            raise AttributeError("__signature__")  # the subclass has another one
        import inspect  # imports for 6 ms

        of_init = inspect.signature(self._declared.__init__)  # type: ignore[misc]
        return of_init.replace(parameters=list(of_init.parameters.values())[1:])


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
