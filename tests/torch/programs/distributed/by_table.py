# SPDX-License-Identifier: Apache-2.0
"""Groups and messages of four ranks that a rank table lists: torch_npu makes parts of the first communicator."""

import json
import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.distributed.device_mesh import init_device_mesh


def summed(group: dist.ProcessGroup | None = None) -> list[float]:
    values = torch.full((2,), 1.0 + dist.get_rank()).npu()
    dist.all_reduce(values, group=group)
    return values.tolist()


def swapped(rank: int, group: dist.ProcessGroup | None = None) -> list[float]:
    """Return what the other of ranks 0 and 1 sends."""
    mine, other = torch.full((2,), float(rank)).npu(), torch.empty(2).npu()
    for is_mine in (rank == 0, rank == 1):
        if is_mine:
            dist.send(mine, 1 - rank, group=group)
        else:
            dist.recv(other, 1 - rank, group=group)
    return other.tolist()


def main() -> None:
    dist.init_process_group("hccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.npu.set_device(rank)
    assert summed() == [10, 10]
    pair = dist.new_group([0, 1])
    if rank < 2:
        assert swapped(rank) == [1 - rank, 1 - rank]
        assert summed(pair) == [3, 3]
        assert swapped(rank, pair) == [1 - rank, 1 - rank]
    assert summed(dist.new_group(list(range(size)))) == [10, 10]
    mesh = init_device_mesh("npu", (2, 2), mesh_dim_names=("rows", "columns"))
    assert summed(mesh["rows"].get_group()) == [4 + 2 * (rank % 2)] * 2
    before, after = torch.full((2,), float(rank)).npu(), torch.empty(2).npu()
    ring = [
        dist.P2POp(dist.isend, before, (rank + 1) % size),
        dist.P2POp(dist.irecv, after, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    assert after.tolist() == [(rank - 1) % size] * 2
    ranks: list[int] = [-1] * size
    dist.all_gather_object(ranks, rank)
    assert ranks == list(range(size))
    dist.destroy_process_group()
    dist.init_process_group("hccl")
    assert summed() == [10, 10]
    dist.destroy_process_group()
    if rank == 0:
        print(f"answer: {json.dumps(os.path.basename(__file__))}")


main()
