# SPDX-License-Identifier: Apache-2.0
"""Channels in Python: arrays, waits with limits, iteration, asyncio, ends."""

from __future__ import annotations

import asyncio
import contextlib
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.codes import INVALID_PARAM, PRODUCTS

import ascend_rt
from ascend_rt import Channel, Device, EndOfSequence, ffi, lib, sim
from ascend_rt.errors import AclError, ClosedError, InvalidArgument, NoContext, OutOfMemory, Timeout
from ascend_rt.testing import no_leaks

STOPPED = 500001

TYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


@pytest.fixture
def channel(device: Device) -> Iterator[Channel]:
    with Channel("of a test", 2, device=device) as channel:
        yield channel


class Background(threading.Thread):
    """A call on another thread, and what it returns or raises."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.call, self.has_begun = call, threading.Event()
        self.start()
        self.has_begun.wait()

    def run(self) -> None:
        self.has_begun.set()
        try:
            self.outcome = self.call()
        except Exception as error:
            self.outcome = error

    def end(self) -> Any:
        self.join(30)
        assert not self.is_alive()
        return self.outcome


def code_of(outcome: Any) -> int:
    assert isinstance(outcome, AclError), outcome
    return outcome.code


# --- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_arrive_with_type_shape_and_content(channel: Channel, dtype: str) -> None:
    sent = np.arange(24).astype(dtype).reshape(2, 3, 4)
    channel.send(sent)
    (received,) = channel.receive()
    assert received.dtype == sent.dtype
    np.testing.assert_array_equal(received, sent)
    received[...] = 0  # it is a new array


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 32, (5,)], ids=str)
def test_any_shape_arrives(channel: Channel, shape: tuple[int, ...]) -> None:
    channel.send(np.ones(shape, np.int16))
    assert channel.receive()[0].shape == shape


def test_a_message_has_several_arrays(channel: Channel) -> None:
    channel.send([1, 2, 3], 2.5, np.array([[True]]))
    numbers, number, truth = channel.receive()
    assert (numbers.tolist(), float(number), truth.tolist()) == ([1, 2, 3], 2.5, [[True]])


def test_arrays_are_copied_when_they_are_sent(channel: Channel) -> None:
    sent = np.arange(5)
    channel.send(sent)
    sent[:] = -1
    assert channel.receive()[0].tolist() == [0, 1, 2, 3, 4]


def test_order_of_elements_and_of_bytes(channel: Channel) -> None:
    numbers = np.arange(6, dtype=">i4").reshape(2, 3)
    channel.send(numbers.T, numbers[:, ::2], numbers)
    transposed, strided, swapped = channel.receive()
    np.testing.assert_array_equal(transposed, numbers.T)
    np.testing.assert_array_equal(strided, numbers[:, ::2])
    np.testing.assert_array_equal(swapped, numbers)
    assert swapped.dtype.isnative


def test_bfloat16_of_ml_dtypes(channel: Channel) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    channel.send(np.array([1.5, -2], ml_dtypes.bfloat16))
    (received,) = channel.receive()
    assert received.dtype == ml_dtypes.bfloat16
    assert received.tolist() == [1.5, -2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array(["text"]), "no data type"),
        (np.zeros(1, "datetime64[s]"), "no data type"),
        (np.zeros(1, [("x", "i4")]), "no data type"),
        (np.array([object()]), "objects"),
    ],
    ids=["text", "time", "record", "object"],
)
def test_elements_without_a_data_type_are_refused(channel: Channel, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        channel.send(value)
    assert len(channel) == 0


def test_a_message_without_arrays_is_refused(channel: Channel) -> None:
    with pytest.raises(ValueError, match="at least one array"):
        channel.send()


def test_content_of_an_unknown_kind_arrives_as_bytes(channel: Channel) -> None:
    text = b"some text"
    data = ffi.new("char[]", text)
    shape = ffi.new("int64_t[]", [1])
    for kind, size in ((lib.ACL_STRING, len(text)), (lib.ACL_INT64, 3)):  # the second one is not of the shape
        items = ffi.new("ascend_rt_item[1]", [{"data_type": kind, "dimensions": 1, "shape": shape}])
        items[0].data, items[0].size = data, size
        assert lib.ascend_rt_send(channel._handle, items, 1, 0) == 0
        assert bytes(channel.receive()[0]) == text[:size]


# --- waits -----------------------------------------------------------------------------------------------------------


def test_limits(channel: Channel) -> None:
    for timeout in (0, 0.001, 0.03):
        with pytest.raises(Timeout, match=r"207013.*no data in channel of a test"):
            channel.receive(timeout)
    channel.send(1)
    channel.send(2, timeout=0)
    for timeout in (0, 0.001, 0.03):
        with pytest.raises(Timeout, match=r"207014.*no room in channel of a test"):
            channel.send(3, timeout=timeout)
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="0 or more seconds"):
            channel.receive(wrong)
    assert [int(channel.receive(5)[0]), int(channel.receive(0)[0])] == [1, 2]


def test_a_receiver_waits_for_a_sender(channel: Channel) -> None:
    receiver = Background(channel.receive)
    channel.send(7)
    assert int(receiver.end()[0]) == 7


def test_a_sender_waits_for_room(channel: Channel) -> None:
    for number in range(channel.capacity):
        channel.send(number)
    sender = Background(lambda: channel.send(99))
    assert int(channel.receive()[0]) == 0
    assert sender.end() is None
    assert len(channel) == channel.capacity


def test_clear_makes_room(channel: Channel) -> None:
    channel.send(1)
    channel.send(2)
    sender = Background(lambda: channel.send(3))
    channel.clear()
    assert sender.end() is None
    assert int(channel.receive()[0]) in (2, 3)  # 2: it was sent between the first look and the wait
    channel.clear()
    assert len(channel) == 0


def test_stop_ends_waits_and_lets_the_rest_be_received(channel: Channel) -> None:
    receiver = Background(channel.receive)
    channel.stop()
    assert code_of(receiver.end()) == STOPPED
    channel.send(1)
    assert int(channel.receive()[0]) == 1
    with pytest.raises(AclError, match="was stopped"):
        channel.receive()
    with pytest.raises(Timeout):
        channel.receive(0)


@pytest.mark.simulator("deadly", "the vendor's library destroys what the waiting thread uses")
def test_close_ends_waits(device: Device) -> None:
    channel = Channel("closed", 2)
    receiver = Background(channel.receive)
    channel.close()
    outcome = receiver.end()  # it looked before the close, called after it, or waited
    assert isinstance(outcome, ClosedError) or code_of(outcome) in (INVALID_PARAM, STOPPED)
    for call in (channel.receive, channel.stop, channel.clear, lambda: channel.send(1), lambda: len(channel)):
        with pytest.raises(ClosedError):
            call()
    channel.close()


@pytest.mark.simulator("internals", "the vendor's library explains no waits")
def test_a_wait_that_cannot_end_is_explained(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        import threading
        from ascend_rt import Channel, Device
        Device(0).set_current()
        channel = Channel("left alone", 2)
        threading.Timer(0.3, channel.send, (1,)).start()
        channel.receive()
        print("late")
        """),
        ASCEND_RT_SIM_STALL_MS="50",
    )
    assert result.stdout == "late\n"
    assert "acltdtReceiveTensor has waited 50 ms for data in channel left alone" in result.stderr


def test_ctrl_c_ends_a_wait(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        import os, signal, threading
        from ascend_rt import Channel, Device
        Device(0).set_current()
        channel = Channel("interrupted", 2)
        handled = []
        def handle(*_):
            handled.append(1)
            if len(handled) == 2:
                raise KeyboardInterrupt
            timer()
        def timer():
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        signal.signal(signal.SIGINT, handle)
        timer()
        try:
            channel.receive()  # the first signal does not end it
        except KeyboardInterrupt:
            channel.send(len(handled))
            print(int(channel.receive()[0]))
        """),
    )
    assert (result.stdout, result.returncode) == ("2\n", 0), result.stderr


def test_receivers_take_turns(channel: Channel) -> None:
    receivers = [Background(lambda: [int(channel.receive()[0]) for _ in range(50)]) for _ in range(4)]
    for number in range(200):
        channel.send(number)
    taken = [receiver.end() for receiver in receivers]
    assert all(numbers == sorted(numbers) for numbers in taken)
    assert sorted(number for numbers in taken for number in numbers) == list(range(200))


# --- sequences -------------------------------------------------------------------------------------------------------


def test_iteration_ends_with_the_sequence(channel: Channel) -> None:
    def send() -> None:
        for number in range(20):
            channel.send(number)
        channel.end()

    sender = Background(send)
    assert [int(number) for (number,) in channel] == list(range(20))
    sender.end()
    channel.send(5)  # another sequence
    assert int(channel.receive()[0]) == 5


def test_the_end_is_an_error_of_receive(channel: Channel) -> None:
    channel.end()
    channel.end(failed=True)
    with pytest.raises(EOFError, match="ended the sequence") as raised:
        channel.receive()
    assert not raised.value.has_failed
    with pytest.raises(EndOfSequence, match="the sender has failed"):
        list(channel)


# --- asyncio ---------------------------------------------------------------------------------------------------------


def test_asyncio_goes_on_while_tasks_wait(channel: Channel) -> None:
    async def main() -> list[int]:
        async def send() -> None:
            for number in range(10):
                await channel.send_async(number)
            await asyncio.to_thread(channel.end)

        sender = asyncio.create_task(send())
        numbers = [int(number) async for (number,) in channel]
        await sender
        return numbers

    assert asyncio.run(main()) == list(range(10))


def test_a_cancelled_task_loses_no_message(channel: Channel) -> None:
    async def main() -> None:
        for number in range(5):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(channel.receive_async(), 0.001)
            channel.send(number)
            assert int((await channel.receive_async())[0]) == number

    asyncio.run(main())
    assert len(channel) == 0


def test_failures_reach_the_awaiting_task(channel: Channel) -> None:
    async def main() -> None:
        task = asyncio.create_task(channel.receive_async())
        await asyncio.sleep(0)
        channel.stop()
        with pytest.raises(AclError, match="was stopped"):
            await task
        channel.end(failed=True)
        with pytest.raises(EndOfSequence):
            await anext_of(channel)

    async def anext_of(source: Channel) -> Any:
        async for message in source:
            return message

    asyncio.run(main())


# --- creation and ends -----------------------------------------------------------------------------------------------


def test_texts_and_properties(channel: Channel, device: Device) -> None:
    assert (channel.name, channel.capacity, channel.device) == ("of a test", 2, device)
    assert repr(channel).startswith("<ascend_rt.Channel 'of a test' 0x")
    assert channel  # although it is empty
    channel.send(1)
    assert len(channel) == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((5, 2), TypeError),
        (("x" * 128, 2), ValueError),
        (("a\0b", 2), ValueError),
        (("x", 1), ValueError),
        (("x", 8193), ValueError),
        (("x", "2"), TypeError),
        (("x", 2.5), TypeError),
    ],
    ids=repr,
)
def test_wrong_arguments(device: Device, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with no_leaks(), pytest.raises(error):
        Channel(*arguments)


def test_names_need_not_differ(device: Device) -> None:
    with Channel("same", 2) as first, Channel("same", 2) as second, Channel("x" * 127, 8192):
        first.send(1)
        assert len(second) == 0
        assert first != second


def test_a_device_is_needed(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        from ascend_rt import Channel, Device
        for device in (None, 0, Device(0)):
            try:
                Channel("too early", 2, device=device)
            except Exception as error:
                print(type(error).__name__, getattr(error, "code", None))
        """),
    )
    first, *others = result.stdout.splitlines()
    assert first == f"{NoContext.__name__} 107002"
    assert others == ["TypeError None", "AclError 500001"]


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", PRODUCTS)
def test_products(run: Callable[..., Any], product: str) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        from ascend_rt import Channel, Device
        Device(0).set_current()
        try:
            with Channel("x", 2) as channel:
                channel.send(1)
                print(int(channel.receive()[0]))
        except Exception as error:
            print(error)
        """),
        ASCEND_RT_SIM_PRODUCT=product,
    )
    has_none = product in ("310B", "310P")
    assert ("does not have this function" in result.stdout) if has_none else result.stdout == "1\n"


def test_a_reset_ends_the_channel(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        import threading
        from ascend_rt import Channel, Device
        device = Device(1)
        device.set_current()
        channel = Channel("reset", 2)
        outcome = []
        def receive():
            try:
                channel.receive()
            except Exception as error:
                outcome.append(type(error).__name__)
        thread = threading.Thread(target=receive)
        thread.start()
        device.reset()
        thread.join()
        try:
            channel.send(1)
        except Exception as error:
            outcome.append(type(error).__name__)
        channel.close()
        print(*outcome)
        """),
    )
    first, second = result.stdout.split()
    assert first in ("AclError", "InvalidArgument", "InvalidHandle")  # it waited, or came later
    assert second == "InvalidHandle"


def test_discarded_channels_and_messages_leave_nothing(device: Device) -> None:
    with no_leaks():
        for _ in range(3):
            channel = Channel("discarded", 2)
            channel.send(np.zeros(1 << 16))
            channel.send(1)
            channel.receive()
            del channel


def test_the_name_is_public() -> None:
    assert ascend_rt.Channel is Channel
    assert issubclass(EndOfSequence, ascend_rt.AscendError)


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("faults")
def test_failing_calls_raise_and_lose_nothing(channel: Channel) -> None:
    with sim.faults():
        channel.send(1)
        sim.fail_call("acltdtSendTensor", 207001)
        with pytest.raises(OutOfMemory):
            channel.send(2)
        sim.fail_call("acltdtReceiveTensor", 107000)
        with pytest.raises(InvalidArgument):
            channel.receive()
        assert int(channel.receive()[0]) == 1
        for function in ("acltdtCreateDataset", "acltdtCreateDataItem"):
            sim.fail_call(function, 100000)
            with pytest.raises(AclError):
                channel.send(3)
        sim.fail_call("acltdtCreateChannelWithCapacity", 207001)
        with pytest.raises(AclError):
            Channel("fails", 2)
    assert len(channel) == 0


@pytest.mark.simulator("faults")
def test_a_lost_device_refuses_messages(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        from ascend_rt import Channel, Device, DeviceLost, sim
        Device(0).set_current()
        channel = Channel("lost", 2)
        sim.lose_device(0)
        for call in (lambda: channel.send(1), channel.receive, lambda: Channel("new", 2)):
            try:
                call()
            except Exception as error:
                print(type(error).__name__)
        channel.close()
        """),
    )
    assert result.stdout.split() == ["DeviceLost", "DeviceLost", "AclError"], result.stderr


@pytest.mark.simulator("internals", "about the memory check")
def test_the_end_of_received_memory_that_a_task_still_reads_is_found(run: Callable[..., Any]) -> None:
    result = run(
        "-c",
        textwrap.dedent("""
        import numpy as np
        from ascend_rt import Buffer, Channel, Device, Stream, ffi, lib
        from ascend_rt.testing import Latch
        Device(0).set_current()
        channel, buffer, stream = Channel("read late", 2), Buffer(4096), Stream()
        for waits in (True, False):
            channel.send(np.full(4096, 7, np.uint8))
            dataset = lib.acltdtCreateDataset()
            assert lib.acltdtReceiveTensor(channel._handle, dataset, 0) == 0
            data = lib.acltdtGetDataAddrFromItem(lib.acltdtGetDataItem(dataset, 0))
            to, on = ffi.cast("void *", buffer.handle), ffi.cast("void *", stream.handle)
            latch = Latch(stream)
            assert lib.aclrtMemcpyAsync(to, 4096, data, 4096, lib.ACL_MEMCPY_HOST_TO_DEVICE, on) == 0
            if waits:
                latch.release()
                stream.synchronize()
            assert lib.acltdtDestroyDataset(dataset) == 0
            latch.release()
        """),
        ASCEND_RT_SIM_CHECK="memory",
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("acltdtDestroyDataset") == 1, result.stderr
