# SPDX-License-Identifier: Apache-2.0
"""Updates of task groups beside an execution of their graph."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.codes import OK
from support.handles import raw
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Event, Graph, Stream, sim
from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator("kernels on the host")


class Updatable:
    """A graph of a kernel that is alone in its group, and what the kernels did."""

    def __init__(self, lib: Any, ffi: Any, binary: Binary, stream: Stream, before: Event | None = None) -> None:
        self._lib, self._ffi, self._binary = lib, ffi, binary
        group = ffi.new("aclrtTaskGrp *")
        with stream.capture() as graph:
            if before is not None:
                stream.wait(before)
            assert lib.aclmdlRICaptureTaskGrpBegin(raw(ffi, stream)) == OK
            binary["first"].launch(stream, 1)
            assert lib.aclmdlRICaptureTaskGrpEnd(raw(ffi, stream), group) == OK
        self.graph: Graph = graph
        self.group = group[0]

    def update(self, stream: Stream) -> None:
        """Put the second kernel into the place of the first one, in the order of the stream."""
        assert self._lib.aclmdlRICaptureTaskUpdateBegin(raw(self._ffi, stream), self.group) == OK
        self._binary["second"].launch(stream, 1)
        assert self._lib.aclmdlRICaptureTaskUpdateEnd(raw(self._ffi, stream)) == OK


@pytest.fixture
def binary(device: Any) -> Iterator[Binary]:
    with Binary(device_object({"first": VECTOR, "second": VECTOR})) as binary:
        yield binary


def test_an_execution_that_has_not_come_to_the_group_has_the_update(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, other: Stream
) -> None:
    told: list[str] = []
    out = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateEventWithFlag(out, lib.ACL_EVENT_EXTERNAL) == OK
    updated = Event.from_handle(int(ffi.cast("uintptr_t", out[0])))
    with (
        sim.kernel("first")(lambda block, memory: told.append("first")),
        sim.kernel("second")(lambda block, memory: told.append("second")),
    ):
        updatable = Updatable(lib, ffi, binary, stream, before=updated)
        updatable.graph.launch(stream)
        updatable.update(other)
        updated.record(other)
        stream.synchronize()
    assert told == ["second"]
    updatable.graph.close()
    assert lib.aclrtDestroyEvent(out[0]) == OK


def test_an_update_waits_for_a_kernel_that_runs(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, other: Stream
) -> None:
    told: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def first(block: sim.Block, memory: Any) -> None:
        begun.set()
        assert go_on.wait(60)
        told.append("first")

    with sim.kernel("first")(first), sim.kernel("second")(lambda block, memory: told.append("second")):
        updatable = Updatable(lib, ffi, binary, stream)
        updatable.graph.launch(stream)
        assert begun.wait(60)
        updatable.update(other)
        assert not other.is_done
        go_on.set()
        other.synchronize()
        assert told == ["first"]
        updatable.graph.launch(stream)
        stream.synchronize()
    assert told == ["first", "second"]
    updatable.graph.close()


def test_an_update_in_front_of_an_execution_is_in_it(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, other: Stream
) -> None:
    told: list[str] = []
    with (
        sim.kernel("first")(lambda block, memory: told.append("first")),
        sim.kernel("second")(lambda block, memory: told.append("second")),
    ):
        updatable = Updatable(lib, ffi, binary, stream)
        with Latch(stream):
            updatable.update(stream)
            updatable.graph.launch(stream)
        stream.synchronize()
    assert told == ["second"]
    updatable.graph.close()
