"""Each way to train in parallel gives on devices, with hccl, what it gives on the CPU with gloo, to the last bit.

Also: calls on groups, without waiting, of objects, and in one go. Takes the names of some of them, or does all.
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import _coalescing_manager
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from ways import RANK, SIZE, compare, data, network, on, state


class Unused(nn.Module):
    """Has parameters that take no part."""

    def __init__(self):
        super().__init__()
        self.first, self.unused, self.last = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.first(x))


def trained(model, optimizer, device, same_data=False):
    """Return the losses of a few steps, each rank having its own data."""
    losses = []
    for step in range(4):
        x, y = data(step, device, 0 if same_data else RANK)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())
    return losses


def data_parallel(device, model=None, **options):
    model = (model or network()).to(device)
    model = DistributedDataParallel(
        model, device_ids=[torch.npu.current_device()] if device == "npu" else None, **options
    )
    return trained(model, torch.optim.AdamW(model.parameters(), 1e-2), device) + state(model.module)


def fully_sharded(device, strategy=ShardingStrategy.FULL_SHARD):
    model = FullyShardedDataParallel(
        network().to(device),
        auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
        sharding_strategy=strategy,
        device_id=on(device),
    )
    losses = trained(model, torch.optim.AdamW(model.parameters(), 1e-2), device)
    with FullyShardedDataParallel.summon_full_params(model):
        return losses + state(model)


def fully_sharded_in_place(device, **options):
    model, mesh = network().to(device), init_device_mesh(device, (SIZE,))
    for layer in (*(each for each in model if isinstance(each, nn.Linear)), model):
        fully_shard(layer, mesh=mesh, **options)
    losses = trained(model, torch.optim.AdamW(model.parameters(), 1e-2), device)
    return losses + state(model)


def sharded_optimizer(device):
    model = DistributedDataParallel(
        network().to(device), device_ids=[torch.npu.current_device()] if device == "npu" else None
    )
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-2)
    return trained(model, optimizer, device) + state(model.module)


def tensor_parallel(device):
    model = network().to(device)
    parallelize_module(model, init_device_mesh(device, (SIZE,)), {"0": ColwiseParallel(), "3": RowwiseParallel()})
    # Grouped updates take tensors of one kind.
    losses = trained(model, torch.optim.SGD(model.parameters(), 1e-2, foreach=False), device, same_data=True)
    return losses + state(model)


def pipeline(device):
    torch.manual_seed(0)
    layer = [nn.Linear(8, 8) for _ in range(SIZE)][RANK].to(device)
    group = dist.new_group(backend="gloo") if device == "cpu" else None
    stage = PipelineStage(layer, RANK, SIZE, on(device), group=group)
    schedule, losses = ScheduleGPipe(stage, 4, loss_fn=F.mse_loss), []
    x, y = torch.randn(8, 8).to(device), torch.randn(8, 8).to(device)
    inputs = (x,) if RANK == 0 else ()
    schedule.step(*inputs, **({"target": y, "losses": losses} if RANK == SIZE - 1 else {}))
    return [*(each.detach().cpu() for each in losses), *(each.grad.cpu() for each in layer.parameters())]


def objects(device):
    gathered, scattered = [None] * SIZE, [None]
    dist.all_gather_object(gathered, {"rank": RANK, "list": list(range(RANK))})
    broadcast = [f"of {RANK}", RANK]
    dist.broadcast_object_list(broadcast, SIZE - 1, device=on(device))
    dist.scatter_object_list(scattered, [f"to {rank}" for rank in range(SIZE)] if RANK == 0 else None)
    return [torch.tensor(list(repr((gathered, broadcast, scattered)).encode()))]


def groups(device):
    results = []
    for members in (range(0, SIZE, 2), range(SIZE // 2, SIZE), {0, SIZE - 1}):
        group = dist.new_group(list(members), backend="gloo" if device == "cpu" else "hccl")
        if RANK in members:
            x = torch.arange(10.0).to(device) * (RANK + 1)
            dist.all_reduce(x, group=group)
            parts = [torch.empty(10, device=device) for _ in members]
            dist.all_gather(parts, x, group=group)
            results += [x.cpu(), *(each.cpu() for each in parts)]
    return results


def without_waiting(device):
    tensors = [torch.full((1000 + i,), float(RANK + i)).to(device) for i in range(20)]
    works = [dist.all_reduce(each, async_op=True) for each in tensors]
    for work in reversed(works):
        work.wait()
    return [each.cpu() for each in tensors]


def in_one_go(device):
    tensors = [torch.full((100 + i,), float(RANK + i)).to(device) for i in range(5)]
    if device == "cpu":  # gloo has none
        for each in tensors:
            dist.all_reduce(each)
        return tensors
    with _coalescing_manager(device=on(device), async_ops=True) as work:
        for each in tensors:
            dist.all_reduce(each)
    work.wait()
    return [each.cpu() for each in tensors]


def functions(device):
    x = torch.arange(3.0 * SIZE).reshape(SIZE, 3).to(device) + RANK
    calls = (
        functional.all_reduce(x, "sum", dist.group.WORLD),
        functional.all_gather_tensor(x, 0, dist.group.WORLD),
        functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD),
    )
    return [each.cpu() for each in calls]


WAYS = {
    "data parallel": data_parallel,
    "batch norm": lambda device: data_parallel(device, network(nn.BatchNorm1d(32))),
    "unused parameters": lambda device: data_parallel(device, Unused(), find_unused_parameters=True),
    "many buckets": lambda device: data_parallel(device, bucket_cap_mb=0.0005),
    "static graph": lambda device: data_parallel(device, gradient_as_bucket_view=True, static_graph=True),
    "fully sharded": fully_sharded,
    "sharded gradients": lambda device: fully_sharded(device, ShardingStrategy.SHARD_GRAD_OP),
    "fully sharded in place": fully_sharded_in_place,
    "parameters kept": lambda device: fully_sharded_in_place(device, reshard_after_forward=False),
    "sharded optimizer": sharded_optimizer,
    "tensor parallel": tensor_parallel,
    "pipeline": pipeline,
    "objects": objects,
    "groups": groups,
    "without waiting": without_waiting,
    "in one go": in_one_go,
    "functions": functions,
}
# Ways in which a release cannot train with gloo: 2.7 and 2.8 take sums for averages, and 2.9 ends the process.
AVERAGED = ("fully sharded in place", "parameters kept")
FAILING_WITH_GLOO = {"2.7": AVERAGED, "2.8": AVERAGED, "2.9": ("pipeline",)}
for way in FAILING_WITH_GLOO.get(".".join(torch.__version__.split(".")[:2]), ()):
    del WAYS[way]

compare(WAYS)
