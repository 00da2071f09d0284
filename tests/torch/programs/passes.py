"""Two backward passes; the nodes of the second one have the line of its call, not those of the first."""

import torch
import torch_npu  # noqa: F401  (registers the device)

side = torch.npu.Stream()
weight = torch.ones(9, device="npu", requires_grad=True)
(weight * weight).sum().backward()  # earlier: first
torch.npu.synchronize()
with torch.npu.stream(side):
    x = torch.ones(11, device="npu")  # made: first
torch.func.grad(lambda it: (it * it).sum())(x)  # function: second
torch.npu.synchronize()
