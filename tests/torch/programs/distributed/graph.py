"""Collective operations in a captured graph, which other ones follow and precede."""

import json

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

dist.init_process_group("hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
torch.npu.set_device(RANK)
eager = torch.ones(100, device="npu")
dist.all_reduce(eager)
source, gathered = torch.ones(100, device="npu"), torch.empty(100 * SIZE, device="npu")
graph = torch.npu.NPUGraph()
torch.npu.synchronize()
with torch.npu.graph(graph):
    total = source * 2
    dist.all_reduce(total)
    dist.all_gather_into_tensor(gathered, total + RANK)
for step in range(4):
    source.fill_(float(RANK + step))
    graph.replay()
    dist.all_reduce(eager)
    torch.npu.synchronize()
    expected = sum(2 * (rank + step) for rank in range(SIZE))
    assert total.tolist() == [expected] * 100
    assert gathered.tolist() == [expected + rank for rank in range(SIZE) for _ in range(100)]
    assert eager.tolist() == [SIZE ** (step + 2)] * 100
dist.barrier()
if RANK == 0:
    print("answer:", json.dumps("graph"), flush=True)
dist.destroy_process_group()
