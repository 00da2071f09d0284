"""A tensor that is read before its all-reduce has ended, or, with an argument, afterwards."""

import sys

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

dist.init_process_group("hccl")
torch.npu.set_device(dist.get_rank())
x = torch.ones(100000, device="npu")
work = dist.all_reduce(x, async_op=True)  # written here
if len(sys.argv) > 1:
    work.wait()
y = x + 1  # read here
torch.npu.synchronize()
work.wait()
dist.destroy_process_group()
