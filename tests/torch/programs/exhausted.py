"""A device without memory left: operators say so, and change nothing. The profile of a card gives it little."""

import json

import pytest
import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
size = 1 << 24
first = torch.full((size,), 2.0, device="npu", requires_grad=True)
kept = [torch.full((size,), 3.0, device="npu")]


def exhaust():
    while True:
        kept.append(torch.full((size,), 3.0, device="npu"))


with pytest.raises(torch.OutOfMemoryError):
    exhaust()
assert torch.npu.get_device_properties(0).total_memory == 1 << 30

out = torch.empty(0, device="npu")
captured = torch.npu.NPUGraph()


def backward():
    (first * kept[0]).sum().backward()


def capture():
    with torch.npu.graph(captured):
        kept[0] + kept[1]


for use in (
    lambda: kept[0] + kept[1],
    lambda: torch.add(kept[0], kept[1], out=out),
    lambda: torch.masked_select(kept[0], kept[0] > 1),  # its size is in the data
    lambda: kept[0].sort(),
    lambda: kept[0].cpu().to("npu"),
    backward,
    capture,
):
    with pytest.raises(torch.OutOfMemoryError):
        use()
assert out.shape == (0,)
assert first.grad is None
captured.reset()
del kept[1:]
assert torch.add(first.detach(), kept[0], out=out)[-1].item() == 5
backward()
assert first.grad[0].item() == 3
print("answer:", json.dumps("exhausted"))
