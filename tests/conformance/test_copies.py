# SPDX-License-Identifier: Apache-2.0
"""Copies and fills through the C functions: every check in its order, where the chips differ, and what arrives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from ascend_rt import Buffer, Device, PinnedBuffer, Stream, copy, fill, sim
from ascend_rt.testing import Latch

OK, INVALID_PARAM, RT_PARAM, NO_CONTEXT, FOREIGN = 0, 100000, 107000, 107002, 107003
NO_HANDLE, TASK_ABORT, STREAM_ABORT, UNSUPPORTED, DMA = 107017, 107022, 107023, 207000, 507013
H2H, H2D, D2H, D2D, DEFAULT, BUFFERED, INNER = 0, 1, 2, 3, 4, 5, 6
HOST, DEVICE, UNREGISTERED, NUMA = 0, 1, 2, 4
NONE, UNTOUCHED = 2**64 - 1, 77  # of failIndex
GARBAGE = 0x1234567800
SIZE = 4096
GIB = 1 << 30


@pytest.fixture
def values(lib: Any, ffi: Any, device: Device) -> Iterator[dict[str, Any]]:
    """Return what the arguments of the tables stand for."""
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


# --- the order of checks ---------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """What is wrong with a call, and what it answers: unless something is wrong that is looked at earlier."""

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
HANDLES = [Fault(NO_HANDLE, {"stream": name}) for name in ("destroyed", "event", "garbage")]
OTHERS = Fault(FOREIGN, {"stream": "foreign"})

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
BATCH_ITEMS = [
    Fault(RT_PARAM, {"dsts": ["NULL", "pinned"]}, 0),
    Fault(RT_PARAM, {"dsts": ["freed", "pinned"]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 1, HOST, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 0, UNREGISTERED, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"attrs": [(DEVICE, 0, DEVICE, 0), (HOST, 0, DEVICE, 0)]}, 0),
    Fault(RT_PARAM, {"dsts": ["dev", "pinned"], "srcs": ["dev2", "dev"], "attrs": [(DEVICE, 0, DEVICE, 0)] * 2}, 0),
    Fault(RT_PARAM, {"dsts": ["host2", "pinned"], "srcs": ["host", "dev"], "attrs": [(HOST, 0, HOST, 0)] * 2}, 0),
    Fault(RT_PARAM, {"sizes": [64, 0], "attrs": BATCH["attrs"], "dsts": BATCH["dsts"], "srcs": BATCH["srcs"]}, 1),
    Fault(RT_PARAM, {"sizes": [64, 64], "srcs": ["host", "NULL"]}, 1),
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

# By function: a call that succeeds, and what may be wrong with it, in the order in which the function looks.
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
        [*null("failIndex"), *BATCH_HEAD, *BATCH_INDEXES, *BATCH_ITEMS],
    ),
    "aclrtMemcpyBatchV2": (BATCH, [*BATCH_HEAD, *BATCH_INDEXES, *BATCH_ITEMS]),
    "aclrtMemcpyBatchAsync": (
        BATCH | FAIL_INDEX | STREAM,
        [*null("failIndex"), *BATCH_HEAD, *BATCH_INDEXES, *BATCH_STREAM, *BATCH_ITEMS],
    ),
    "aclrtMemcpyBatchAsyncV2": (BATCH | STREAM, [*BATCH_HEAD, *BATCH_INDEXES, *BATCH_STREAM, *BATCH_ITEMS]),
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
def test_checks_come_in_order(function: str, lib: Any, ffi: Any, values: dict[str, Any], stream: Stream) -> None:
    arguments, faults = ORDER[function]
    good = Call(lib, ffi, values, function)
    assert good(arguments) == OK
    differences = []
    for i, expected in enumerate(faults):
        # Everything that is looked at later is wrong too.
        changes: dict[str, Any] = {}
        for fault in reversed(faults[i:]):
            changes |= fault.changes
        has_context = all(fault.has_context for fault in faults[i:])
        for wrong, thread_has_context in ((changes, has_context), (expected.changes, expected.has_context)):
            call = Call(lib, ffi, values, function)
            code = call(arguments | wrong, has_context=thread_has_context)
            told = call.fail_index[0] if arguments.get("failIndex") else expected.fail_index
            if (code, told) != (expected.code, expected.fail_index):
                differences.append((i, wrong, code, told, expected))
    assert differences == []
    lib.aclrtSynchronizeStream(ffi.cast("void *", values["stream"]))


@pytest.mark.parametrize(("function", "code"), [("aclrtMemcpyBatch", RT_PARAM), ("aclrtMemcpyBatchAsync", OK)])
def test_only_a_synchronous_batch_has_a_longest(function: str, code: int, lib, ffi, values, device) -> None:
    arguments = ORDER[function][0]
    one = {name: [arguments[name][0]] for name in ("dsts", "destMaxs", "srcs", "sizes", "attrs", "attrsIndexes")}
    for length, expected in ((4096, OK), (4097, code)):
        many = {name: one[name] * length for name in ("dsts", "destMaxs", "srcs", "sizes")}
        call = Call(lib, ffi, values, function)
        assert call(arguments | one | many | {"numBatches": length, "numAttrs": 1}) == expected
        assert call.fail_index[0] == NONE


def test_a_call_without_a_default_stream(lib: Any, ffi: Any, values: dict[str, Any]) -> None:
    for function, (arguments, _) in ORDER.items():
        if arguments.get("stream") and function != "aclrtMemcpyAsyncWithDesc":
            assert Call(lib, ffi, values, function)(arguments | {"stream": "NULL"}) == OK, function
    lib.aclrtSynchronizeStream(ffi.NULL)


# --- where the chips differ ------------------------------------------------------------------------------------------

PRODUCTS = ("910B", "910C", "310B", "310P", "910", "950")
CONTROL = {"910B", "910C", "950"}
DESCRIBED = CONTROL | {"310B"}
ALL = set(PRODUCTS)

START = [
    ["aclrtSetDevice", 0],
    ["aclrtMalloc", "out:dev", SIZE, 0],
    ["aclrtMalloc", "out:dev2", SIZE, 0],
    ["aclrtMallocHost", "out:pinned", SIZE],
    ["aclrtMallocHost", "out:ones", SIZE],
    ["aclrtMemset", "@ones", SIZE, 1, SIZE],
    ["aclrtCreateStream", "out:stream"],
]
BATCH_OF_ONE = ["@pinned", "@ones", "@pinned", "@ones", 1, "buffer", "buffer", 0]
EMPTY_BATCH = ["@pinned", "@ones", "@pinned", "buffer", 1, "buffer", "buffer", 0]

# The call, the products that answer with the first code, that code, the code of the others.
CODES = [
    (["aclrtMemcpyBatch", *BATCH_OF_ONE, "out"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchV2", *BATCH_OF_ONE], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchAsync", *BATCH_OF_ONE, "out", "@stream"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchAsyncV2", *BATCH_OF_ONE, "@stream"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchV2", *EMPTY_BATCH], ALL, OK, None),
    (["aclrtMemcpyBatchV2", "@pinned", "@ones", "@pinned", None, 1, "buffer", "buffer", 0], ALL, INVALID_PARAM, None),
    (["aclrtGetMemcpyDescSize", INNER, "out"], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtGetMemcpyDescSize", 8, "out"], ALL, INVALID_PARAM, None),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 64, None], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 5 * GIB, None], DESCRIBED, RT_PARAM, UNSUPPORTED),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 0, None], ALL, INVALID_PARAM, None),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, "@stream"], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, "@dev"], DESCRIBED, NO_HANDLE, UNSUPPORTED),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, None], ALL, INVALID_PARAM, None),
    (
        ["aclrtMemcpyAsyncWithOffset", "@dev", 64, 0, "@dev", 64, 0, INNER, "@dev"],
        CONTROL | {"910"},
        NO_HANDLE,
        UNSUPPORTED,
    ),
    (["aclrtMemcpyAsyncWithOffset", "@dev", 64, 0, "@dev", 64, 0, D2D, "@stream"], ALL, RT_PARAM, None),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@dev2", 32, 16, 4, D2D, "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@dev2", 32, 16, 4, DEFAULT, "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@pinned", 32, 16, 4, H2D, "@stream"], ALL, OK, None),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@pinned", 32, 16, 4, H2D, None], CONTROL, OK, RT_PARAM),
    (["aclrtMemcpy2d", "@dev", 32, "@pinned", 32, 16, 4, D2D], ALL, UNSUPPORTED, None),
    (["aclrtMemcpyAsync", "@dev", 64, "@pinned", 64, BUFFERED, None], ALL, OK, None),
    (["aclrtMemcpyAsyncWithCondition", "@dev", 64, "@pinned", 64, H2D, "@stream"], ALL, OK, None),
    # A refusal is made a success, but not that of a wrong argument.
    (["aclrtMemsetD32", "@dev", 64, 1, 16], ALL, OK, None),
    (["aclrtMemsetD32", "@dev", 63, 1, 16], ALL, INVALID_PARAM, None),
    (["aclrtMemsetD32Async", "@dev", 64, 1, 16, "@dev"], CONTROL, NO_HANDLE, OK),
]


@pytest.mark.parametrize("product", PRODUCTS)
def test_codes_of_the_products(product: str, calls: Callable[..., list[Any]]) -> None:
    answers = calls([*START, *(row[0] for row in CODES)], ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers[: len(START)]} == {OK}
    for (call, those, code, rest), (answer, _) in zip(CODES, answers[len(START) :], strict=True):
        assert answer == (code if product in those else rest), call


@pytest.mark.parametrize("product", PRODUCTS)
def test_sizes_of_descriptors(product: str, calls: Callable[..., list[Any]]) -> None:
    ((_, outs),) = calls([["aclrtGetMemcpyDescSize", INNER, "out"]], ASCEND_RT_SIM_PRODUCT=product)
    assert outs == [(64 if product == "950" else 32) if product in DESCRIBED else 0]


@pytest.mark.parametrize("product", PRODUCTS)
def test_words_are_filled_where_the_chip_can(product: str, child: Callable[..., Any]) -> None:
    script = """
    pointer, found = ffi.new("void **"), ffi.new("uint32_t[6]")
    codes = [lib.aclrtSetDevice(0), lib.aclrtMalloc(pointer, 64, 0), lib.aclrtMemset(pointer[0], 64, 0, 64)]
    codes.append(lib.aclrtMemsetD32(pointer[0], 64, 0x01020304, 2))
    codes.append(lib.aclrtMemsetD32Async(ffi.cast("char *", pointer[0]) + 12, 52, 0xFFFFFFFF, 2, ffi.NULL))
    codes += [lib.aclrtSynchronizeStream(ffi.NULL), lib.aclrtMemcpy(found, 24, pointer[0], 24, 2)]
    told([codes, list(found), lib.aclrtGetLastError(0)])
    """
    codes, found, remembered = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert codes == [OK] * 7
    assert found == ([0x01020304] * 2 + [0] + [0xFFFFFFFF] * 2 + [0] if product in CONTROL else [0] * 6)
    assert remembered == OK


@pytest.mark.parametrize("product", PRODUCTS)
def test_copies_between_devices_need_access_to_the_peer(product: str, calls: Callable[..., list[Any]]) -> None:
    needs_access = product in {"910B", "310P", "910", "950"}
    across = [
        ["aclrtMemcpy", "@there", 64, "@here", 64, D2D],
        ["aclrtMemcpy", "@here", 64, "@there", 64, DEFAULT],
        ["aclrtMemcpyAsync", "@there", 64, "@here", 64, D2D, None],
    ]
    rows: list[list[Any]] = [
        ["aclrtSetDevice", 1],
        ["aclrtMalloc", "out:there", 64, 0],
        ["aclrtSetDevice", 0],
        ["aclrtMalloc", "out:here", 64, 0],
        *across,
        ["aclrtMemcpy", "@there", 64, "buffer", 64, H2D],  # not between devices
        ["aclrtSetDevice", 1],
        ["aclrtDeviceEnablePeerAccess", 0, 0],  # one direction only
        ["aclrtSetDevice", 0],
        across[0],
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        *across,
        ["aclrtDeviceDisablePeerAccess", 1],
        across[0],
        ["aclrtSynchronizeDevice"],
    ]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product, ASCEND_RT_SIM_DEVICES="2")]
    refused, peers = RT_PARAM if needs_access else OK, UNSUPPORTED if product == "310B" else OK
    expected = [OK] * 4 + [refused] * 3 + [OK] * 2 + [peers, OK, refused, peers, OK, OK, OK, peers, refused, OK]
    assert codes == expected


# --- what arrives ----------------------------------------------------------------------------------------------------


def at(ffi: Any, memory: Any, offset: int = 0) -> Any:
    return ffi.cast("void *", memory.handle + offset)


def raw(ffi: Any, stream: Stream) -> Any:
    return ffi.cast("aclrtStream", stream.handle)


def read(memory: Buffer) -> np.ndarray:
    found = np.empty(memory.nbytes, np.uint8)
    copy(found, memory)
    return found


@pytest.fixture
def memory(device: Device) -> Iterator[Buffer]:
    with Buffer(SIZE) as memory:
        fill(memory, 0)
        yield memory


def test_rows_are_copied_and_gaps_are_left(lib, ffi, stream, memory) -> None:
    sent = np.arange(40, dtype=np.uint8).reshape(4, 10)
    source = ffi.from_buffer(sent)
    assert lib.aclrtMemcpy2d(at(ffi, memory), 16, source, 10, 7, 4, H2D) == OK
    expected = np.zeros((4, 16), np.uint8)
    expected[:, :7] = sent[:, :7]
    assert np.array_equal(read(memory)[:64].reshape(4, 16), expected)
    with Buffer(64) as other:
        fill(other, 9)
        assert lib.aclrtMemcpy2dAsync(at(ffi, other), 16, at(ffi, memory), 16, 5, 3, D2D, raw(ffi, stream)) == OK
        stream.synchronize()
        found = read(other).reshape(4, 16)
    assert np.array_equal(found[:3, :5], expected[:3, :5])
    assert np.all(found[:, 5:] == 9)
    assert np.all(found[3] == 9)


def test_the_buffered_copy_reads_the_source_at_once(lib, ffi, stream, memory) -> None:
    sent = np.full(64, 5, np.uint8)
    with Latch(stream):
        assert lib.aclrtMemcpyAsync(at(ffi, memory), 64, ffi.from_buffer(sent), 64, BUFFERED, raw(ffi, stream)) == OK
        sent[:] = 6
    stream.synchronize()
    assert list(read(memory)[:65]) == [5] * 64 + [0]


def test_the_buffered_copy_goes_into_no_model(lib, ffi, device, memory) -> None:
    model, bound = ffi.new("aclmdlRI *"), ffi.new("aclrtStream *")
    assert lib.aclmdlRIBuildBegin(model, 0) == OK
    assert lib.aclrtCreateStreamWithConfig(bound, 0, lib.ACL_STREAM_PERSISTENT) == OK
    assert lib.aclmdlRIBindStream(model[0], bound[0], 0) == OK
    host = ffi.new("char[64]")
    rows = [  # which argument is wrong besides, and what is answered
        ((at(ffi, memory), 64, host, 64, BUFFERED, bound[0]), RT_PARAM),
        ((host, 64, host, 64, BUFFERED, bound[0]), RT_PARAM),
        ((ffi.NULL, 64, host, 64, BUFFERED, bound[0]), INVALID_PARAM),
        ((at(ffi, memory), 64, host, 64, 6, bound[0]), INVALID_PARAM),
        ((at(ffi, memory), 64, host, 0, BUFFERED, bound[0]), OK),
        ((at(ffi, memory), 64, at(ffi, memory, 64), 64, D2D, bound[0]), OK),
    ]
    assert [lib.aclrtMemcpyAsync(*arguments) for arguments, _ in rows] == [code for _, code in rows]
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(lib.aclrtMemcpyAsync(*rows[0][0])))
    thread.start()
    thread.join()
    assert codes == [RT_PARAM]  # before the missing context
    assert lib.aclmdlRIUnbindStream(model[0], bound[0]) == OK
    assert lib.aclmdlRIDestroy(model[0]) == OK
    assert lib.aclrtDestroyStream(bound[0]) == OK


@pytest.mark.parametrize("function", ["aclrtMemsetAsync", "aclrtMemsetD32Async"])
def test_host_memory_is_filled_at_once(function: str, lib, ffi, stream) -> None:
    with PinnedBuffer(64) as pinned, Latch(stream):
        assert getattr(lib, function)(at(ffi, pinned), 64, 0x07070707, 16, raw(ffi, stream)) == OK
        assert np.all(pinned[:16] == 7)


def test_device_memory_is_filled_in_stream_order(lib, ffi, stream, memory) -> None:
    with Latch(stream):
        assert lib.aclrtMemsetD32Async(at(ffi, memory), SIZE, 0x04030201, 2, raw(ffi, stream)) == OK
        assert lib.aclrtMemsetAsync(at(ffi, memory, 6), 100, 0x1FF, 1, raw(ffi, stream)) == OK
        assert not read(memory).any()
    stream.synchronize()
    assert list(read(memory)[:9]) == [1, 2, 3, 4, 1, 2, 0xFF, 4, 0]


def test_pageable_copies_tell_of_an_earlier_failure(backend, lib, ffi, stream, memory) -> None:
    if backend != "sim":
        pytest.skip("only the simulator fails on demand")
    host = ffi.new("char[64]")
    with sim.faults():
        sim.fail_task(DMA, stream)
        stream.record()
    assert lib.aclrtMemcpyAsync(at(ffi, memory), 64, host, 64, H2D, raw(ffi, stream)) == DMA
    stream.synchronize()  # told once


# --- batches ---------------------------------------------------------------------------------------------------------


class Items:
    """The arguments of a batch: from host arrays to offsets in device memory, or back."""

    def __init__(self, ffi: Any, rows: list[tuple[Any, Any, int]]) -> None:
        self._ffi = ffi
        self.destinations = ffi.new("void *[]", [self._address(to) for to, _, _ in rows])
        self.sources = ffi.new("void *[]", [self._address(source) for _, source, _ in rows])
        self.sizes = ffi.new("size_t[]", [size for _, _, size in rows])
        self.attributes = ffi.new(
            "aclrtMemcpyBatchAttr[]",
            [{"dstLoc": self._location(to), "srcLoc": self._location(source)} for to, source, _ in rows],
        )
        self.first = ffi.new("size_t[]", list(range(len(rows))))
        self.fail_index = ffi.new("size_t *", UNTOUCHED)

    def _address(self, place: Any) -> Any:
        return self._ffi.cast("void *", place.handle if hasattr(place, "handle") else place.ctypes.data)

    def _location(self, place: Any) -> dict[str, int]:
        return {"type": DEVICE if isinstance(place, Buffer) else NUMA, "id": 0 if isinstance(place, Buffer) else 3}

    def arguments(self) -> tuple[Any, ...]:
        number = len(self.sizes)
        arrays = self.destinations, self.sizes, self.sources, self.sizes
        return (*arrays, number, self.attributes, self.first, number, self.fail_index)


def test_a_batch_copies_every_item(lib, ffi, device, memory) -> None:
    received = np.zeros(32, np.uint8)
    rows = [(memory[i * 32 : i * 32 + 32], np.full(32, i + 1, np.uint8), 32) for i in range(4)]
    batch = Items(ffi, rows)
    assert lib.aclrtMemcpyBatch(*batch.arguments()) == OK
    assert batch.fail_index[0] == NONE
    assert list(read(memory)[:160:32]) == [1, 2, 3, 4, 0]
    back = Items(ffi, [(received, memory[32:64], 32)])
    assert lib.aclrtMemcpyBatchV2(*back.arguments()[:-1]) == OK
    assert np.all(received == 2)


@pytest.mark.parametrize("wrong", ["empty", "not live", "elsewhere"])
def test_items_before_a_failing_one(wrong: str, lib, ffi, stream, memory) -> None:
    sent = np.ones(16, np.uint8)
    rows = [(memory[:16], sent, 16), (memory[16:32], sent, 16), (memory[32:48], sent, 16), (memory[48:64], sent, 16)]
    batch = Items(ffi, rows)
    if wrong == "empty":
        batch.sizes[2] = 0
    elif wrong == "not live":
        batch.destinations[2] = at(ffi, memory, SIZE + 4096)
    else:
        batch.attributes[2].dstLoc.id = 1
    assert lib.aclrtMemcpyBatch(*batch.arguments()) == RT_PARAM
    assert batch.fail_index[0] == 2
    assert not read(memory).any()  # the synchronous form has looked at all before it copies one
    batch.fail_index[0] = UNTOUCHED
    assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == RT_PARAM
    assert batch.fail_index[0] == 2
    stream.synchronize()
    assert list(read(memory)[:64:16]) == [1, 1, 0, 0]
    assert lib.aclrtMemcpyBatchAsyncV2(*batch.arguments()[:-1], raw(ffi, stream)) == RT_PARAM


def test_pinned_items_are_queued(lib, ffi, stream, memory) -> None:
    with PinnedBuffer(32) as pinned:
        pinned[:] = 3
        batch = Items(ffi, [(memory[:16], pinned[:16], 16), (memory[16:32], pinned[16:], 16)])
        with Latch(stream):
            assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == OK
            assert batch.fail_index[0] == NONE
            assert not read(memory).any()
        stream.synchronize()
        assert list(read(memory)[:33]) == [3] * 32 + [0]


def test_pageable_items_wait_for_the_stream(lib, ffi, stream, memory) -> None:
    received = np.zeros(16, np.uint8)
    with PinnedBuffer(16) as pinned:
        pinned[:] = 4
        batch = Items(ffi, [(memory[:16], pinned, 16), (received, memory[:16], 16)])
        assert lib.aclrtMemcpyBatchAsync(*batch.arguments(), raw(ffi, stream)) == OK
        assert np.all(received == 4)  # no synchronization: the runtime did it


def test_an_attribute_is_for_all_items_up_to_the_next_one(lib, ffi, device, memory) -> None:
    sent, received = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    batch = Items(ffi, [(memory[:4], sent[:4], 4), (memory[4:8], sent[4:], 4), (received, memory[:8], 8)])
    batch.attributes[1] = batch.attributes[2]
    batch.first[1] = 2
    arguments = list(batch.arguments())
    arguments[7] = 2
    assert lib.aclrtMemcpyBatch(*arguments) == OK
    assert np.array_equal(read(memory)[:8], sent)


# --- addresses that are read when the task runs ----------------------------------------------------------------------


@pytest.fixture
def held(backend: str) -> Any:
    if backend != "sim":
        pytest.skip("only the simulator can be held")
    return sim.held


def test_a_descriptor_is_read_when_the_task_runs(held, lib, ffi, stream, memory) -> None:
    with Buffer(64) as descriptor, Buffer(64) as first, Buffer(64) as second:

        def describe(source: Buffer) -> int:
            return int(
                lib.aclrtSetMemcpyDesc(at(ffi, descriptor), INNER, at(ffi, source), at(ffi, memory, 8), 16, ffi.NULL)
            )

        fill(first, 1)
        fill(second, 2)
        assert describe(first) == OK
        with held():
            assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
            assert describe(second) == OK
        stream.synchronize()
        assert list(read(memory)[7:25]) == [0] + [2] * 16 + [0]
        assert describe(first) == OK
        assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
        stream.synchronize()
        assert list(read(memory)[7:25]) == [0] + [1] * 16 + [0]


@pytest.mark.parametrize("wrong", ["zeros", "garbage", "freed source", "too long", "pinned", "descriptor freed"])
def test_a_descriptor_that_says_nonsense(wrong: str, held, lib, ffi, stream, memory) -> None:
    descriptor, source, pinned = Buffer(64), Buffer(64), PinnedBuffer(64)
    words = np.array([source.handle, memory.handle, 64], np.uint64)
    copy(descriptor[:24], words)
    assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
    stream.synchronize()
    with held():
        assert lib.aclrtMemcpyAsyncWithDesc(at(ffi, descriptor), INNER, raw(ffi, stream)) == OK
        if wrong == "zeros":
            words[:] = 0
        elif wrong == "garbage":
            words[:2] = GARBAGE
        elif wrong == "too long":
            words[2] = SIZE * 2
        elif wrong == "pinned":
            words[1] = pinned.handle
        copy(descriptor[:24], words)
        {"freed source": source, "descriptor freed": descriptor}.get(wrong, pinned).close()
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA
    stream.synchronize()  # the stream goes on
    for buffer in (descriptor, source, pinned):
        buffer.close()


def test_four_gibibytes_do_not_fit_into_a_descriptor(lib, ffi, stream, memory) -> None:
    with Buffer(4 * GIB) as large:
        desc, where = at(ffi, memory), at(ffi, large)
        assert lib.aclrtSetMemcpyDesc(desc, INNER, where, where, 4 * GIB, ffi.NULL) == OK
        assert not read(memory)[16:20].any()  # the length
        assert lib.aclrtMemcpyAsyncWithDesc(desc, INNER, raw(ffi, stream)) == OK
        assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA


class Offsets:
    """Two words of device memory that hold base addresses."""

    def __init__(self, lib: Any, ffi: Any, stream: Stream) -> None:
        self._lib, self._ffi, self._stream = lib, ffi, stream
        self.words = Buffer(16)

    def point(self, destination: int, source: int) -> None:
        copy(self.words, np.array([destination, source], np.uint64))

    def copy(self, count: int, destination_offset: int = 0, source_offset: int = 0) -> int:
        to = self._ffi.cast("void **", self.words.handle)
        source = self._ffi.cast("void const **", self.words.handle + 8)
        limit = count + destination_offset
        stream = raw(self._ffi, self._stream)
        return int(
            self._lib.aclrtMemcpyAsyncWithOffset(
                to, limit, destination_offset, source, count, source_offset, INNER, stream
            )
        )


@pytest.fixture
def offsets(lib: Any, ffi: Any, stream: Stream) -> Offsets:
    return Offsets(lib, ffi, stream)


def test_base_addresses_are_read_when_the_task_runs(held, offsets, stream, memory) -> None:
    with Buffer(64) as source:
        copy(source, np.arange(64, dtype=np.uint8))
        offsets.point(0, 0)
        with held():
            assert offsets.copy(4, destination_offset=2, source_offset=10) == OK
            offsets.point(memory.handle, source.handle)
        stream.synchronize()
    assert list(read(memory)[:7]) == [0, 0, 10, 11, 12, 13, 0]


@pytest.mark.parametrize("wrong", ["zeros", "garbage", "wraps around", "behind", "pageable", "words freed"])
def test_base_addresses_that_lead_nowhere(wrong: str, held, lib, ffi, offsets, stream, memory) -> None:
    host = np.zeros(64, np.uint8)
    pairs = {
        "zeros": (0, 0),
        "garbage": (memory.handle, GARBAGE),
        "wraps around": (memory.handle, 2**64 - 4),
        "behind": (memory.handle + SIZE + 4096, memory.handle),
        "pageable": (host.ctypes.data, memory.handle),
    }
    offsets.point(*pairs.get(wrong, (memory.handle, memory.handle)))
    with held():
        assert offsets.copy(8, source_offset=8) == OK
        if wrong == "words freed":
            offsets.words.close()
    assert lib.aclrtSynchronizeStream(raw(ffi, stream)) == DMA


def test_an_indirect_copy_stays_on_the_stream_s_device(child) -> None:
    script = """
    pointers = ffi.new("void *[3]")
    codes = [lib.aclrtSetDevice(1), lib.aclrtMalloc(pointers + 1, 64, 0), lib.aclrtSetDevice(0)]
    codes += [lib.aclrtMalloc(pointers, 64, 0), lib.aclrtMalloc(pointers + 2, 64, 0)]
    words = ffi.cast("char *", pointers[0])
    codes += [lib.aclrtMemcpy(words, 16, pointers + 1, 16, 1)]  # to device 1, from device 0
    to, source = ffi.cast("void **", words), ffi.cast("void const **", words + 8)
    codes += [lib.aclrtMemcpyAsyncWithOffset(to, 8, 0, source, 8, 0, 6, ffi.NULL), lib.aclrtSynchronizeStream(ffi.NULL)]
    codes += [lib.aclrtSetMemcpyDesc(pointers[0], 6, pointers[1], pointers[2], 8, ffi.NULL)]
    told(codes)
    """
    assert child(script, ASCEND_RT_SIM_DEVICES="2") == [OK] * 7 + [DMA, RT_PARAM]


# --- aborts and lost devices -----------------------------------------------------------------------------------------

LARGE, MARK = 4 * GIB, 256 << 20


class LargeCopy:
    """A copy that runs for a while, of memory that costs nothing until it is copied."""

    def __init__(self, lib: Any, ffi: Any, stream: Any) -> None:
        self.source, self.target = Buffer(LARGE), Buffer(LARGE)
        for place in (0, MARK, LARGE - 1):
            fill(self.source[place : place + 1], 1)
            fill(self.target[place : place + 1], 0)
        to, source = at(ffi, self.target), at(ffi, self.source)
        assert lib.aclrtMemcpyAsync(to, LARGE, source, LARGE, D2D, stream) == OK

    def has_reached(self, place: int) -> bool:
        found = np.zeros(1, np.uint8)
        copy(found, self.target[place : place + 1])
        return bool(found[0] == 1)

    def reach(self, place: int) -> None:
        deadline = time.monotonic() + 60
        while not self.has_reached(place):
            assert time.monotonic() < deadline

    def close(self) -> None:
        self.source.close()
        self.target.close()


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("aclrtStreamAbort", STREAM_ABORT),
        ("aclrtDestroyStreamForce", STREAM_ABORT),
        ("aclrtDeviceTaskAbort", TASK_ABORT),
    ],
)
def test_an_abort_ends_a_large_copy(function: str, code: int, backend, lib, ffi, device) -> None:
    if backend != "sim":
        pytest.skip("about the pieces in which the simulator copies")
    out = ffi.new("aclrtStream *")
    assert lib.aclrtCreateStream(out) == OK
    handle = out[0]
    large = LargeCopy(lib, ffi, handle)
    large.reach(0)
    codes: list[int] = []

    def abort() -> None:
        device.set_current()
        large.reach(MARK)  # meanwhile the other thread has begun to wait
        codes.append(getattr(lib, function)(*((0, 0) if function == "aclrtDeviceTaskAbort" else (handle,))))

    thread = threading.Thread(target=abort)
    thread.start()
    # The copy was not completed, and who waits for it is not told that it was.
    assert lib.aclrtSynchronizeStream(handle) == code
    thread.join()
    assert codes == [OK]
    assert not large.has_reached(LARGE - 1)
    if function != "aclrtDestroyStreamForce":  # the stream goes on
        assert lib.aclrtMemcpyAsync(at(ffi, large.target), 1, at(ffi, large.source, 1), 1, D2D, handle) == OK
        assert lib.aclrtSynchronizeStream(handle) == OK
        assert not large.has_reached(0)
        assert lib.aclrtDestroyStream(handle) == OK
    large.close()


def test_an_abort_ends_a_large_fill(backend, lib, ffi, device) -> None:
    if backend != "sim":
        pytest.skip("about the pieces in which the simulator fills")
    with Stream() as stream, Buffer(LARGE) as memory:
        for place in (0, LARGE - 1):
            fill(memory[place : place + 1], 0)
        assert lib.aclrtMemsetAsync(at(ffi, memory), LARGE, 1, LARGE, raw(ffi, stream)) == OK
        found = np.zeros(1, np.uint8)
        while found[0] == 0:
            copy(found, memory[:1])
        assert lib.aclrtStreamAbort(raw(ffi, stream)) == OK
        copy(found, memory[LARGE - 1 :])
        assert found[0] == 0


def test_no_synchronous_copy_while_the_device_is_aborted(lib, ffi, device, memory) -> None:
    host, codes = ffi.new("char[16]"), []

    @ffi.callback("int32_t(int32_t, aclrtDeviceTaskAbortStage, uint32_t, void *)")
    def callback(_device: int, _stage: int, _timeout: int, _arguments: Any) -> int:
        codes.append(lib.aclrtMemcpy(at(ffi, memory), 16, host, 16, H2D))
        codes.append(lib.aclrtMemcpy(ffi.NULL, 16, host, 16, H2D))  # arguments come first
        codes.append(lib.aclrtMemset(at(ffi, memory), 16, 0, 16))
        codes.append(lib.aclrtMemset(at(ffi, memory), 15, 0, 16))  # but the size later
        codes.append(lib.aclrtMemsetD32(at(ffi, memory), 16, 0, 4))
        codes.append(lib.aclrtMemcpyAsync(at(ffi, memory), 16, host, 16, H2D, ffi.NULL))
        return 0

    assert lib.aclrtSetDeviceTaskAbortCallback(b"copies", callback, ffi.NULL) == OK
    assert lib.aclrtDeviceTaskAbort(0, 0) == OK
    assert lib.aclrtSetDeviceTaskAbortCallback(b"copies", ffi.NULL, ffi.NULL) == OK
    assert codes == [TASK_ABORT, INVALID_PARAM, TASK_ABORT, TASK_ABORT, TASK_ABORT, TASK_ABORT] * 2


def test_no_copy_to_a_lost_device(child) -> None:
    script = """
    pointer, host = ffi.new("void **"), ffi.new("char[64]")
    codes = [lib.aclrtSetDevice(0), lib.aclrtMalloc(pointer, 64, 0), lib.aclsimLoseDevice(0, 507010)]
    codes.append(lib.aclrtMemcpy(pointer[0], 64, host, 64, 1))
    codes.append(lib.aclrtMemcpy2d(pointer[0], 8, host, 8, 8, 8, 1))
    codes.append(lib.aclrtMemcpyAsync(pointer[0], 64, host, 64, 1, ffi.NULL))
    codes.append(lib.aclrtMemset(pointer[0], 64, 0, 64))
    told(codes)
    """
    assert child(script, ASCEND_RT_BACKEND="sim") == [OK] * 3 + [507010] * 4
