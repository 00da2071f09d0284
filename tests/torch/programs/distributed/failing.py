"""Ranks of which one does something else. Rank 0 prints the error of its wait, and how long it took."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

KIND = sys.argv[1]
dist.init_process_group("hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
store = dist.distributed_c10d._get_default_store()
torch.npu.set_device(RANK)
x, all_parts = torch.ones(1000, device="npu"), torch.empty(1000 * SIZE, device="npu")
dist.all_reduce(x)
torch.npu.synchronize()
begin = time.monotonic()
error = None
try:
    if RANK != 1:
        dist.all_reduce(x)  # the others' line
    elif KIND == "operation":
        dist.all_gather_into_tensor(all_parts, x)  # its line
    elif KIND == "size":
        dist.all_reduce(x[:999])
    elif KIND == "type":
        dist.all_reduce(x.int())
    elif KIND == "reduction":
        dist.all_reduce(x, dist.ReduceOp.MAX)
    elif KIND == "killed":
        os.kill(os.getpid(), 9)
    elif KIND == "ends":
        os._exit(0)
    else:
        store.wait(["rank 0 has failed"])
    torch.npu.synchronize()
except RuntimeError as caught:
    error = str(caught)
if RANK == 0:
    store.set("rank 0 has failed", "")
    print("answer:", json.dumps([error, time.monotonic() - begin]), flush=True)
os._exit(0)  # before torch_npu's watchdog ends the process
