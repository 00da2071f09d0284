"""Ends the program while operators are in the stream, in the way that the argument names."""

import json
import sys

import torch
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
x = torch.ones(512, 512, device="npu")
for _ in range(200):
    x = (x @ x).clamp_(0, 1)
print("answer:", json.dumps("ending"), flush=True)
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "raise":
    raise ValueError("as the test wants it")
