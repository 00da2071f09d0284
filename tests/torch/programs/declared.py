# SPDX-License-Identifier: Apache-2.0
"""The memory check knows the accesses of operators: memory is freed while an operator that uses it is pending."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

from ascend_rt import Buffer, sim
from ascend_rt._driver import ffi, lib


def reports_of_a_free_beneath(operator):
    buffer = Buffer(4096)
    tensor = torch.from_dlpack(buffer)
    before = sim.check_reports()
    with sim.held():
        operator(tensor)
        pointer = ffi.cast("void *", buffer.handle)
        lib.aclrtFree(pointer)
    torch.npu.synchronize()
    buffer._take_handle()  # it is freed
    return sim.check_reports() - before


other = torch.ones(4096, dtype=torch.uint8, device="npu")
torch.npu.synchronize()
answers = {
    "read": reports_of_a_free_beneath(lambda tensor: other.add_(tensor)),
    "written": reports_of_a_free_beneath(lambda tensor: tensor.add_(other)),
    "out": reports_of_a_free_beneath(lambda tensor: torch.add(other, other, out=tensor)),
    "in a list": reports_of_a_free_beneath(lambda tensor: torch.cat([other, tensor])),
    "a transposed view": reports_of_a_free_beneath(lambda tensor: tensor.view(64, 64).t() + other.view(64, 64)),
    "not used": reports_of_a_free_beneath(lambda tensor: other.add_(other)),
}
print("answer:", json.dumps(answers))
