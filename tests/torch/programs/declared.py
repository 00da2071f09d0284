# SPDX-License-Identifier: Apache-2.0
"""The memory check knows the accesses of operators: memory is freed while an operator that uses it is pending."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

from ascend_rt import Buffer, ffi, lib, sim


def reports_of_a_free_beneath(operator):
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 4096, lib.ACL_MEM_MALLOC_HUGE_FIRST) == 0
    tensor = torch.from_dlpack(Buffer.from_handle(int(ffi.cast("uintptr_t", out[0])), 4096))
    before = sim.check_reports()
    with sim.held():
        operator(tensor)
        assert lib.aclrtFree(out[0]) == 0
    torch.npu.synchronize()
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
