"""SyncBatchNorm on several ranks is BatchNorm of the whole batch."""

import copy
import json

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)
from torch import nn
from torch.testing import assert_close

dist.init_process_group("hccl")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
torch.npu.set_device(RANK)

# float16 has 11 bits, and gradients are sums of up to 24 such numbers.
TOLERANCES = {torch.float32: {"atol": 1e-5, "rtol": 1e-5}, torch.float16: {"atol": 2e-2, "rtol": 2e-2}}


def check(shape, dtype):
    whole = (nn.BatchNorm1d if len(shape) < 4 else nn.BatchNorm2d)(shape[1])
    nn.init.normal_(whole.weight)
    nn.init.normal_(whole.bias)
    mine = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(whole)).npu()
    x = torch.randn(SIZE * shape[0], *shape[1:]).to(dtype)
    grad = torch.randn_like(x)
    x_whole = x.detach().clone().float().requires_grad_()
    y_whole = whole(x_whole)
    y_whole.backward(grad.float())
    x_mine = x.chunk(SIZE)[RANK].npu().detach().requires_grad_()
    y_mine = mine(x_mine)
    y_mine.backward(grad.chunk(SIZE)[RANK].npu())
    for each in (mine.weight.grad, mine.bias.grad):
        dist.all_reduce(each)
    pairs = (
        (y_mine, y_whole.chunk(SIZE)[RANK]),
        (x_mine.grad, x_whole.grad.chunk(SIZE)[RANK]),
        (mine.weight.grad, whole.weight.grad),
        (mine.bias.grad, whole.bias.grad),
        (mine.running_mean, whole.running_mean),
        (mine.running_var, whole.running_var),
    )
    for got, want in pairs:
        assert_close(got.detach().float().cpu(), want.detach(), **TOLERANCES[dtype])


torch.manual_seed(0)
for dtype in TOLERANCES:
    for shape in ((6, 5), (4, 5, 3), (2, 5, 3, 2)):
        check(shape, dtype)
dist.barrier()
if RANK == 0:
    print("answer:", json.dumps("sync_norm"), flush=True)
dist.destroy_process_group()
