"""Before an operator writes into a large tensor its arguments are tried: that takes no memory of that size."""

import json
import re
from pathlib import Path

import pytest
import torch
import torch_npu  # noqa: F401  (registers the device)

COUNT = 24 << 20
MIB = 1 << 20
torch.npu.set_device(0)
x, y = torch.zeros(COUNT, device="npu"), torch.zeros(COUNT, device="npu")
index = torch.zeros(COUNT, dtype=torch.int64, device="npu")
matrix, column = x.view(4096, -1), y.view(4096, -1)[:, :1]


def peak() -> int:
    """Return the most memory that the process has had since the last reset, in bytes."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) << 10


def growth(function) -> int:
    torch.npu.synchronize()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = peak()
    function()
    torch.npu.synchronize()
    return peak() - before


torch.zeros(1, device="npu").clamp_(0, 1)  # releases before 2.10 import modules for the first one
for function in (
    lambda: x.add_(1),
    lambda: x.add_(y),
    lambda: matrix.mul_(column),
    lambda: matrix.t().sub_(matrix.t()),
    lambda: torch._foreach_add_([x, y], [y, x]),
    lambda: x.clamp_(0, 1),
):
    grown = growth(function)
    assert grown < 32 * MIB, grown
# An output that is given: one such for the moment.
grown = growth(lambda: torch.add(x, 1, out=y))
assert grown < 128 * MIB, grown

# A wrong argument is an error of the call, whatever the size.
for wrong in (
    lambda: index.add_(0.5),
    lambda: index.logit_(),
    lambda: x.add_(y[1:]),
    lambda: matrix.addmm_(matrix, matrix),
    lambda: x.expand(2, COUNT).add_(1),
):
    with pytest.raises(RuntimeError) as error:
        wrong()
    assert "failed on npu" not in str(error.value)
torch.npu.synchronize()
print("answer:", json.dumps("peak_memory"))
