"""A job of which a rank is killed, and which torchrun starts again."""

import json
import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

dist.init_process_group("hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.npu.set_device(RANK)
x = torch.ones(10, device="npu")
for step in range(3):
    if (ATTEMPT, RANK, step) == (0, 1, 2):
        os.kill(os.getpid(), 9)
    dist.all_reduce(x)
    torch.npu.synchronize()
assert x.tolist() == [SIZE**3] * 10
dist.barrier()
if RANK == 0:
    print("answer:", json.dumps(ATTEMPT), flush=True)
dist.destroy_process_group()
