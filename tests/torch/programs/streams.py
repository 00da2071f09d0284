"""Streams and events: what waits for what, and what does not. Nothing runs while the simulator is held."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

from ascend_rt import sim

COUNT = 1 << 14
torch.npu.set_device(0)
a, b = torch.npu.Stream(), torch.npu.Stream()
start, end, done = (torch.npu.Event(enable_timing=True) for _ in range(3))
sent, received = torch.arange(COUNT, dtype=torch.float32).pin_memory(), torch.zeros(COUNT).pin_memory()
memory = torch.empty(COUNT, device="npu")
torch.npu.synchronize()
assert sent.is_pinned()
assert not torch.empty(1).is_pinned()

with sim.held():
    with torch.npu.stream(a):
        start.record()
        memory.copy_(sent, non_blocking=True)
        end.record()
    b.wait_event(end)
    with torch.npu.stream(b):
        received.copy_(memory, non_blocking=True)
        done.record()
    waiting = [a.query(), b.query(), end.query(), done.query(), bool(received.any())]
assert waiting == [False] * 5, waiting
done.synchronize()
assert torch.equal(sent, received)
assert [a.query(), b.query(), start.query(), end.query()] == [True] * 4
assert start.elapsed_time(end) >= 0
a.wait_stream(b)
torch.npu.current_stream().wait_stream(a)
assert torch.npu.current_stream() == torch.npu.default_stream()

# Memory that another stream uses is not handed out before that stream is done with it.
with sim.held():
    lent = torch.empty(COUNT, device="npu")
    address = lent.data_ptr()
    with torch.npu.stream(a):
        lent.copy_(sent, non_blocking=True)
    lent.record_stream(a)
    del lent
    next_address = torch.empty(COUNT, device="npu").data_ptr()
assert next_address != address
torch.npu.synchronize()
print("answer:", json.dumps("streams"))
