"""Two backward passes; the nodes of the second one have no places, and must not get those of the first."""

import torch
import torch_npu  # noqa: F401  (registers the device)

side = torch.npu.Stream()
weight = torch.ones(9, device="npu", requires_grad=True)
(weight * weight).sum().backward()  # earlier: first
torch.npu.synchronize()
with torch.npu.stream(side):
    x = torch.ones(11, device="npu")
torch.func.grad(lambda it: (it * it).sum())(x)
torch.npu.synchronize()
