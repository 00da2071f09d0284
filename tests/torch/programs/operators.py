"""Operators: strides, offsets, views, outputs, types, numbers from the data, random numbers, statistics of memory."""

import json

import pytest
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
device = torch.device("npu", 0)


def same(result, expected):
    assert result.device == device, result.device
    assert result.stride() == expected.stride(), (result.stride(), expected.stride())
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


on_cpu = torch.arange(24.0).reshape(2, 3, 4)
x = on_cpu.to(device)

# Views and offsets; writes through one view are seen through the other.
same(x[1:, ::2, 1:].transpose(0, 2) * 2, on_cpu[1:, ::2, 1:].transpose(0, 2) * 2)
view, view_on_cpu = x.permute(2, 0, 1)[1:3], on_cpu.permute(2, 0, 1)[1:3]
view.mul_(3)
view_on_cpu.mul_(3)
same(x, on_cpu)
same(x.as_strided((3, 2), (1, 5), 4).sin(), on_cpu.as_strided((3, 2), (1, 5), 4).sin())
assert x.mul(1).data_ptr() != x.data_ptr()

# Copies of what is not contiguous, or has another type, in each direction.
same(torch.arange(12).reshape(3, 4).t().to(device).float(), torch.arange(12).reshape(3, 4).t().float())
received = torch.zeros(4, 3, dtype=torch.int64).t()
received.copy_(x[0], non_blocking=True)
assert torch.equal(received, on_cpu[0].long())
x[:, 0].copy_(torch.ones(4, dtype=torch.float64))
on_cpu[:, 0] = 1
same(x, on_cpu)
one = x.to("npu:1")
assert one.device.index == 1
assert torch.equal((one.t() if one.dim() == 2 else one + 1).cpu(), on_cpu + 1)
with pytest.raises(RuntimeError, match=r"aten::add.*same device"):
    one + x

# Outputs that are given, of the right size and of none, and several of them.
out = torch.empty(0, device=device)
assert torch.add(x, 1, out=out) is out
same(out, on_cpu + 1)
values, places = torch.empty(2, 3, device=device), torch.empty(2, 3, dtype=torch.int64, device=device)
torch.max(x, 2, out=(values, places))
same(places, on_cpu.max(2).indices)
same(torch.cat([x, x[:, :1]], 1), torch.cat([on_cpu, on_cpu[:, :1]], 1))
lists = torch._foreach_add([x, x[0]], 1)
same(lists[1], on_cpu[0] + 1)
assert [each.cpu().tolist() for each in x.split(2, 1)] == [each.tolist() for each in on_cpu.split(2, 1)]

# Numbers and sizes that are in the data.
assert x.sum().item() == on_cpu.sum().item()
same(x.nonzero(), on_cpu.nonzero())
same(x[x > 5], on_cpu[on_cpu > 5])
same(torch.unique(x.long()), torch.unique(on_cpu.long()))
x[x > 5] = torch.tensor(0.5)  # a number of the CPU, which may change afterwards
on_cpu[on_cpu > 5] = 0.5
same(x, on_cpu)
index = torch.tensor([2, 0])  # indices on the CPU are taken, as elsewhere
same(x[:, index], on_cpu[:, index])

# A clone that is promised for the first write is made at once: tasks write without a promise.
cloned = torch._lazy_clone(x)
cloned.add_(1)
same(cloned, on_cpu + 1)
same(x, on_cpu)

# Types.
for kind in (torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.complex64):
    same(x.to(kind) + x.to(kind), on_cpu.to(kind) + on_cpu.to(kind))
weight = torch.ones(5, 4, device=device, requires_grad=True)
with torch.autocast("npu", dtype=torch.bfloat16):
    product = F.linear(x, weight)
assert product.dtype == torch.bfloat16
product.float().sum().backward()
assert weight.grad.dtype == torch.float32
assert weight.grad[0].tolist() == torch.ops.aten.sum(on_cpu.bfloat16().float(), [0, 1]).bfloat16().float().tolist()

# Random numbers come from the device's generator, whose state goes on; that of the CPU does not.
state = torch.random.get_rng_state()
torch.npu.manual_seed(7)
first, second = torch.rand(100, device=device), F.dropout(torch.ones(100, device=device))
torch.npu.manual_seed(7)
assert torch.equal(first, torch.rand(100, device=device))
assert torch.equal(second, F.dropout(torch.ones(100, device=device)))
assert not torch.equal(first, torch.rand(100, device=device))
saved = torch.npu.get_rng_state()
third = torch.randn(100, device=device)
torch.npu.set_rng_state(saved)
assert torch.equal(third, torch.randn(100, device=device))
own = torch.Generator(device=device).manual_seed(7)
assert torch.equal(first, torch.rand(100, device=device, generator=own))
assert torch.equal(state, torch.random.get_rng_state())
assert sorted(torch.randperm(50, device=device).tolist()) == list(range(50))

# The caching allocator has what the operators allocate, and no more.
torch.npu.synchronize()
before = torch.npu.memory_allocated()
large = torch.ones(1 << 20, device=device) + 1
# torch_npu asks for 32 bytes more than a tensor has, and the allocator rounds up to 512.
assert torch.npu.memory_allocated() - before == (4 << 20) + 512, torch.npu.memory_allocated() - before
del large
assert torch.npu.memory_allocated() == before

compiled = torch.compile(lambda a: (a.sin() + 1).sum(-1), backend="eager")
same(compiled(x), (on_cpu.sin() + 1).sum(-1))
print("answer:", json.dumps("operators"))
