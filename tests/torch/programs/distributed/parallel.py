"""Further ways to train in parallel give on devices, with hccl, what they give on the CPU with gloo, to the last bit.

Takes the names of some of them, or does all. Needs an even number of ranks.
"""

import contextlib
import tempfile
from functools import partial

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from ways import RANK, SIZE, compare, data, network, on, state


class Block(nn.Module):
    """Transformer block."""

    def __init__(self):
        super().__init__()
        self.norm, self.norm_2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        y = self.norm(x)
        query, key, value = (
            each(y).unflatten(-1, (-1, 4)).transpose(1, 2) for each in (self.query, self.key, self.value)
        )
        attention = torch.softmax(query @ key.transpose(-1, -2), -1) @ value
        x = x + self.out(attention.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


def trained(model, device, clip=False):
    """Return the losses of a few steps, with the norms of the gradients."""
    optimizer, results = torch.optim.AdamW(model.parameters(), 1e-2), []
    for step in range(4):
        x, y = data(step, device)
        loss = F.mse_loss(model(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            results.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor().detach().cpu())
        optimizer.step()
        results.append(loss.detach().cpu())
    return results


def sharded(device, shape=(SIZE,), **options):
    model, mesh = (
        network().to(device),
        init_device_mesh(device, shape, mesh_dim_names=("copies", "parts")[-len(shape) :]),
    )
    for layer in (*(each for each in model if isinstance(each, nn.Linear)), model):
        fully_shard(layer, mesh=mesh, **options)
    return model


def fully_sharded(device, clip=False, **options):
    model = sharded(device, **options)
    return trained(model, device, clip) + state(model)


def offloaded(device):
    model = network()
    options = {"offload_policy": CPUOffloadPolicy()} if device == "npu" else {}
    for layer in (*(each for each in model if isinstance(each, nn.Linear)), model):
        fully_shard(layer, mesh=init_device_mesh(device, (SIZE,)), **options)
    losses = trained(model, device)
    return losses + [each.to_local().detach().cpu().clone() for each in model.parameters()]


def saved_and_loaded(device):
    model, other = sharded(device), sharded(device)
    trained(model, device)
    directory = [tempfile.mkdtemp()] if RANK == 0 else [None]
    dist.broadcast_object_list(directory, 0, device=torch.device("cpu"))
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=directory[0])
    loaded = {"model": other.state_dict()}
    checkpoint.load(loaded, checkpoint_id=directory[0])
    other.load_state_dict(loaded["model"])
    return state(other)


def sequence_parallel(device):
    torch.manual_seed(0)
    model, x = Block().to(device), torch.randn(4, 4 * SIZE, 16)
    whole, rows = partial(ColwiseParallel, input_layouts=Shard(1)), partial(RowwiseParallel, output_layouts=Shard(1))
    plan = {"norm": SequenceParallel(), "norm_2": SequenceParallel(), "query": whole(), "key": whole()}
    plan |= {"value": whole(), "out": rows(), "up": whole(), "down": rows()}
    parallelize_module(model, init_device_mesh(device, (SIZE,)), plan)
    out = model(x.chunk(SIZE, 1)[RANK].contiguous().to(device))
    out.square().mean().backward()
    return [out.detach().cpu(), *(each.grad.full_tensor().cpu() for each in model.parameters())]


def data_parallel(device, hook=None):
    model = DistributedDataParallel(network().to(device), device_ids=[on(device).index] if device == "npu" else None)
    if hook == "power":
        model.register_comm_hook(
            powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=0.5),
            powerSGD_hook.powerSGD_hook,
        )
    elif hook is not None:
        model.register_comm_hook(None, hook)
    return trained(model, device) + state(model)


def accumulated(device):
    model = DistributedDataParallel(network().to(device))
    for step in range(3):
        with model.no_sync() if step < 2 else contextlib.nullcontext():
            x, y = data(step, device)
            F.mse_loss(model(x), y).backward()
    return [each.grad.cpu() for each in model.parameters()]


def uneven(device):
    model = DistributedDataParallel(network().to(device))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    with Join([model]):
        for step in range(3 + RANK):
            x, y = data(step, device)
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
    return state(model)


def pipeline(device, schedule, stages_each=2):
    torch.manual_seed(0)
    count = SIZE * stages_each
    own = range(RANK, count, SIZE)
    layers = [nn.Linear(8, 8) for _ in range(count)]
    x, y = torch.randn(16, 8).to(device), torch.randn(16, 8).to(device)
    group = dist.new_group(backend="gloo" if device == "cpu" else "hccl")
    stages = [PipelineStage(layers[each].to(device), each, count, on(device), group=group) for each in own]
    losses = []
    target = {"target": y, "losses": losses} if count - 1 in own else {}
    running = schedule(stages if stages_each > 1 else stages[0], 2 * SIZE, loss_fn=F.mse_loss)
    running.step(*((x,) if RANK == 0 else ()), **target)
    gradients = [each.grad.cpu() for number in own for each in layers[number].parameters()]
    return [*(each.detach().cpu() for each in losses), *gradients]


BF16 = torch.bfloat16
WAYS = {
    "bfloat16": lambda device: fully_sharded(device, mp_policy=MixedPrecisionPolicy(BF16, torch.float32)),
    "bfloat16 gradients": lambda device: fully_sharded(device, mp_policy=MixedPrecisionPolicy(BF16, BF16)),
    "clipped": lambda device: fully_sharded(device, clip=True),
    "two dimensions": lambda device: fully_sharded(device, clip=True, shape=(SIZE // 2, 2)),
    "offloaded": offloaded,
    "saved and loaded": saved_and_loaded,
    "sequence parallel": sequence_parallel,
    "float16 gradients": lambda device: data_parallel(device, default_hooks.fp16_compress_hook),
    "PowerSGD": lambda device: data_parallel(device, "power"),
    "accumulated": accumulated,
    "uneven": uneven,
    "1F1B": lambda device: pipeline(device, Schedule1F1B, 1),
    "interleaved": lambda device: pipeline(device, ScheduleInterleaved1F1B),
    "zero bubble": lambda device: pipeline(device, ScheduleInterleavedZeroBubble),
}

compare(WAYS)
