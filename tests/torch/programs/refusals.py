"""Unsupported calls are refused at once, and the device stays usable."""

import json

import torch
import torch_npu

torch.npu.set_device(0)
x = torch.ones(4, 4, device="npu")


def error_of(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except RuntimeError as error:
        return str(error)
    return ""


assert "npu::npu_moe_re_routing" in error_of(torch_npu.npu_moe_re_routing, x, x)
assert "aten::_to_sparse" in error_of(x.to_sparse)
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
