# SPDX-License-Identifier: Apache-2.0
"""Copies and fills through the C functions: the order in which arguments are checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from support.codes import GARBAGE, INVALID_HANDLE, INVALID_PARAM, NO_CONTEXT, OK, RT_PARAM, STREAM_CONTEXT, UNSUPPORTED
from support.copies import BUFFERED, D2D, D2H, DEVICE, GIB, H2D, H2H, HOST, INNER, NONE, SIZE, UNREGISTERED, UNTOUCHED

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, fill


@pytest.fixture
def values(lib: Any, ffi: Any, device: Device) -> Iterator[dict[str, Any]]:
    """Return the values of the names in the tables."""
    stream, closed = Stream(), Stream()
    destroyed = closed.handle
    closed.close()
    context, foreign = ffi.new("aclrtContext *"), ffi.new("aclrtStream *")
    assert lib.aclrtCreateContext(context, 0) == OK
    assert lib.aclrtCreateStream(foreign) == OK
    device.set_current()
    event = ffi.new("aclrtEvent *")
    assert lib.aclrtCreateEvent(event) == OK
    host = ffi.new("char[]", SIZE), ffi.new("char[]", SIZE)
    with Buffer(SIZE) as dev, Buffer(SIZE) as dev2, PinnedBuffer(SIZE) as pinned, PinnedBuffer(SIZE) as pinned2:
        fill(dev, 0)
        with Buffer(SIZE) as memory:
            freed = memory.handle
        yield {
            "dev": dev.handle,
            "dev2": dev2.handle,
            "unaligned": dev.handle + 1,
            "freed": freed,
            "pinned": pinned.handle,
            "pinned2": pinned2.handle,
            "host": int(ffi.cast("uintptr_t", host[0])),
            "host2": int(ffi.cast("uintptr_t", host[1])),
            "stream": stream.handle,
            "foreign": int(ffi.cast("uintptr_t", foreign[0])),
            "destroyed": destroyed,
            "event": int(ffi.cast("uintptr_t", event[0])),
            "garbage": GARBAGE,
            "NULL": 0,
        }
    assert lib.aclrtDestroyEvent(event[0]) == OK
    assert lib.aclrtDestroyContext(context[0]) == OK
    device.set_current()
    stream.close()


class Fault(NamedTuple):
    """A wrong argument, and the code of a call in which nothing that is checked earlier is wrong."""

    code: int
    changes: dict[str, Any]
    fail_index: int = UNTOUCHED
    has_context: bool = True


def no_context(fail_index: int = UNTOUCHED) -> Fault:
    return Fault(NO_CONTEXT, {}, fail_index, has_context=False)


def null(*names: str) -> list[Fault]:
    return [Fault(INVALID_PARAM, {name: "NULL"}) for name in names]


PLAIN = {"dst": "dev", "destMax": 64, "src": "pinned", "count": 64, "kind": H2D}
ROWS = {"dst": "dev", "dpitch": 32, "src": "pinned", "spitch": 32, "width": 16, "height": 4, "kind": H2D}
STREAM = {"stream": "stream"}
HANDLES = [Fault(INVALID_HANDLE, {"stream": name}) for name in ("destroyed", "event", "garbage")]
OTHERS = Fault(STREAM_CONTEXT, {"stream": "foreign"})

ASYNC_FAULTS = [
    Fault(OK, {"count": 0}),
    *null("dst", "src"),
    Fault(INVALID_PARAM, {"kind": -1}),
    Fault(INVALID_PARAM, {"kind": INNER}),
    *HANDLES,
    Fault(RT_PARAM, {"destMax": 0}),
    Fault(RT_PARAM, {"destMax": 63}),
    no_context(),
    Fault(RT_PARAM, {"dst": "dev", "src": "host", "kind": D2H}),
    Fault(UNSUPPORTED, {"dst": "pinned2", "src": "pinned", "kind": H2D}),
    Fault(OK, {"dst": "dev", "src": "dev"}),
    OTHERS,
    Fault(RT_PARAM, {"dst": "freed", "src": "pinned"}),
    Fault(RT_PARAM, {"dst": "dev", "src": "freed"}),
    Fault(RT_PARAM, {"dst": "dev", "src": "pinned", "count": SIZE * 2, "destMax": SIZE * 2}),
]
BUFFERED_FAULTS = [
    *ASYNC_FAULTS[:8],
    no_context(),
    Fault(RT_PARAM, {"dst": "pinned2", "src": "pinned", "kind": BUFFERED}),
    Fault(RT_PARAM, {"dst": "dev2", "src": "dev", "kind": BUFFERED}),
    OTHERS,
    Fault(RT_PARAM, {"dst": "freed", "src": "pinned"}),
]
ROWS_FAULTS = [
    Fault(OK, {"width": 0}),
    Fault(OK, {"height": 0}),
    *null("dst", "src"),
    Fault(INVALID_PARAM, {"width": 33, "dpitch": 40}),
    Fault(INVALID_PARAM, {"width": 33, "spitch": 40}),
    Fault(INVALID_PARAM, {"kind": H2H}),
    Fault(INVALID_PARAM, {"kind": BUFFERED}),
    Fault(RT_PARAM, {"height": 5242881}),
    Fault(RT_PARAM, {"width": 5000001, "dpitch": 5000001, "spitch": 5000001}),
]

BATCH = {
    "dsts": ["dev", "pinned"],
    "destMaxs": [64, 64],
    "srcs": ["host", "dev"],
    "sizes": [64, 64],
    "numBatches": 2,
    "attrs": [(DEVICE, 0, HOST, 0), (HOST, 0, DEVICE, 0)],
    "attrsIndexes": [0, 1],
    "numAttrs": 2,
}
BATCH_HEAD = [
    *null("sizes"),
    Fault(INVALID_PARAM, {"numBatches": 0}),
    Fault(OK, {"sizes": [0, 0]}, NONE),
    *null("dsts", "destMaxs", "srcs", "attrs", "attrsIndexes"),
    Fault(INVALID_PARAM, {"destMaxs": [63, 64]}),
    Fault(INVALID_PARAM, {"attrs": [(DEVICE, 0, HOST, 0), (HOST, 0, DEVICE, 0, 1)]}),
    Fault(RT_PARAM, {"numAttrs": 3}, NONE),
    Fault(RT_PARAM, {"numAttrs": 0}, NONE),
]
BATCH_INDEXES = [Fault(RT_PARAM, {"attrsIndexes": wrong}, NONE) for wrong in ([1, 2], [0, 0], [0, 2])]
FIRST_ITEM = [
    Fault(RT_PARAM, {"dsts": ["NULL", "pinned"]}, 0),
    Fault(RT_PARAM, {"dsts": ["freed", "pinned"]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 1, HOST, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 0, UNREGISTERED, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 0, DEVICE, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"dsts": ["dev", "pinned"], "srcs": ["dev2", "dev"], "attrs": [(DEVICE, 0, DEVICE, 0)] * 2}, 0),
    Fault(RT_PARAM, {"dsts": ["host2", "pinned"], "srcs": ["host", "dev"], "attrs": [(HOST, 0, HOST, 0)] * 2}, 0),
]
ITEMS = {name: BATCH[name] for name in ("attrs", "dsts", "srcs")}
EMPTY_ITEM = Fault(RT_PARAM, {"sizes": [64, 0], **ITEMS}, 1)  # which the driver takes in a synchronous batch
SECOND_ITEM = [
    Fault(RT_PARAM, {"sizes": [64, 64], **ITEMS, "srcs": ["host", "NULL"]}, 1),
    Fault(RT_PARAM, {"srcs": ["host", "dev"], "attrs": [(DEVICE, 0, HOST, 0), (HOST, 0, DEVICE, 7)]}, 1),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 0, HOST, 0), (3, 0, DEVICE, 0)]}, 1),
]
BATCH_STREAM = [handle._replace(fail_index=NONE) for handle in HANDLES] + [
    no_context(NONE),
    OTHERS._replace(fail_index=NONE),
]
FAIL_INDEX = {"failIndex": "out"}

DESCRIPTOR = {"desc": "dev", "kind": INNER, "srcAddr": "dev2", "dstAddr": "dev2", "count": 64, "config": "NULL"}
KINDS = [
    Fault(INVALID_PARAM, {"kind": -1}),
    Fault(INVALID_PARAM, {"kind": 8}),
    Fault(UNSUPPORTED, {"kind": 7}),
    Fault(UNSUPPORTED, {"kind": D2D}),
]
BAD_DESCRIPTORS = [Fault(RT_PARAM, {"desc": name}) for name in ("unaligned", "pinned", "host", "freed")]

OFFSETS = {
    "dst": "dev",
    "destMax": 64,
    "dstDataOffset": 0,
    "src": "dev",
    "count": 64,
    "srcDataOffset": 0,
    "kind": INNER,
    "stream": "stream",
}

FILL = {"devPtr": "dev", "maxCount": 64, "value": 1, "count": 64}
WORDS = {"ptr": "dev", "memSize": 64, "value": 1, "N": 16}
WORDS_FAULTS = [
    Fault(OK, {"N": 0}),
    *null("ptr"),
    Fault(INVALID_PARAM, {"ptr": "unaligned"}),
    Fault(INVALID_PARAM, {"memSize": 63}),
    Fault(INVALID_PARAM, {"memSize": 64, "N": 2**62 + 1}),  # 4 * N wraps around
    Fault(INVALID_PARAM, {"ptr": "host"}),
    no_context(),
]

# By function: the arguments of a call that succeeds, and its possible faults in the order in which they are checked.
ORDER: dict[str, tuple[dict[str, Any], list[Fault]]] = {
    "aclrtMemcpy": (
        PLAIN,
        [
            Fault(OK, {"count": 0}),
            *null("dst", "src"),
            Fault(INVALID_PARAM, {"kind": -1}),
            Fault(INVALID_PARAM, {"kind": INNER}),
            Fault(RT_PARAM, {"destMax": 0}),
            Fault(RT_PARAM, {"destMax": 63}),
            Fault(OK, {"dst": "dev", "src": "dev"}),
            no_context(),
            Fault(RT_PARAM, {"dst": "freed", "src": "pinned"}),
            Fault(RT_PARAM, {"dst": "dev", "src": "freed"}),
        ],
    ),
    "aclrtMemcpyAsync": (PLAIN | STREAM, ASYNC_FAULTS),
    "aclrtMemcpyAsyncWithCondition": (PLAIN | STREAM, ASYNC_FAULTS),
    "aclrtMemcpyAsync buffered": (PLAIN | STREAM | {"kind": BUFFERED}, BUFFERED_FAULTS),
    "aclrtMemcpy2d": (
        ROWS,
        [
            *ROWS_FAULTS,
            Fault(UNSUPPORTED, {"kind": D2D}),
            no_context(),
            Fault(RT_PARAM, {"dst": "pinned2", "src": "pinned", "kind": H2D}),
            Fault(RT_PARAM, {"dst": "dev2", "src": "dev", "kind": H2D}),
            Fault(RT_PARAM, {"dst": "dev", "src": "host", "kind": D2H}),
            Fault(RT_PARAM, {"dst": "dev", "src": "host", "kind": H2D, "spitch": 2**63}),
            Fault(RT_PARAM, {"dst": "freed", "src": "pinned", "kind": H2D}),
            Fault(RT_PARAM, {"dst": "dev", "height": 1025}),
        ],
    ),
    "aclrtMemcpy2dAsync": (
        ROWS | STREAM,
        [
            *ROWS_FAULTS,
            *HANDLES,
            Fault(RT_PARAM, {"dst": "dev", "src": "host", "kind": D2H}),
            Fault(RT_PARAM, {"dst": "pinned2", "src": "pinned", "kind": H2D}),
            no_context(),
            OTHERS,
            Fault(RT_PARAM, {"dst": "dev", "src": "pinned", "dpitch": 2**63}),
            Fault(RT_PARAM, {"dst": "dev", "src": "pinned", "dpitch": 32, "height": 1025}),
        ],
    ),
    "aclrtMemcpyBatch": (
        BATCH | FAIL_INDEX,
        [*null("failIndex"), *BATCH_HEAD, *BATCH_INDEXES, *FIRST_ITEM, *SECOND_ITEM],
    ),
    "aclrtMemcpyBatchV2": (BATCH, [*BATCH_HEAD, *BATCH_INDEXES, *FIRST_ITEM, *SECOND_ITEM]),
    "aclrtMemcpyBatchAsync": (
        BATCH | FAIL_INDEX | STREAM,
        [*null("failIndex"), *BATCH_HEAD, *BATCH_INDEXES, *BATCH_STREAM, *FIRST_ITEM, EMPTY_ITEM, *SECOND_ITEM],
    ),
    "aclrtMemcpyBatchAsyncV2": (
        BATCH | STREAM,
        [*BATCH_HEAD, *BATCH_INDEXES, *BATCH_STREAM, *FIRST_ITEM, EMPTY_ITEM, *SECOND_ITEM],
    ),
    "aclrtGetMemcpyDescSize": ({"kind": INNER, "descSize": "out"}, [*null("descSize"), *KINDS]),
    "aclrtSetMemcpyDesc": (
        DESCRIPTOR,
        [
            *null("desc", "srcAddr", "dstAddr"),
            Fault(INVALID_PARAM, {"count": 0}),
            Fault(INVALID_PARAM, {"config": "dev"}),
            *KINDS,
            Fault(RT_PARAM, {"count": 4 * GIB + 1}),
            *BAD_DESCRIPTORS,
            *(
                Fault(RT_PARAM, {name: where})
                for name in ("srcAddr", "dstAddr")
                for where in ("pinned", "host", "freed")
            ),
            Fault(RT_PARAM, {"count": 4 * GIB}),
            no_context(),
        ],
    ),
    "aclrtMemcpyAsyncWithDesc": (
        {"desc": "dev", "kind": INNER, "stream": "stream"},
        [*null("desc", "stream"), *KINDS, *HANDLES, *BAD_DESCRIPTORS, no_context(), OTHERS],
    ),
    "aclrtMemcpyAsyncWithOffset": (
        OFFSETS,
        [
            Fault(OK, {"count": 0}),
            *(Fault(RT_PARAM, {"kind": kind}) for kind in (-1, D2D, 7, 8)),
            *HANDLES,
            Fault(RT_PARAM, {"dst": "NULL"}),
            Fault(RT_PARAM, {"src": "NULL"}),
            Fault(RT_PARAM, {"destMax": 63}),
            Fault(RT_PARAM, {"count": 4 * GIB + 1, "destMax": 5 * GIB}),
            Fault(RT_PARAM, {"count": 64, "destMax": 2**63, "dstDataOffset": 2**48}),
            Fault(RT_PARAM, {"dstDataOffset": 0, "srcDataOffset": 2**48}),
            Fault(RT_PARAM, {"srcDataOffset": 0, "destMax": 64, "dstDataOffset": 64}),
            Fault(RT_PARAM, {"destMax": 64, "dstDataOffset": 1}),
            no_context(),
            OTHERS,
            *(Fault(RT_PARAM, {"dst": where}) for where in ("pinned", "host", "freed")),
            *(Fault(RT_PARAM, {"dst": "dev", "src": where}) for where in ("pinned", "host", "freed")),
        ],
    ),
    "aclrtMemset": (
        FILL,
        [
            Fault(OK, {"count": 0}),
            *null("devPtr"),
            no_context(),
            Fault(RT_PARAM, {"maxCount": 63}),
            Fault(RT_PARAM, {"devPtr": "freed"}),
            Fault(RT_PARAM, {"devPtr": "dev", "maxCount": SIZE * 2, "count": SIZE * 2}),
        ],
    ),
    "aclrtMemsetAsync": (
        FILL | STREAM,
        [
            Fault(OK, {"count": 0}),
            *null("devPtr"),
            *HANDLES,
            Fault(RT_PARAM, {"maxCount": 63}),
            no_context(),
            OTHERS,
            Fault(RT_PARAM, {"devPtr": "freed"}),
        ],
    ),
    "aclrtMemsetD32": (WORDS, [*WORDS_FAULTS, Fault(RT_PARAM, {"ptr": "freed"})]),
    "aclrtMemsetD32Async": (WORDS | STREAM, [*WORDS_FAULTS, *HANDLES, OTHERS, Fault(RT_PARAM, {"ptr": "freed"})]),
}


class Call:
    """A call with named arguments, which may be numbers, names, and lists of them."""

    def __init__(self, lib: Any, ffi: Any, values: dict[str, Any], function: str) -> None:
        self._ffi, self._values = ffi, values
        self._function = getattr(lib, function.split()[0])
        self.fail_index = ffi.new("size_t *", UNTOUCHED)

    def _attribute(self, row: tuple[int, ...]) -> dict[str, Any]:
        destination, destination_id, source, source_id, *reserved = row
        return {
            "dstLoc": {"type": destination, "id": destination_id},
            "srcLoc": {"type": source, "id": source_id},
            "rsv": bytes(15) + bytes(reserved or [0]),
        }

    def _argument(self, value: Any, c_type: Any) -> Any:
        if value == "out":
            return self.fail_index
        if isinstance(value, str):
            return self._ffi.cast(c_type, self._values[value])
        if not isinstance(value, list):
            return int(self._ffi.cast(c_type, value))
        if isinstance(value[0], tuple):
            return self._ffi.new("aclrtMemcpyBatchAttr[]", [self._attribute(row) for row in value])
        if isinstance(value[0], str):
            return self._ffi.new("void *[]", [self._ffi.cast("void *", self._values[name]) for name in value])
        return self._ffi.new("size_t[]", value)

    def __call__(self, arguments: dict[str, Any], *, has_context: bool = True) -> int:
        types = self._ffi.typeof(self._function).args
        converted = [self._argument(value, c_type) for value, c_type in zip(arguments.values(), types, strict=True)]
        if has_context:
            return int(self._function(*converted))
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(self._function(*converted)))
        thread.start()
        thread.join()
        return codes[0]


@pytest.mark.parametrize("function", ORDER)
@pytest.mark.simulator("deadly")
def test_checks_come_in_order(function: str, lib: Any, ffi: Any, values: dict[str, Any], stream: Stream) -> None:
    arguments, faults = ORDER[function]
    good = Call(lib, ffi, values, function)
    assert good(arguments) == OK
    differences = []
    for i, expected in enumerate(faults):
        # Everything that is checked later is wrong too.
        changes: dict[str, Any] = {}
        for fault in reversed(faults[i:]):
            changes |= fault.changes
        has_context = all(fault.has_context for fault in faults[i:])
        for wrong, thread_has_context in ((changes, has_context), (expected.changes, expected.has_context)):
            call = Call(lib, ffi, values, function)
            code = call(arguments | wrong, has_context=thread_has_context)
            fail_index = call.fail_index[0] if arguments.get("failIndex") else expected.fail_index
            if (code, fail_index) != (expected.code, expected.fail_index):
                differences.append((i, wrong, code, fail_index, expected))
    assert differences == []
    lib.aclrtSynchronizeStream(ffi.cast("void *", values["stream"]))


@pytest.mark.simulator("internals", "a release is simulated")
@pytest.mark.parametrize(("release", "code"), [("8.1.RC1", RT_PARAM), ("8.2.RC1", OK), ("9.1.0", OK)])
def test_a_wrong_direction_is_corrected_by_newer_releases_only(release: str, code: int, child: Any) -> None:
    script = """
    from ascend_rt import Buffer, Device, PinnedBuffer, Stream
    Device(0).set_current()
    stream, device, other, pinned, more = Stream(), Buffer(8), Buffer(8), PinnedBuffer(8), PinnedBuffer(8)
    def copy(to, source, kind):
        at = [ffi.cast("void *", each.handle) for each in (to, source)]
        return lib.aclrtMemcpyAsync(at[0], 8, at[1], 8, kind, ffi.cast("void *", stream.handle))
    pairs = {1: (device, pinned), 2: (pinned, device), 3: (device, other)}
    reported([sorted({copy(*pair, kind) for right, pair in pairs.items() for kind in (1, 2, 3) if kind != right}),
          sorted({copy(*pair, kind) for right, pair in pairs.items() for kind in (right, 4)})])
    stream.synchronize()
    """
    assert child(script, ASCEND_RT_SIM_CANN_VERSION=release) == [[code], [OK]]


@pytest.mark.parametrize(("function", "code"), [("aclrtMemcpyBatch", RT_PARAM), ("aclrtMemcpyBatchAsync", OK)])
def test_only_a_synchronous_batch_has_a_maximal_length(function: str, code: int, lib, ffi, values, device) -> None:
    arguments = ORDER[function][0]
    one = {name: [arguments[name][0]] for name in ("dsts", "destMaxs", "srcs", "sizes", "attrs", "attrsIndexes")}
    for length, expected in ((4096, OK), (4097, code)):
        many = {name: one[name] * length for name in ("dsts", "destMaxs", "srcs", "sizes")}
        call = Call(lib, ffi, values, function)
        assert call(arguments | one | many | {"numBatches": length, "numAttrs": 1}) == expected
        assert call.fail_index[0] == NONE


def test_the_default_stream_may_be_passed(lib: Any, ffi: Any, values: dict[str, Any]) -> None:
    for function, (arguments, _) in ORDER.items():
        if arguments.get("stream") and function != "aclrtMemcpyAsyncWithDesc":
            assert Call(lib, ffi, values, function)(arguments | {"stream": "NULL"}) == OK, function
    lib.aclrtSynchronizeStream(ffi.NULL)
