"""An inference loop: copies from and to pinned memory on separate streams, two batches in flight."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)
from torch import nn

BATCHES, ROWS = 12, 256
torch.npu.set_device(0)
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).eval()
batches = [torch.randn(ROWS, 64) for _ in range(BATCHES)]
with torch.inference_mode():
    expected = [network(batch) for batch in batches]
network.npu()
torch.npu.synchronize()
copies_in, copies_out = torch.npu.Stream(), torch.npu.Stream()
slots = [(torch.empty(ROWS, 64).pin_memory(), torch.empty(ROWS, 8).pin_memory(), torch.npu.Event()) for _ in range(2)]
results = []


def take(number):
    _, received, is_done = slots[number % 2]
    is_done.synchronize()
    results.append(received.clone())


with torch.inference_mode():
    for number, batch in enumerate(batches):
        sent, received, is_done = slots[number % 2]
        if number >= 2:
            take(number)
        sent.copy_(batch)
        with torch.npu.stream(copies_in):
            there = sent.to("npu", non_blocking=True)
        torch.npu.current_stream().wait_stream(copies_in)
        there.record_stream(torch.npu.current_stream())
        output = network(there)
        copies_out.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(copies_out):
            received.copy_(output, non_blocking=True)
            output.record_stream(copies_out)
            is_done.record()
    for number in (BATCHES, BATCHES + 1):
        take(number)
assert len(results) == BATCHES
for result, wanted in zip(results, expected, strict=True):
    torch.testing.assert_close(result, wanted, rtol=0, atol=0)
print("answer:", json.dumps("inference"))
