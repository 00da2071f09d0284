"""Operators are tasks of streams: they run in their order, later than the call, and a missing wait is seen."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

from ascend_rt import Stream, sim
from ascend_rt.testing import Latch

torch.npu.set_device(0)
a, b = torch.npu.Stream(), torch.npu.Stream()
torch.npu.synchronize()

# The host goes on while nothing runs; queued calls see the results of those queued before them.
x = torch.zeros(8, device="npu")
torch.npu.synchronize()
with sim.held():
    x.add_(1)
    y = x * 10
    x.add_(1)
    done = torch.npu.Event()
    done.record()
    assert not done.query()
    assert not torch.npu.current_stream().query()
done.synchronize()
assert (y.cpu()[0].item(), x.cpu()[0].item()) == (10, 2)


def read(with_wait):
    source = torch.zeros(8, device="npu")
    torch.npu.synchronize()
    latch = Latch(Stream.from_handle(a.npu_stream))  # holds up this stream, and no other
    with torch.npu.stream(a):
        source.fill_(7)
        written = a.record_event()
    if with_wait:
        b.wait_event(written)
    with torch.npu.stream(b):
        seen = source + 0
        is_read = b.record_event()
    if not with_wait:
        is_read.synchronize()  # before the other stream has written anything
    latch.release()
    torch.npu.synchronize()
    assert source.cpu()[0].item() == 7
    return seen.cpu()[0].item()


assert read(with_wait=True) == 7
assert read(with_wait=False) == 0, "the missing wait was not seen"

# Times of events enclose the operators between them.
begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
latch = Latch(Stream.from_handle(torch.npu.current_stream().npu_stream))
begin.record()
torch.ones(1 << 20, device="npu").exp()
end.record()
assert not end.query()
latch.release()
end.synchronize()
assert begin.elapsed_time(end) > 0

# A stream that sleeps is busy, for that many cycles at least: 50,000 are a millisecond.
if hasattr(torch.npu, "_sleep"):  # from torch_npu 2.12 on
    torch.npu._sleep(1 << 48)
    slept = torch.npu.current_stream().record_event()
    assert [slept.query(), torch.npu.current_stream().query()] == [False, False]
    Stream.from_handle(torch.npu.current_stream().npu_stream).abort()
    begin.record()
    torch.npu._sleep(100_000)
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 2

# Memory is given out again in the order of the stream, before the task that uses it has run.
with sim.held():
    first = torch.full((1024,), 3.0, device="npu")
    place, total = first.data_ptr(), first.sum()
    del first
    second = torch.full((1024,), 5.0, device="npu")
    assert second.data_ptr() == place
assert (total.item(), second.sum().item()) == (3 * 1024, 5 * 1024)

# Waiting releases the interpreter: a Python function in the stream, behind it an operator.
calls = []
Stream.from_handle(torch.npu.current_stream().npu_stream).launch_host_func(lambda: calls.append(1))
assert (second + 1).cpu()[0].item() == 6
assert calls == [1]
print("answer:", json.dumps("order"))
