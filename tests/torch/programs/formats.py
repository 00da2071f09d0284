"""Formats of the NPU's memory are tags: numbers, shapes and operators are those of the plain format."""

import json

import numpy as np
import pytest
import torch
import torch_npu

torch.npu.set_device(0)
FRACTAL_NZ, ND = torch_npu.Format.FRACTAL_NZ, torch_npu.Format.ND

for kind in (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int32):
    for shape in ((33, 40), (2, 16, 32), (0, 16)):
        x = (torch.arange(int(np.prod(shape))) % 100).reshape(shape).to(kind).npu()
        tagged = torch_npu.npu_format_cast(x, FRACTAL_NZ)
        assert torch_npu.get_npu_format(tagged) == FRACTAL_NZ
        assert torch_npu.get_npu_format(x) != FRACTAL_NZ, "it is another tensor"
        assert (tagged.shape, tagged.dtype, tagged.stride()) == (x.shape, x.dtype, x.stride())
        assert torch.equal(tagged.cpu(), x.cpu())
        assert torch.equal((tagged + 1).cpu(), (x + 1).cpu())
        assert torch.equal(tagged.transpose(-1, -2).contiguous().cpu(), x.transpose(-1, -2).cpu())
        back = torch_npu.npu_format_cast(tagged, ND)
        assert torch_npu.get_npu_format(back) == ND
        assert torch.equal(back.cpu(), x.cpu())
        assert torch_npu.npu_format_cast_(x, FRACTAL_NZ) is x
        assert torch_npu.get_npu_format(x) == FRACTAL_NZ
        assert torch.equal(x.cpu(), tagged.cpu())
assert torch_npu.get_npu_format(torch_npu.npu_format_cast(torch.ones(3).npu(), FRACTAL_NZ)) == ND, "it is no matrix"
view = torch.arange(12.0).reshape(3, 4).npu()[:, ::2]
assert torch.equal(torch_npu.npu_format_cast(view, FRACTAL_NZ).cpu(), view.cpu())

weight = torch.randn(8, 16, requires_grad=True)
given = weight.detach().npu().requires_grad_()
torch_npu.npu_format_cast(given, FRACTAL_NZ).square().sum().backward()
assert torch.allclose(given.grad.cpu(), 2 * weight.detach())

a = torch.randint(-9, 9, (5, 16), dtype=torch.int8)
b = torch.randint(-9, 9, (16, 8), dtype=torch.int8)
scale = torch.ones(8).npu()
plain = torch_npu.npu_quant_matmul(a.npu(), b.npu(), scale)
assert torch.equal(
    torch_npu.npu_quant_matmul(a.npu(), torch_npu.npu_format_cast(b.npu(), 29), scale).cpu(), plain.cpu()
)
for number in (3, 4, 32):
    with pytest.raises(RuntimeError, match=f"npu::npu_format_cast: the format {number}"):
        torch_npu.npu_format_cast(b.npu(), number)
print("answer:", json.dumps("formats"))
