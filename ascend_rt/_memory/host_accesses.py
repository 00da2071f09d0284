# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of pinned arrays by numpy, noted for the race check (``aclsimNoteHostAccess``).

:func:`install` puts methods into the class of pinned arrays; without the check the class does not have them. An access
has the bytes of the elements that are used. Views of the memory, such as slices, transpositions and shapes, are made
without an access. Arrays of other classes, such as what ``np.asarray`` returns, are not seen here, nor are users
of the buffer protocol: the simulator protects the pages of pinned memory against both.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._runtime.driver import check, ffi, lib, supports, usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Array = np.ndarray[Any, np.dtype[Any]]

READ, WRITE = int(lib.ACLSIM_ACCESS_READ), int(lib.ACLSIM_ACCESS_WRITE)

_HIGHEST_RANK = 16  # dimensions of an access
_MOST_OFFSETS = 1 << 22  # elements of an array whose index arrays are followed
_MOST_PIECES = 4096  # pieces of memory that one index array selects


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# Methods that read the array, those that change it, and functions that use no elements.
_READING = _words(
    "__bool__ __complex__ __contains__ __copy__ __deepcopy__ __float__ __format__ __index__ __int__ __reduce__",
    "__reduce_ex__ all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod",
    "cumsum diagonal dot dump dumps flatten max mean min nonzero prod ptp ravel repeat reshape round searchsorted std",
    "sum take tobytes tofile tolist tostring trace var",
)
_CHANGING = {"fill": WRITE, "partition": READ | WRITE, "sort": READ | WRITE}
_OF_NO_ELEMENTS = _words(
    "can_cast common_type empty_like full_like iscomplexobj isrealobj may_share_memory min_scalar_type ndim ones_like",
    "result_type shape shares_memory size zeros_like",
)
# Methods and functions that may return a part of an array: whether they have read it is known afterwards.
_PERHAPS_VIEWING = _words(
    "array_split as_strided asanyarray asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d",
    "atleast_3d broadcast_arrays broadcast_to conj conjugate diag diagonal dsplit expand_dims flip fliplr flipud",
    "hsplit imag matrix_transpose meshgrid moveaxis permute_dims ravel real real_if_close require reshape rollaxis",
    "rot90 sliding_window_view split squeeze swapaxes transpose trim_zeros unstack vsplit",
)
# Functions that write to all elements, or to some, of their first argument.
_FILLING = _words("copyto")
_FILLING_SOME = _words("fill_diagonal place put put_along_axis putmask")

_thread = threading.local()
_names: dict[str, Any] = {}  # texts in C, which the check keeps
_pinned: type[Array]
_added: list[str] = []


def install(pinned: type[Array]) -> None:
    """Add the methods that note accesses to the class of pinned arrays."""
    global _pinned
    _pinned = pinned
    for name in filter(np.ndarray.__dict__.__contains__, _READING):
        _add(name, _reading(name, getattr(np.ndarray, name)))
    for name, mode in _CHANGING.items():
        _add(name, _changing(name, getattr(np.ndarray, name), mode))
    for name, method in _METHODS.items():
        _add(name, method)


def uninstall() -> None:
    """Remove them."""
    while _added:
        delattr(_pinned, _added.pop())


def _add(name: str, method: Callable[..., Any]) -> None:
    setattr(_pinned, name, method)
    _added.append(name)


# --- notes -----------------------------------------------------------------------------------------------------------


def note(array: Array, mode: int, name: str) -> None:
    """Note that the calling thread reads or writes the elements of an array now."""
    if not array.size or array.ndim > _HIGHEST_RANK or not _is_wanted():
        return
    shape, strides = ffi.new("int64_t[]", array.shape), ffi.new("int64_t[]", array.strides)
    address = ffi.cast("void *", array.__array_interface__["data"][0])
    access = ffi.new("aclsimAccess *")
    access.address, access.mode, access.elementSize = address, mode, array.itemsize
    access.rank, access.shape, access.strides, access.name = array.ndim, shape, strides, _text(name)
    code = lib.aclsimNoteHostAccess(access)
    if code:
        check(code, "aclsimNoteHostAccess")


def _is_wanted() -> bool:
    return usable() and supports("aclsimWantsHostAccesses") and bool(lib.aclsimWantsHostAccesses())


def _text(name: str) -> Any:
    return _names.get(name) or _names.setdefault(name, ffi.new("char[]", name.encode()))


@contextmanager
def _quietly() -> Iterator[bool]:
    """Note nothing meanwhile, because a call that is being noted makes others; True for the outermost call."""
    is_outermost = not getattr(_thread, "is_quiet", False)
    _thread.is_quiet = True
    try:
        yield is_outermost
    finally:
        _thread.is_quiet = not is_outermost


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if type(value) is _pinned else value


def _arrays(values: Iterable[Any]) -> Iterator[Array]:
    """Find the pinned arrays among arguments, which may be lists and the like."""
    for value in values:
        if type(value) is _pinned:
            yield value
        elif isinstance(value, list | tuple):
            yield from _arrays(value)
        elif isinstance(value, dict):
            yield from _arrays(value.values())


def _is_part(result: Any, array: Array) -> bool:
    """Return whether a function has returned a view of the array, or several."""
    if isinstance(result, list | tuple):
        return any(_is_part(each, array) for each in result)
    return isinstance(result, np.ndarray) and np.may_share_memory(result, array)


def _note_use(name: str, inputs: Iterable[Any], outputs: Iterable[Any] = ()) -> None:
    """Note what a call is about to read and write."""
    for array in _arrays(inputs):
        note(array, READ, name)
    for array in _arrays(outputs):
        note(array, WRITE, name)


def _note_unless_parts(name: str, inputs: Iterable[Any], result: Any) -> None:
    """Note what a call has read, unless it returned parts; nothing of the runtime can have come between."""
    _note_use(name, (array for array in _arrays(inputs) if not _is_part(result, array)))


# --- elements that an index selects ----------------------------------------------------------------------------------


def _is_basic(index: Any) -> bool:
    """Return whether an index makes a view: it has integers, slices and names of fields only."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is ... or (isinstance(part, slice | str | int | np.integer) and not isinstance(part, bool))
        for part in parts
    )


def _part(array: Array, index: Any) -> Array:
    """Return what a basic index selects as an array, also if it is one element."""
    parts = index if isinstance(index, tuple) else (index,)
    is_open = isinstance(index, str) or any(part is ... for part in parts)
    part: Array = np.ndarray.__getitem__(array.view(np.ndarray), index if is_open else (*parts, ...))
    return part


def _is_element(array: Array, index: Any) -> bool:
    """Return whether a basic index selects one element, which is then read; a record is not, but a view."""
    parts = index if isinstance(index, tuple) else (index,)
    is_full = len(parts) == array.ndim and all(isinstance(part, int | np.integer) for part in parts)
    return is_full and array.dtype.names is None


def _note_selected(array: Array, select: Callable[[Array], Array], mode: int, name: str) -> None:
    """Note elements that index arrays select: the function selects them of an array of the same shape."""
    if array.size > _MOST_OFFSETS:
        return
    offsets = np.zeros(array.shape, np.int64)
    for axis, (count, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        offsets += (np.arange(count) * stride).reshape(-1, *[1] * (array.ndim - axis - 1))
    selected = np.unique(select(offsets))
    for piece in np.split(selected, np.flatnonzero(np.diff(selected) != array.itemsize) + 1)[:_MOST_PIECES]:
        if piece.size:
            start = array.__array_interface__["data"][0] + int(piece[0])
            note(_at(start, piece.size * array.itemsize), mode, name)


def _at(address: int, nbytes: int) -> Array:
    return np.frombuffer(ffi.buffer(ffi.cast("char *", address), nbytes), np.uint8)


# --- the methods -----------------------------------------------------------------------------------------------------


def _reading(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method that notes that another one reads the array, and what else that uses."""

    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        with _quietly() as is_outermost:
            inputs = (self, args, {key: value for key, value in kwargs.items() if key != "out"})
            is_known = is_outermost and name not in _PERHAPS_VIEWING
            if is_known:
                _note_use(f"ndarray.{name}", inputs, (kwargs.get("out"),))
            result = inner(self, *args, **kwargs)
            if is_outermost and not is_known:
                _note_unless_parts(f"ndarray.{name}", inputs, result)
        return result

    return _described(method, name)


def _changing(name: str, inner: Callable[..., Any], mode: int) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        with _quietly() as is_outermost:
            if is_outermost:
                note(self, mode, f"ndarray.{name}")
                _note_use(f"ndarray.{name}", args)
            return inner(self, *args, **kwargs)

    return _described(method, name)


def _described(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    method.__doc__ = getattr(np.ndarray, name, bytes).__doc__
    return method


def _tobytes(self: Array) -> bytes:
    return self.tobytes()


def _byteswap(self: Array, inplace: bool = False) -> Array:
    with _quietly() as is_outermost:
        if is_outermost:
            note(self, READ | WRITE if inplace else READ, "ndarray.byteswap")
        result: Array = np.ndarray.byteswap(self, inplace)
        return result


def _array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    options = {key: _plain(value) for key, value in kwargs.items()}
    if out is not None:
        options["out"] = tuple(map(_plain, out))
    with _quietly() as is_outermost:
        if is_outermost and method != "at":
            _note_use(f"numpy.{ufunc.__name__}", (inputs, kwargs), out or ())
        elif is_outermost:
            _note_changes_at(f"numpy.{ufunc.__name__}", *inputs)
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
    if out is None or result is NotImplemented:
        return result
    return _first_or_all([given if given is not None else made for given, made in zip(out, _all(result), strict=True)])


def _note_changes_at(name: str, array: Any, index: Any, *operands: Any) -> None:
    if type(array) is _pinned:
        _note_some(array, index, READ | WRITE, name)
    _note_use(name, (index, operands))


def _all(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _first_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _note_some(array: Array, index: Any, mode: int, name: str) -> None:
    """Note the elements that any index selects."""
    if _is_basic(index):
        note(_part(array, index), mode, name)
    else:
        _note_selected(array, lambda offsets: offsets[index], mode, name)


def _array_function(self: Array, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = func.__name__
    inputs = args[1:] if name in _FILLING | _FILLING_SOME else args
    inputs = (inputs, {key: value for key, value in kwargs.items() if key != "out"})
    with _quietly() as is_outermost:
        is_noted = is_outermost and name not in _OF_NO_ELEMENTS
        if is_noted and name not in _PERHAPS_VIEWING:
            _note_use(f"numpy.{name}", inputs, (kwargs.get("out"), *(args[:1] if name in _FILLING else ())))
            if name in _FILLING_SOME and type(args[0]) is _pinned:
                _note_filled(func, *args, **kwargs)
        result = np.ndarray.__array_function__(self, func, types, args, kwargs)
        if is_noted and name in _PERHAPS_VIEWING:
            _note_unless_parts(f"numpy.{name}", inputs, result)
    return result


def _note_filled(func: Any, array: Array, *args: Any, **kwargs: Any) -> None:
    """Note the elements that a function changes: those that it changes in an array of the same shape."""

    def select(offsets: Array) -> Array:
        marks = np.zeros(array.shape, bool)
        ones = dict.fromkeys(kwargs, None) | kwargs
        if func.__name__ == "fill_diagonal":
            func(marks, True, *args[1:], **{key: value for key, value in ones.items() if key != "val"})
        elif func.__name__ == "put_along_axis":
            func(marks, args[0], True, *args[2:], **{key: value for key, value in ones.items() if key != "values"})
        else:  # put, place, putmask: of the elements that the second argument selects
            func(marks, args[0], [True], *args[2:])
        return offsets[marks]

    _note_selected(array, select, WRITE, f"numpy.{func.__name__}")


def _getitem(self: Array, index: Any) -> Any:
    with _quietly() as is_outermost:
        if is_outermost and (_is_element(self, index) or not _is_basic(index)):
            _note_some(self, index, READ, "ndarray.__getitem__")
        return np.ndarray.__getitem__(self, index)


def _setitem(self: Array, index: Any, value: Any) -> None:
    with _quietly() as is_outermost:
        if is_outermost:
            _note_use("ndarray.__setitem__", (value,))
            _note_some(self, index, WRITE, "ndarray.__setitem__")
        np.ndarray.__setitem__(self, index, _plain(value))


def _iter(self: Array) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(len(self)))


def _item(self: Array, *args: Any) -> Any:
    place = args[0] if len(args) == 1 else args
    if not isinstance(place, tuple):
        place = np.unravel_index(range(self.size)[place], self.shape)
    part = _part(self, tuple(map(int, place or (0,) * self.ndim)))
    note(part, READ, "ndarray.item")
    return np.ndarray.item(part)


def _put(self: Array, indices: Any, values: Any, mode: Any = "raise") -> None:
    if getattr(_thread, "is_quiet", False):
        np.ndarray.put(self, indices, values, mode)
    else:
        np.put(self, indices, values, mode)  # which calls this method, and is noted


def _str(self: Array) -> str:
    """Read what is shown: of a large array its edges."""
    with _quietly() as is_outermost:
        if is_outermost:
            for part in _shown(self):
                note(part, READ, "ndarray.__str__")
        return np.ndarray.__str__(self)


def _shown(array: Array) -> Iterator[Array]:
    options = np.get_printoptions()
    edge = options["edgeitems"]
    is_long = array.size > options["threshold"]
    ends = [(slice(edge), slice(-edge, None)) if is_long and n > 2 * edge else (slice(None),) for n in array.shape]
    return (_part(array, corner) for corner in product(*ends))


_METHODS: dict[str, Callable[..., Any]] = {
    "__array_function__": _array_function,
    "__array_ufunc__": _array_ufunc,
    "__bytes__": _tobytes,
    "__getitem__": _getitem,
    "__iter__": _iter,
    "__setitem__": _setitem,
    "__str__": _str,
    "byteswap": _byteswap,
    "item": _item,
    "put": _put,
}
