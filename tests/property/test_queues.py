# SPDX-License-Identifier: Apache-2.0
"""Random calls on queues and shared buffers, against a model of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import cases

from ascend_rt import Device, Queue, ffi, lib

DEPTH = 3
FULL, EMPTY, TOO_LARGE = 207014, 207013, 107000
SIZES = st.sampled_from([1, 95, 896, 897, 5000])

Step = tuple[str, int, int, bytes]
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "get", "get little"]), st.integers(0, 1), SIZES, st.binary(max_size=96)),
    max_size=30,
)


@pytest.fixture(scope="module")
def queues() -> Iterator[list[Queue]]:
    Device(0).set_current()
    both = [Queue(DEPTH), Queue(DEPTH)]
    yield both
    for queue in both:
        queue.close()


def put(queue: Queue, content: bytes, user_data: bytes) -> int:
    user = user_data or ffi.NULL
    return int(lib.acltdtEnqueueData(queue.number, content, len(content), user, len(user_data), 0, 0))


def get(queue: Queue, room: int) -> tuple[int, int, bytes, bytes]:
    data, length, user_data = ffi.new("char[]", room), ffi.new("size_t *"), ffi.new("char[96]")
    code = int(lib.acltdtDequeueData(queue.number, data, room, length, user_data, 96, 0))
    return code, int(length[0]), ffi.buffer(data)[: length[0]], ffi.buffer(user_data)[:]


@given(steps=STEPS)
@settings(max_examples=cases(100))
def test_queues_are_first_in_first_out(queues: list[Queue], steps: list[Step]) -> None:
    models: list[list[tuple[bytes, bytes]]] = [[], []]
    for number, (action, which, size, user_data) in enumerate(steps):
        queue, model = queues[which], models[which]
        if action == "put":
            content = bytes([number]) * size
            assert put(queue, content, user_data) == (FULL if len(model) == DEPTH else 0)
            if len(model) < DEPTH:
                model.append((content, user_data.ljust(96, b"\0")))
        elif not model:
            assert get(queue, size)[0] == EMPTY
        elif action == "get little" and len(model[0][0]) > 1:
            code, length, *_ = get(queue, len(model[0][0]) - 1)
            assert (code, length) == (TOO_LARGE, len(model[0][0]))
        else:
            content, description = model.pop(0)
            assert get(queue, len(content)) == (0, len(content), content, description)
    for queue, model in zip(queues, models, strict=True):
        for content, description in model:
            assert get(queue, 10_000) == (0, len(content), content, description)
        assert get(queue, 1)[0] == EMPTY


class Buffers:
    """Chains of buffers, by the handles of their heads, as the library and the model have them."""

    def __init__(self) -> None:
        self.chains: list[list[Any]] = []  # handles
        self.lengths: dict[Any, int] = {}

    def new(self, size: int) -> None:
        out = ffi.new("aclrtMbuf *")
        assert lib.aclrtAllocBuf(out, size) == 0
        assert lib.aclrtSetBufDataLen(out[0], size) == 0
        self.chains.append([out[0]])
        self.lengths[out[0]] = size

    def check(self) -> None:
        count, out, length = ffi.new("uint32_t *"), ffi.new("aclrtMbuf *"), ffi.new("size_t *")
        for chain in self.chains:
            assert lib.aclrtGetBufChainNum(chain[0], count) == 0
            assert count[0] == len(chain)
            for index, buffer in enumerate(chain):
                assert lib.aclrtGetBufFromChain(chain[0], index, out) == 0
                assert out[0] == buffer
                assert lib.aclrtGetBufDataLen(buffer, length) == 0
                assert length[0] == self.lengths[buffer]
            assert lib.aclrtGetBufFromChain(chain[0], len(chain), out) == TOO_LARGE
            for member in chain[1:]:
                assert lib.aclrtFreeBuf(member) == TOO_LARGE


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["new", "copy", "append", "free"]), st.integers(0, 9), st.integers(0, 9), SIZES),
        max_size=25,
    )
)
@settings(max_examples=cases(60))
def test_chains_of_buffers(steps: list[tuple[str, int, int, int]]) -> None:
    buffers = Buffers()
    for action, first, second, size in steps:
        chains = buffers.chains
        if action == "new" or not chains:
            buffers.new(size)
            continue
        chain, other = chains[first % len(chains)], chains[second % len(chains)]
        if action == "copy":
            out = ffi.new("aclrtMbuf *")
            assert lib.aclrtCopyBufRef(chain[0], out) == 0
            copied = [out[0]]
            for index in range(1, len(chain)):
                member = ffi.new("aclrtMbuf *")
                assert lib.aclrtGetBufFromChain(copied[0], index, member) == 0
                copied.append(member[0])
            buffers.lengths.update(zip(copied, (buffers.lengths[it] for it in chain), strict=True))
            if len(copied) <= 128:
                chains.append(copied)
        elif action == "append":
            if chain is other:
                assert lib.aclrtAppendBufChain(chain[0], other[0]) == 507899
            elif len(chain) + len(other) <= 128:
                assert lib.aclrtAppendBufChain(chain[0], other[0]) == 0
                chain.extend(other)
                chains.remove(other)
        else:
            assert lib.aclrtFreeBuf(chain[0]) == 0
            assert lib.aclrtFreeBuf(chain[0]) == TOO_LARGE
            chains.remove(chain)
        buffers.check()
    for chain in buffers.chains:
        assert lib.aclrtFreeBuf(chain[0]) == 0
