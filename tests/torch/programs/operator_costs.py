"""Operators take as long as the profile says, by the time stamps of events."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
a, b = torch.ones(1000, 250, device="npu"), torch.ones(1000, 250, device="npu")  # a megabyte each
begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    a + b


def lasts(function) -> float:
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


# Reads two and writes one; reads one and writes it; by its name; the first once more.
found = [lasts(lambda: a + b), lasts(a.exp_), lasts(a.neg), lasts(graph.replay)]
print("answer:", json.dumps(found))
