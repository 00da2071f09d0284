"""Shared parts of programs that compare ways to train: the ranks, a network with its data, and the comparison."""

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)
from torch import nn
from torch.distributed.tensor import DTensor

warnings.simplefilter("ignore")  # for what PyTorch says of its interfaces
dist.init_process_group("cpu:gloo,npu:hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
torch.set_num_threads(1)


def on(device):
    return torch.device("npu", torch.npu.current_device()) if device == "npu" else torch.device(device)


def network(norm=None):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), norm or nn.Identity(), nn.ReLU(), nn.Linear(32, 16), nn.Linear(16, 4))


def data(step, device, rank=RANK):
    """Return inputs and targets, which are others for each rank."""
    random = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(6, 8, generator=random).to(device), torch.randn(6, 4, generator=random).to(device)


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def state(model):
    """Return copies: a model on the CPU goes on to use its memory."""
    return [whole(each).detach().cpu().clone() for each in (*model.parameters(), *model.buffers())]


def compare(ways):
    """Run the ways that the command line names, or all, on the CPU and on devices; end the program."""
    names = sys.argv[1:] or list(ways)
    for name in names:
        results = []
        for device in ("cpu", "npu"):
            torch.manual_seed(0)
            results.append(ways[name](device))
        for number, (want, got) in enumerate(zip(*results, strict=True)):
            assert torch.equal(want, got), f"{name}: tensor {number} differs by {(want - got).abs().max()}"
    dist.barrier()
    if RANK == 0:
        print("answer:", json.dumps(len(names)), flush=True)
    dist.destroy_process_group()
