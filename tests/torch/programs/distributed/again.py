"""Process groups that are destroyed and made again, of all ranks and of some; and a type that is only moved."""

import json

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401  (registers the device)

for turn in range(3):
    dist.init_process_group("hccl")
    torch.npu.set_device(dist.get_rank())
    x = torch.full((5,), float(turn), device="npu")
    dist.all_reduce(x)
    group = dist.new_group([0, 1])
    dist.all_reduce(x, group=group)
    assert x.tolist() == [4 * turn] * 5
    if turn < 2:
        dist.destroy_process_group()
parts = [torch.empty(3, dtype=torch.uint8, device="npu").view(torch.float8_e4m3fn) for _ in range(2)]
dist.all_gather(parts, torch.full((3,), float(dist.get_rank() + 1)).to(torch.float8_e4m3fn).npu())
assert [each.cpu().float().tolist() for each in parts] == [[1] * 3, [2] * 3]
if dist.get_rank() == 0:
    print("answer:", json.dumps("again"), flush=True)
dist.destroy_process_group()
