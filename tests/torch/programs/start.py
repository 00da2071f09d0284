"""The devices, a copy there and back, and operators."""

import json

import torch
import torch_npu

torch.npu.set_device(0)
sent = torch.arange(4.0)
there = torch.empty(4, device="npu")
there.copy_(sent)
assert torch.equal(there.cpu(), sent)
assert there.add(1).sum().item() == 10
properties = torch.npu.get_device_properties(0)
print(
    "answer:",
    json.dumps(
        {
            "version": torch_npu.__version__,
            "devices": torch.npu.device_count(),
            "name": torch.npu.get_device_name(0),
            "memory": properties.total_memory,
        }
    ),
)
