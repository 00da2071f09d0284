# SPDX-License-Identifier: Apache-2.0
"""Information of the runtime about addresses and a device's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support.threads import in_thread, in_threads

from ascend_rt import (
    Buffer,
    Context,
    Device,
    PinnedBuffer,
    pointer_attributes,
    sim,
)
from ascend_rt.enums import MemLocationType
from ascend_rt.errors import InvalidArgument, NotSupported, OutOfMemory


def test_pointer_attributes(device: Device) -> None:
    ordinary = np.zeros(64)
    with Buffer(4096) as memory, PinnedBuffer(64) as pinned:
        found = {
            pointer_attributes(memory.handle + 5): (MemLocationType.DEVICE, 0),
            pointer_attributes(pinned.handle): (MemLocationType.HOST, 0),
            pointer_attributes(ordinary.ctypes.data): (MemLocationType.UNREGISTERED, 0),
        }
    for attributes, expected in found.items():
        assert (attributes.location, attributes.device_id) == expected
        assert attributes.page_size >= 4096


def test_pointer_attributes_need_no_context(device: Device) -> None:
    with Buffer(64) as memory:
        assert in_thread(lambda: pointer_attributes(memory.handle)).location == MemLocationType.DEVICE
        assert in_thread(lambda: memory.device) == Device(0)


def test_a_buffer_knows_its_device(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    with Device(1):
        there = Buffer(64)
    assert (there.device, there[8:].device, Device.current()) == (Device(1), Device(1), device)
    assert there.__dlpack_device__() == (12, 1)
    there.close()


def test_memory_info_needs_no_context_and_changes_none(device: Device) -> None:
    here = device.memory_info
    assert 0 < here.free <= here.total
    assert in_thread(lambda: Device(0).memory_info) == here
    with Context(0) as explicit:
        assert Device(0).memory_info == here
        current = Context.current()
        assert current is not None
        assert current.handle == explicit.handle
    explicit.close()


def test_memory_of_another_device_is_counted_there(device: Device) -> None:
    if Device.count() < 2:
        pytest.skip("needs two devices")
    there = Device(1).memory_info
    with Buffer(64 << 20):
        assert Device(1).memory_info == there
    with Device(1), Buffer(64 << 20):
        assert there.free - Device(1).memory_info.free >= 64 << 20


def test_memory_usage(device: Device, backend: str) -> None:
    if backend == "sim" and sim.info().product == "950":
        with pytest.raises(NotSupported):
            device.memory_usage()
        return
    with Buffer(64 << 20):
        usage = device.memory_usage()
        assert sum(it.current for it in usage) >= 64 << 20
    assert [it.current for it in usage] == sorted((it.current for it in usage), reverse=True)
    assert all(it.name and it.current <= it.peak for it in usage)
    assert sum(it.current for it in device.memory_usage()) <= sum(it.current for it in usage) - (64 << 20)


@pytest.mark.parametrize("ask", [lambda it: it.memory_info, lambda it: it.memory_usage()], ids=["info", "usage"])
def test_there_is_no_such_device(ask: Callable[[Device], object], device: Device) -> None:
    with pytest.raises(InvalidArgument, match="does not exist") as refused:
        ask(Device(4096))
    assert refused.value.code == 107001
    assert Device.current() == device


def test_threads_share_a_device_object(device: Device) -> None:
    # Each thread returns to the device it came from, although both are inside at the same time.
    if Device.count() < 3:
        pytest.skip("needs three devices")
    shared, inside, left = Device(0), threading.Barrier(2), threading.Barrier(2)

    def work(home: int) -> None:
        with Device(home):
            with shared:
                inside.wait(10)
                assert Device.current() == shared
            left.wait(10)
            assert Device.current() == Device(home)

    in_threads(*(partial(work, home) for home in (1, 2)))


def test_running_out_of_memory_is_a_memory_error(device: Device) -> None:
    free = device.memory_info.free
    with Buffer(free // 2):
        with pytest.raises(OutOfMemory) as refused:
            Buffer(free // 4 * 3)
        assert refused.value.code == 207001
        assert isinstance(refused.value, MemoryError)
    Buffer(free // 4 * 3).close()
    assert device.memory_info.free == free
