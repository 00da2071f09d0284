"""Pinned memory that is allocated before the first use of a device, and read too early; comments as in races.py."""

import torch
import torch_npu  # noqa: F401  (registers the device)

results = torch.zeros(16, pin_memory=True)  # pinned: float32[16]
results.copy_(torch.ones(16, device="npu"), non_blocking=True)  # pinned: first
results.sum()  # pinned: second
