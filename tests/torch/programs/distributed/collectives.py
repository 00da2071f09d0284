"""Every collective operation of every type gives on devices, with hccl, what gloo gives on the CPU.

Where gloo lacks a type or an operation, a computation on this rank replaces it. Prints how many calls were compared.
"""

import json
from functools import reduce

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

REDUCED = (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64)
# gloo has nothing for int16.
MOVED = (*(each for each in REDUCED if each != torch.int16), torch.uint8, torch.bool, torch.float64)
OPERATIONS = (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MAX, dist.ReduceOp.MIN)
# One element, an odd number, several dimensions, and more than is sent at once.
SHAPES = ((1,), (5,), (3, 7), (40001,))

dist.init_process_group("cpu:gloo,npu:hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
torch.npu.set_device(RANK)
compared = 0


def content(shape, dtype, rank=RANK):
    """Return numbers that any rank can make."""
    random = torch.Generator().manual_seed(rank)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=random).to(dtype)
    return torch.randint(0, 4 if dtype != torch.bool else 2, shape, generator=random).to(dtype)


def compare(call, expected=None):
    global compared
    expected = call("cpu") if expected is None else expected
    for want, got in zip(expected, call("npu"), strict=True):
        assert torch.equal(want, got.cpu()), f"{call.__name__} {want.dtype} {tuple(want.shape)}"
    compared += 1


def reductions(shape, dtype, operation):
    x, all_parts = content(shape, dtype), content((SIZE * shape[0], *shape[1:]), dtype)

    def all_reduce(device):
        result = x.clone().to(device)
        dist.all_reduce(result, operation)
        return [result]

    def reduce_to(device):
        result = x.clone().to(device)
        dist.reduce(result, SIZE - 1, operation)
        return [result] if RANK == SIZE - 1 else []

    def reduce_scatter_tensor(device):
        result = torch.empty(shape, dtype=dtype, device=device)
        dist.reduce_scatter_tensor(result, all_parts.to(device), operation)
        return [result]

    def reduce_scatter(device):
        result = torch.empty(shape, dtype=dtype, device=device)
        dist.reduce_scatter(result, [each.contiguous() for each in all_parts.to(device).chunk(SIZE)], operation)
        return [result]

    if dtype == torch.int16:  # gloo has no reductions of it
        combine = {dist.ReduceOp.SUM: torch.add, dist.ReduceOp.MAX: torch.maximum, dist.ReduceOp.MIN: torch.minimum}
        compare(all_reduce, [reduce(combine[operation], (content(shape, dtype, rank) for rank in range(SIZE)))])
        return
    for call in (all_reduce, reduce_to):
        compare(call)
    # gloo reduces the whole tensor, too, but releases before 2.9 only add; a list it adds in another order.
    whole = all_parts.clone()
    dist.all_reduce(whole, operation)
    for call in (reduce_scatter_tensor, reduce_scatter):
        compare(call, [whole.chunk(SIZE)[RANK]])


def moves(shape, dtype):
    x, all_parts = content(shape, dtype), content((SIZE * shape[0], *shape[1:]), dtype)

    def empty(device, parts=1):
        return torch.empty((parts * shape[0], *shape[1:]), dtype=dtype, device=device)

    def broadcast(device):
        result = x.clone().to(device)
        dist.broadcast(result, SIZE - 1)
        return [result]

    def all_gather(device):
        results = [empty(device) for _ in range(SIZE)]
        dist.all_gather(results, x.to(device))
        return results

    def all_gather_into_tensor(device):
        result = empty(device, SIZE)
        dist.all_gather_into_tensor(result, x.to(device))
        return [result]

    def gather(device):
        results = [empty(device) for _ in range(SIZE)] if RANK == 0 else None
        dist.gather(x.to(device), results)
        return results or []

    def scatter(device):
        result = empty(device)
        dist.scatter(result, list(all_parts.to(device).chunk(SIZE)) if RANK == 0 else None)
        return [result]

    def all_to_all(device):
        result = empty(device, SIZE)
        dist.all_to_all_single(result, all_parts.to(device))
        return [result]

    def all_to_all_of_parts(device):
        parts = [1 + (RANK + other) % 3 for other in range(SIZE)]
        sizes = [shape[0] * each for each in parts]
        result = empty(device, sum(parts))
        dist.all_to_all_single(result, content((sum(sizes), *shape[1:]), dtype).to(device), sizes, sizes)
        return [result]

    def send_to_the_next(device):
        result, own = empty(device), x.to(device)
        calls = [dist.P2POp(dist.isend, own, (RANK + 1) % SIZE), dist.P2POp(dist.irecv, result, (RANK - 1) % SIZE)]
        for work in dist.batch_isend_irecv(calls):
            work.wait()
        return [result]

    def send(device):
        result = x.to(device)
        if RANK == 0:
            dist.send(result, 1)
        elif RANK == 1:
            dist.recv(result, 0)
        return [result]

    for call in (broadcast, all_gather, all_gather_into_tensor, gather, scatter, all_to_all, all_to_all_of_parts):
        compare(call)
    for call in (send_to_the_next, send):
        compare(call)


for shape in SHAPES:
    for dtype in REDUCED:
        for operation in OPERATIONS:
            # On 910B, HCCL has no such reductions.
            if not (operation == dist.ReduceOp.PRODUCT and dtype in (torch.int16, torch.bfloat16)):
                reductions(shape, dtype, operation)
    for dtype in MOVED:
        moves(shape, dtype)
dist.barrier()
if RANK == 0:
    print("answer:", json.dumps(compared), flush=True)
dist.destroy_process_group()
