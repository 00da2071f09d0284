"""Unsupported calls are refused at once, and the device stays usable."""

import json

import torch
import torch_npu
from torch.profiler import ProfilerActivity, profile

torch.npu.set_device(0)
x = torch.ones(4, 4, device="npu")


def error_of(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except RuntimeError as error:
        return str(error)
    return ""


assert "npu::npu_moe_re_routing" in error_of(torch_npu.npu_moe_re_routing, x, x)
assert "atb::_npu_quant_rms_norm" in error_of(torch_npu._npu_quant_rms_norm, x, x, x, x, x, x)
assert "needs libmspti.so" in error_of(profile, activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
# Types that only the kernel for the CPU refuses are errors of the call as well. Integers are counted, as on devices.
assert "not implemented for 'Bool'" in error_of(torch.histc, x.bool())
for kind in (torch.int32, torch.int64, torch.uint8):
    numbers = torch.tensor([0, 1, 1, 3], dtype=kind, device="npu")
    out = torch.empty(0, dtype=kind, device="npu")
    torch.histc(numbers, bins=4, min=0, max=3, out=out)
    for counts in (out, torch.histc(numbers, bins=4, min=0, max=3)):
        assert (counts.dtype, counts.tolist()) == (kind, [1, 2, 0, 1])
# Refusals of the CPU, with the CPU's words.
assert "shapes cannot be multiplied" in error_of(torch.mm, x, torch.ones(3, 3, device="npu"))
assert "must match the size of tensor b" in error_of(x.add_, torch.ones(3, device="npu"))
# A tensor of the CPU is not taken for one of the device, in either place; a number and indices are.
for elsewhere in (torch.ones(4, 4), torch.ones(4, 4, device="npu:1")):
    for pair in ((x, elsewhere), (elsewhere, x)):
        found = error_of(torch.add, *pair)
        assert "aten::add" in found, found
        assert "to be on the same device, but found at least two devices, npu:" in found, found
assert "found at least two devices" in error_of(torch.ones(4).__getitem__, torch.tensor([0], device="npu"))
assert "found at least two devices" in error_of(torch.add, x, 1, out=torch.ones(4, 4))
assert torch.equal((x[torch.tensor([0])] + torch.tensor(1.0)).cpu(), torch.full((1, 4), 2.0))
assert torch.equal((x + 1).cpu(), torch.full((4, 4), 2.0))
print("answer:", json.dumps("refusals"))
