"""What does not run says so, at once, and the device can be used on."""

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
# What the CPU refuses, with the CPU's words.
assert "shapes cannot be multiplied" in error_of(torch.mm, x, torch.ones(3, 3, device="npu"))
assert "must match the size of tensor b" in error_of(x.add_, torch.ones(3, device="npu"))
assert "aten::add" in error_of(torch.add, x, torch.ones(4, 4)), "a tensor of the CPU is not taken for one of the device"
assert torch.equal((x + 1).cpu(), torch.full((4, 4), 2.0))
print("answer:", json.dumps("refusals"))
