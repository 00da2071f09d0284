# SPDX-License-Identifier: Apache-2.0
"""Random sequences of calls on a channel, beside a bounded queue."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.effort import cases

from ascend_rt import Channel, Device, EndOfSequence, Timeout
from ascend_rt.errors import AclError

STOPPED = 500001

TYPES = st.sampled_from(["bool", "int8", "uint16", "int32", "float16", "float32", "float64", "complex64"])
ARRAYS = arrays.arrays(TYPES, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
MESSAGES = st.lists(ARRAYS, min_size=1, max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), MESSAGES),
        st.tuples(st.just("end"), st.booleans()),
        st.tuples(st.just("receive")),
        st.tuples(st.just("receive")),
        st.tuples(st.just("clear")),
        st.tuples(st.just("stop")),
    ),
    max_size=30,
)


class Model:
    """The channel, and the messages that it has to have."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.expected: deque[Any] = deque()  # arrays, or if the sender has failed at the end of a sequence
        self.is_stopped = False

    def _when_it_would_wait(self, call: Any, limit: float) -> None:
        """A stopped channel refuses to wait; a call that does not want to wait is late as always."""
        with pytest.raises(AclError) as raised:
            call(timeout=limit)
        is_late = limit == 0 or not self.is_stopped
        assert isinstance(raised.value, Timeout) if is_late else raised.value.code == STOPPED

    def _put(self, message: Any, call: Any) -> None:
        if len(self.expected) == self.channel.capacity:
            self._when_it_would_wait(call, 0)
            self._when_it_would_wait(call, 0.001)
        else:
            call(timeout=None)
            self.expected.append(message)

    def send(self, message: list[Any]) -> None:
        self._put([array.copy() for array in message], lambda timeout: self.channel.send(*message, timeout=timeout))

    def end(self, failed: bool) -> None:
        self._put(failed, lambda timeout: self.channel.end(failed=failed, timeout=timeout))

    def receive(self) -> None:
        if not self.expected:
            self._when_it_would_wait(self.channel.receive, 0)
            self._when_it_would_wait(self.channel.receive, 0.001)
            return
        message = self.expected.popleft()
        if isinstance(message, bool):
            with pytest.raises(EndOfSequence) as raised:
                self.channel.receive()
            assert raised.value.has_failed is message
            return
        received = self.channel.receive()
        assert [array.dtype for array in received] == [array.dtype for array in message]
        for got, sent in zip(received, message, strict=True):
            np.testing.assert_array_equal(got, sent)
            assert got.shape == sent.shape

    def clear(self) -> None:
        self.channel.clear()
        self.expected.clear()

    def stop(self) -> None:
        self.channel.stop()
        self.is_stopped = True


@pytest.mark.simulator("unspecified", "the newest of the vendor's libraries ignores a stop")
@settings(max_examples=cases(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(capacity=st.integers(2, 4), steps=STEPS)
def test_a_channel_is_a_bounded_queue(device: Device, capacity: int, steps: list[Any]) -> None:
    with Channel("of a property", capacity) as channel:
        model = Model(channel)
        for name, *arguments in steps:
            getattr(model, name)(*arguments)
            assert len(channel) == len(model.expected)
