# SPDX-License-Identifier: Apache-2.0
"""Handles and addresses that are given as numbers: a C cast takes them modulo 2 ** 64, which is another object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_rt import Buffer, Context, Device, Event, PhysicalMemory, Stream, pointer_attributes, sim

TAKERS: dict[str, Callable[[Any], object]] = {
    "Stream": Stream.from_handle,
    "Event": Event.from_handle,
    "Context": Context.from_handle,
    "Buffer": lambda number: Buffer.from_handle(number, 8),
    "pointer_attributes": pointer_attributes,
    "PhysicalMemory": lambda number: PhysicalMemory.from_shareable(number, 2 << 20, Device(0)),
    "register_symbol": lambda number: sim.register_symbol(number, b"content"),
    "unregister_symbol": sim.unregister_symbol,
}

takers = pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS.keys())


@takers
@pytest.mark.parametrize("number", [-1, 2**64, 2**64 + 4096, -(2**64), 2**200])
def test_a_number_that_does_not_fit_is_refused(take: Callable[[Any], object], number: int, device: Device) -> None:
    with pytest.raises(ValueError, match=rf"at least 0 and less than 2 \*\* 64, got {number}$"):
        take(number)


@takers
@pytest.mark.parametrize("given", [True, False, 4096.0, "4096", b"4096", None, [4096], np.float64(4096)])
def test_what_is_no_integer_is_refused(take: Callable[[Any], object], given: object, device: Device) -> None:
    with pytest.raises(TypeError, match=rf"expected an int .*, got {type(given).__name__}$"):
        take(given)


@takers
def test_a_pointer_is_no_number(take: Callable[[Any], object], device: Device, ffi: Any) -> None:
    with pytest.raises(TypeError, match=r"expected an int .*, got"):
        take(ffi.cast("void *", 4096))


@pytest.mark.parametrize("kind", [int, np.uint64])
def test_integers_of_any_kind_are_taken(kind: Callable[[int], Any], device: Device) -> None:
    with Stream() as stream, Event() as event, Context(0) as context, Buffer(64) as memory:
        owned = (stream, event, context, memory)
        borrowed = [type(it).from_handle(kind(it.handle)) for it in (stream, event, context)]
        borrowed.append(Buffer.from_handle(kind(memory.handle), 64))
        assert [it.handle for it in borrowed] == [it.handle for it in owned]


def test_the_largest_number_is_passed_on(device: Device) -> None:
    assert Stream.from_handle(2**64 - 1).handle == 2**64 - 1
    assert Event.from_handle(2**64 - 1).handle == 2**64 - 1
    assert Context.from_handle(2**64 - 1).handle == 2**64 - 1
