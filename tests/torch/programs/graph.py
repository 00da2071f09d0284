"""Copies that are captured once and done by each replay."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
source, target = torch.empty(100, device="npu"), torch.empty(100, device="npu")
source.copy_(torch.zeros(100))
target.copy_(torch.full((100,), -1.0))
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    target.copy_(source)
torch.npu.synchronize()
assert target.cpu().tolist() == [-1] * 100, "a capture does nothing"
for number in range(3):
    source.copy_(torch.full((100,), float(number)))
    graph.replay()
    torch.npu.synchronize()
    assert target.cpu().tolist() == [number] * 100
print("answer:", json.dumps("graph"))
