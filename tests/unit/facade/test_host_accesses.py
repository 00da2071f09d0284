# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of pinned arrays are noted for the race check, with the bytes that numpy uses."""

from __future__ import annotations

import copy as copies
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ascend_rt import Device, PinnedBuffer, lib
from ascend_rt._memory import host_accesses

READ, WRITE, BOTH = host_accesses.READ, host_accesses.WRITE, host_accesses.READ | host_accesses.WRITE
N = 6  # elements of 4 bytes

Noted = tuple[int, tuple[int, ...]]


class Notes:
    """The notes, as pairs of a mode and the numbers of the elements of an array."""

    def __init__(self, *arrays: PinnedBuffer[Any]) -> None:
        self.begin = [array.handle for array in arrays]
        self.list: list[Noted] = []

    def add(self, access: Any) -> int:
        shape = [access.shape[i] for i in range(access.rank)]
        strides = [access.strides[i] for i in range(access.rank)]
        offsets = np.zeros(shape, np.int64)
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True)):
            offsets += (np.arange(count) * stride).reshape(-1, *[1] * (len(shape) - axis - 1))
        first = int(lib_address(access.address))
        covered = {first + int(offset) + byte for offset in offsets.flat for byte in range(access.elementSize)}
        for number, begin in enumerate(self.begin):
            elements = tuple(i for i in range(N) if set(range(begin + 4 * i, begin + 4 * i + 4)) & covered)
            if elements:
                assert len(covered) == 4 * len(elements)
                self.list.append((access.mode, tuple(100 * number + i for i in elements)))
        return 0


def lib_address(pointer: Any) -> int:
    from ascend_rt._runtime.driver import address

    return address(pointer)


@pytest.fixture
def hooks() -> Iterator[None]:
    host_accesses.install(PinnedBuffer)
    try:
        yield
    finally:
        host_accesses.uninstall()


@pytest.fixture
def pinned(device: Device, hooks: None) -> PinnedBuffer[np.float32]:
    return PinnedBuffer.from_array(np.arange(N, dtype=np.float32))


def noted(run: Callable[[], Any], *arrays: PinnedBuffer[Any]) -> list[Noted]:
    notes = Notes(*arrays)
    with lib.override("aclsimWantsHostAccesses", lambda: 1), lib.override("aclsimNoteHostAccess", notes.add):
        run()
    return notes.list


ALL = tuple(range(N))
Array = Any  # PinnedBuffer[np.float32], and what numpy makes of it

VIEWS: dict[str, Callable[[Array], Any]] = {
    "slice": lambda a: a[1:3],
    "step": lambda a: a[::2],
    "element as an array": lambda a: a[2, ...],
    "new axis": lambda a: a[None],
    "reshape": lambda a: a.reshape(2, 3),
    "transpose": lambda a: a.reshape(2, 3).T,
    "np.transpose": lambda a: np.transpose(a.reshape(2, 3)),
    "np.reshape": lambda a: np.reshape(a, (3, 2)),
    "ravel": lambda a: a.ravel(),
    "np.split": lambda a: np.split(a, 2),
    "np.flip": np.flip,
    "view": lambda a: a.view(np.uint8),
    "diagonal": lambda a: a.reshape(2, 3).diagonal(),
    "shape": lambda a: (len(a), a.shape, np.shape(a), np.size(a), a.nbytes, a.dtype),
    "zeros_like": np.zeros_like,
    "memoryview": memoryview,
    "asarray": np.asarray,
    "repr": repr,
    "no copy": lambda a: a.astype(np.float32, copy=False),
    "empty": lambda a: a[3:3].sum(),
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_another_view_is_no_access(pinned: Array, make: Callable[[Array], Any]) -> None:
    assert noted(lambda: make(pinned), pinned) == []


def assign(index: Any, value: Any = 0) -> Callable[[Array], None]:
    def run(array: Array) -> None:
        array[index] = value

    return run


def add_to_part(array: Array) -> None:
    array[:2] += 1


USES: dict[str, tuple[Callable[[Array], Any], list[Noted]]] = {
    "element": (lambda a: a[2], [(READ, (2,))]),
    "last element": (lambda a: a[-1], [(READ, (5,))]),
    "element of two dimensions": (lambda a: a.reshape(2, 3)[1, 0], [(READ, (3,))]),
    "mask": (lambda a: a[np.array([True, False, True, True, False, False])], [(READ, (0,)), (READ, (2, 3))]),
    "index array": (lambda a: a[[4, 0, 4]], [(READ, (0,)), (READ, (4,))]),
    "assignment": (assign(slice(1, 3)), [(WRITE, (1, 2))]),
    "assignment with a step": (assign(slice(None, None, 2)), [(WRITE, (0, 2, 4))]),
    "assignment backwards": (assign(slice(3, None, -1)), [(WRITE, (0, 1, 2, 3))]),
    "assignment of an element": (assign(4), [(WRITE, (4,))]),
    "assignment by a list": (assign([1, 3]), [(WRITE, (1,)), (WRITE, (3,))]),
    "assignment of all": (assign(...), [(WRITE, ALL)]),
    "assignment of a column": (lambda a: assign((slice(None), 1))(a.reshape(2, 3)), [(WRITE, (1, 4))]),
    "in-place operator": (add_to_part, [(READ, (0, 1)), (WRITE, (0, 1)), (READ, (0, 1)), (WRITE, (0, 1))]),
    "ufunc": (lambda a: a[1:] + 1, [(READ, (1, 2, 3, 4, 5))]),
    "ufunc from the right": (lambda a: np.ones(3, np.float32) * a[:3], [(READ, (0, 1, 2))]),
    "ufunc into": (lambda a: np.add(1, 2, out=a[:2]), [(WRITE, (0, 1))]),
    "ufunc at": (lambda a: np.add.at(a, [1, 1], 5), [(BOTH, (1,))]),
    "ufunc where": (lambda a: np.add(1, 1, out=np.zeros(N), where=a > 2), [(READ, ALL)]),
    "reduce": (lambda a: np.add.reduce(a[:4]), [(READ, (0, 1, 2, 3))]),
    "comparison": (lambda a: a[:1] == 3, [(READ, (0,))]),
    "method": (lambda a: a[::3].sum(), [(READ, (0, 3))]),
    "method into": (lambda a: np.ones((2, 3), np.float32).sum(axis=0, out=a[3:]), [(WRITE, (3, 4, 5))]),
    "function": (lambda a: np.sum(a[:2]), [(READ, (0, 1))]),
    "function of a list": (lambda a: np.concatenate([a[:1], a[2:3]]), [(READ, (0,)), (READ, (2,))]),
    "copyto": (lambda a: np.copyto(a[1:2], 7), [(WRITE, (1,))]),
    "copyto from": (lambda a: np.copyto(np.empty(2), a[:2]), [(READ, (0, 1))]),
    "put": (lambda a: np.put(a, [0, 5], 1), [(WRITE, (0,)), (WRITE, (5,))]),
    "method put": (lambda a: a.put([2], 1), [(WRITE, (2,))]),
    "putmask": (lambda a: np.putmask(a, np.arange(N) > 3, 1), [(WRITE, (4, 5))]),
    "place": (lambda a: np.place(a, np.arange(N) < 1, [1]), [(WRITE, (0,))]),
    "fill_diagonal": (lambda a: np.fill_diagonal(a.reshape(2, 3), 1), [(WRITE, (0,)), (WRITE, (4,))]),
    "fill": (lambda a: a[:3].fill(1), [(WRITE, (0, 1, 2))]),
    "sort": (lambda a: a[2:].sort(), [(BOTH, (2, 3, 4, 5))]),
    "byteswap": (lambda a: a.byteswap(inplace=True), [(BOTH, ALL)]),
    "byteswap of a copy": (lambda a: a.byteswap(), [(READ, ALL)]),
    "item": (lambda a: a.item(3), [(READ, (3,))]),
    "tolist": (lambda a: a[:2].tolist(), [(READ, (0, 1))]),
    "tobytes": (lambda a: a[:2].tobytes(), [(READ, (0, 1))]),
    "bytes": (lambda a: bytes(a[4:]), [(READ, (4, 5))]),
    "float": (lambda a: float(a[1:2].reshape(())), [(READ, (1,))]),
    "truth": (lambda a: bool(a[1:2]), [(READ, (1,))]),
    "copy": (lambda a: a.copy(), [(READ, ALL)]),
    "copy.copy": (copies.copy, [(READ, ALL)]),
    "astype": (lambda a: a.astype(np.float64), [(READ, ALL)]),
    "pickle": (lambda a: pickle.dumps(a[:1]), [(READ, (0,))]),
    "save": (lambda a: np.save(io.BytesIO(), a[:2]), [(READ, (0, 1))]),
    "iteration": (lambda a: next(iter(a[2:])), [(READ, (2,))]),
    "all elements": (lambda a: list(a[:3]), [(READ, (0,)), (READ, (1,)), (READ, (2,))]),
    "unpacking": (lambda a: (lambda x, y: (x, y))(*a[:2]), [(READ, (0,)), (READ, (1,))]),
    "contains": (lambda a: 77 in a[:2], [(READ, (0, 1))]),
    "str": (lambda a: str(a[:2]), [(READ, (0, 1))]),
    "where": (lambda a: np.where(a[:2], 1, 2), [(READ, (0, 1))]),
    "dot": (lambda a: a[:2] @ a[2:4], [(READ, (0, 1)), (READ, (2, 3))]),
}


@pytest.mark.parametrize(("run", "expected"), USES.values(), ids=USES)
def test_a_use_has_its_elements(pinned: Array, run: Callable[[Array], Any], expected: list[Noted]) -> None:
    assert noted(lambda: run(pinned), pinned) == expected


def test_a_long_array_is_shown_by_its_edges(device: Device, hooks: None) -> None:
    pinned = PinnedBuffer.from_array(np.arange(4000, dtype=np.float32))
    sizes: list[tuple[int, int]] = []

    def note(access: Any) -> int:
        sizes.append((lib_address(access.address) - pinned.handle, access.elementSize * access.shape[0]))
        return 0

    with lib.override("aclsimWantsHostAccesses", lambda: 1), lib.override("aclsimNoteHostAccess", note):
        assert str(pinned).startswith("[0.000e+00 1.000e+00 2.000e+00 ... ")
    assert sizes == [(0, 12), (4 * 3997, 12)]


def test_operands_are_noted_each(pinned: Array) -> None:
    other = PinnedBuffer.from_array(np.ones(N, np.float32))
    assert noted(lambda: np.multiply(pinned[:1], other[1:2], out=other[:1]), pinned, other) == [
        (READ, (0,)),
        (READ, (101,)),
        (WRITE, (100,)),
    ]
    assert other.tolist() == [0, 1, 1, 1, 1, 1]
    assert noted(lambda: pinned.__setitem__(slice(2), other[3:5]), pinned, other) == [
        (READ, (103, 104)),
        (WRITE, (0, 1)),
    ]


def test_results_are_as_without_the_hooks(device: Device) -> None:
    cases = [run for run, _ in USES.values()] + list(VIEWS.values())

    def results() -> list[Any]:
        made = [run(PinnedBuffer.from_array(np.arange(N, dtype=np.float32))) for run in cases]
        return [(type(it), None if isinstance(it, memoryview | str) else copies.deepcopy(it)) for it in made]

    plain = results()
    host_accesses.install(PinnedBuffer)
    try:
        noted_results = results()
    finally:
        host_accesses.uninstall()
    for (kind, value), (other_kind, other) in zip(plain, noted_results, strict=True):
        assert kind is other_kind
        assert str(value) == str(other)


def test_records_and_fields(device: Device, hooks: None) -> None:
    pinned = PinnedBuffer.empty(N // 2, [("a", np.int32), ("b", np.int32)])
    assert noted(lambda: pinned[1], pinned) == []  # a record is a view
    assert noted(lambda: pinned.__setitem__("b", 1), pinned) == [(WRITE, (1, 3, 5))]
    assert noted(lambda: pinned["a"].sum(), pinned) == [(READ, (0, 2, 4))]


def test_an_error_is_numpys(pinned: Array) -> None:
    def fail() -> None:
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            pinned[9]
        with pytest.raises(IndexError):
            pinned[9] = 1
        with pytest.raises(ValueError, match="could not be broadcast"):
            pinned[:2] + pinned[:3]
        with pytest.raises(TypeError):
            iter(pinned[0, ...])

    assert noted(fail, pinned) == [(READ, (0, 1)), (READ, (0, 1, 2))]


def test_nothing_is_noted_unless_it_is_wanted(pinned: Array) -> None:
    notes = Notes(pinned)
    with lib.override("aclsimWantsHostAccesses", lambda: 0), lib.override("aclsimNoteHostAccess", notes.add):
        pinned[0] = 1
    assert notes.list == []


def test_without_the_check_the_class_has_no_hooks() -> None:
    names = {"__getitem__", "__setitem__", "__iter__", "__array_ufunc__", "__array_function__", "sum", "tobytes"}
    assert names.isdisjoint(vars(PinnedBuffer))
    host_accesses.install(PinnedBuffer)
    assert names <= set(vars(PinnedBuffer))
    host_accesses.uninstall()
    assert names.isdisjoint(vars(PinnedBuffer))
