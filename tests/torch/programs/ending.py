"""Ends while a stream has work, by the way that the command line names."""

import json
import sys

import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
sent = torch.ones(1 << 22).pin_memory()
memory = torch.empty(1 << 22, device="npu")
stream = torch.npu.Stream()
with torch.npu.stream(stream):
    for _ in range(20):
        memory.copy_(sent, non_blocking=True)
print("answer:", json.dumps("ending"), flush=True)
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "raise":
    raise SystemError("the program fails")
