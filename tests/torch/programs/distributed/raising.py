"""Ranks of which one raises an exception, while the others wait for it."""

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

dist.init_process_group("hccl")
torch.npu.set_device(dist.get_rank())
x = torch.ones(1000, device="npu")
dist.all_reduce(x)
torch.npu.synchronize()
if dist.get_rank() == 1:
    raise ValueError("the cause")
dist.all_reduce(x)
torch.npu.synchronize()
