# SPDX-License-Identifier: Apache-2.0
"""Updates of task groups beside an execution of their graph."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.codes import INTERNAL, OK
from support.handles import raw
from support.kernels import CUBE, VECTOR, device_object

from ascend_rt import Binary, Event, Graph, Stream, sim
from ascend_rt.errors import AclError
from ascend_rt.testing import Latch

pytestmark = pytest.mark.simulator("kernels")


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
    reported: list[str] = []
    out = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateEventWithFlag(out, lib.ACL_EVENT_EXTERNAL) == OK
    updated = Event.from_handle(int(ffi.cast("uintptr_t", out[0])))
    with (
        sim.kernel("first")(lambda block, memory: reported.append("first")),
        sim.kernel("second")(lambda block, memory: reported.append("second")),
    ):
        updatable = Updatable(lib, ffi, binary, stream, before=updated)
        updatable.graph.launch(stream)
        updatable.update(other)
        updated.record(other)
        stream.synchronize()
    assert reported == ["second"]
    updatable.graph.close()
    assert lib.aclrtDestroyEvent(out[0]) == OK


def test_an_update_waits_for_a_kernel_that_runs(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, other: Stream
) -> None:
    reported: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def first(block: sim.Block, memory: Any) -> None:
        begun.set()
        assert go_on.wait(60)
        reported.append("first")

    with sim.kernel("first")(first), sim.kernel("second")(lambda block, memory: reported.append("second")):
        updatable = Updatable(lib, ffi, binary, stream)
        updatable.graph.launch(stream)
        assert begun.wait(60)
        updatable.update(other)
        assert not other.is_done
        go_on.set()
        other.synchronize()
        assert reported == ["first"]
        updatable.graph.launch(stream)
        stream.synchronize()
    assert reported == ["first", "second"]
    updatable.graph.close()


def test_an_update_in_front_of_an_execution_is_in_it(
    lib: Any, ffi: Any, binary: Binary, stream: Stream, other: Stream
) -> None:
    reported: list[str] = []
    with (
        sim.kernel("first")(lambda block, memory: reported.append("first")),
        sim.kernel("second")(lambda block, memory: reported.append("second")),
    ):
        updatable = Updatable(lib, ffi, binary, stream)
        with Latch(stream):
            updatable.update(stream)
            updatable.graph.launch(stream)
        stream.synchronize()
    assert reported == ["second"]
    updatable.graph.close()


def test_a_kernel_stays_if_the_one_for_its_place_is_refused(lib: Any, ffi: Any, binary: Binary, stream: Stream) -> None:
    reported: list[str] = []
    with (
        sim.kernel("first")(lambda block, memory: reported.append("first")),
        sim.kernel("second")(lambda block, memory: reported.append("second")),
        Binary(device_object({"first": CUBE})) as cube,
    ):
        on, group = raw(ffi, stream), ffi.new("aclrtTaskGrp *")
        with stream.capture() as graph:
            assert lib.aclmdlRICaptureTaskGrpBegin(on) == OK
            for _ in range(3):
                binary["first"].launch(stream, 1)
            assert lib.aclmdlRICaptureTaskGrpEnd(on, group) == OK
        assert lib.aclmdlRICaptureTaskUpdateBegin(on, group[0]) == OK
        binary["second"].launch(stream, 1)
        with pytest.raises(AclError) as refused:
            cube["first"].launch(stream, 1)
        assert refused.value.code == INTERNAL
        binary["second"].launch(stream, 1)
        assert lib.aclmdlRICaptureTaskUpdateEnd(on) == OK
        graph.launch(stream)
        stream.synchronize()
    assert reported == ["second", "first", "second"]
    graph.close()


@pytest.mark.simulator("memory check")
def test_the_memory_check_knows_what_an_updated_execution_uses(child: Any, tmp_path: Path) -> None:
    (tmp_path / "kernels.o").write_bytes(device_object({"first": VECTOR}))
    script = """
    from ascend_rt import Binary, Buffer, Device, Event, Stream, sim
    Device(0).set_current()
    stream, other = Stream(), Stream()
    on, beside = (ffi.cast("aclrtStream", each.handle) for each in (stream, other))
    binary = Binary(sys.argv[1])
    function = ffi.cast("aclrtFuncHandle", binary["first"].handle)
    sim.kernel("first")(lambda block, memory: None)
    old, new = Buffer(8), Buffer(8)  # the blocks of arguments
    out, group = ffi.new("aclrtEvent *"), ffi.new("aclrtTaskGrp *")
    assert lib.aclrtCreateEventWithFlag(out, lib.ACL_EVENT_EXTERNAL) == 0
    updated = Event.from_handle(int(ffi.cast("uintptr_t", out[0])))
    with stream.capture() as graph:
        stream.wait(updated)
        assert lib.aclmdlRICaptureTaskGrpBegin(on) == 0
        assert lib.aclrtLaunchKernel(function, 1, ffi.cast("void *", old.handle), 8, on) == 0
        assert lib.aclmdlRICaptureTaskGrpEnd(on, group) == 0
    graph.launch(stream)
    assert lib.aclmdlRICaptureTaskUpdateBegin(beside, group[0]) == 0
    assert lib.aclrtLaunchKernel(function, 1, ffi.cast("void *", new.handle), 8, beside) == 0
    assert lib.aclmdlRICaptureTaskUpdateEnd(beside) == 0
    other.synchronize()
    reports = []
    for memory in (old, new):
        memory.close()
        reports.append(sim.check_reports())
    reported(reports)
    sys.stdout.flush()
    os._exit(0)  # the execution waits forever
    """
    assert child(script, tmp_path / "kernels.o", ASCEND_RT_SIM_CHECK="memory") == [0, 1]
