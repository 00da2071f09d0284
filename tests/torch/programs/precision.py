"""Where results differ from the CPU's, and the device's are right: docs/torch.md, "Differences from the CPU"."""

import json

import torch
import torch.nn.functional as F
import torch_npu

torch.manual_seed(0)
x = torch.randn(32, 64)

# Autocast has a list for each kind of device. These compute in float32 on an NPU, and in the input's type on the CPU.
WIDENED = {
    "softmax": lambda a: F.softmax(a, -1),
    "layer_norm": lambda a: F.layer_norm(a, (64,)),
    "group_norm": lambda a: F.group_norm(a, 2),
    "sum": torch.sum,
    "exp": torch.exp,
    "pow": lambda a: a.abs().pow(2.5),
    "cumsum": lambda a: a.cumsum(0),
    "norm": torch.norm,
    "cosine_similarity": lambda a: F.cosine_similarity(a, a + 1),
}
for name, function in WIDENED.items():
    exact = function(x.half().double())
    with torch.autocast("npu", dtype=torch.float16):
        on_npu = function(x.half().npu()).cpu()
    with torch.autocast("cpu", dtype=torch.float16):
        on_cpu = function(x.half())
    assert (on_npu.dtype, on_cpu.dtype) == (torch.float32, torch.float16), name
    errors = [(each.double() - exact).abs().max().item() for each in (on_npu, on_cpu)]
    assert errors[0] < errors[1], (name, errors)

# The fused optimizer is as near to float64 as that of the CPU: both round each step, in another order.
start, slopes = torch.randn(1000), torch.randn(20, 1000)


def trained(parameter, optimizer):
    for slope in slopes:
        optimizer.zero_grad()
        (parameter * slope.to(parameter.device, parameter.dtype)).sum().backward()
        optimizer.step()
    return parameter.detach().cpu().double()


def parameter(tensor):
    return torch.nn.Parameter(tensor.clone())


settings = {"lr": 1e-2, "weight_decay": 0.1}
made = [parameter(start.double()), parameter(start), parameter(start.npu())]
optimizers = [torch.optim.AdamW([made[0]], **settings), torch.optim.AdamW([made[1]], **settings)]
optimizers.append(torch_npu.optim.NpuFusedAdamW([made[2]], **settings))
exact, on_cpu, on_npu = (trained(*each) for each in zip(made, optimizers, strict=True))
bound = len(slopes) * torch.finfo(torch.float32).eps * 4  # a rounding of a number of up to 4 in each step
assert (on_cpu - exact).abs().max() < bound
assert (on_npu - exact).abs().max() < bound

# A gradient that is zero but for rounding moves its parameter by the learning rate, in the direction of the rounding.
for noise in (1e-9, -1e-9):
    value = parameter(torch.ones(1).npu())
    optimizer = torch_npu.optim.NpuFusedAdamW([value], lr=5e-5, weight_decay=0, eps=1e-12)
    (value * noise).sum().backward()
    optimizer.step()
    assert abs(abs(value.item() - 1) - 5e-5) < 1e-6

# torch resizes images of bytes with rounded weights on the CPU; everywhere else they are floats, rounded once.
image = torch.randint(0, 256, (1, 3, 97, 131), dtype=torch.uint8)
size = {"size": (64, 80), "mode": "bilinear", "antialias": True}
exact = F.interpolate(image.double(), **size)
assert (F.interpolate(image.npu().float(), **size).round().cpu() - exact).abs().max() < 0.501
assert (F.interpolate(image, **size) - exact).abs().max() > 0.9

print("answer:", json.dumps("precision"))
