"""The caching allocator with its statistics, pools, what happens without memory, and DLPack."""

import gc
import json

import torch
import torch_npu

import ascend_rt

MIB = 1 << 20
torch.npu.set_device(0)
before = torch.npu.memory_allocated()
block = torch.empty(MIB, dtype=torch.uint8, device="npu")
address = block.data_ptr()
assert torch.npu.memory_allocated() - before >= MIB
assert torch.npu.memory_reserved() >= torch.npu.memory_allocated()
del block
assert torch.npu.memory_allocated() == before
assert torch.npu.max_memory_allocated() >= MIB
assert torch.empty(MIB, dtype=torch.uint8, device="npu").data_ptr() == address
free, total = torch.npu.mem_get_info()
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0
assert torch.npu.mem_get_info()[0] > free
assert torch.npu.get_device_properties(0).total_memory == total
stats = torch.npu.memory_stats()
assert stats["allocation.all.current"] == 0
assert stats["allocation.all.allocated"] >= 2

pool = torch.npu.MemPool()
with torch.npu.use_mem_pool(pool):
    pooled = torch.empty(MIB, dtype=torch.uint8, device="npu")
if hasattr(pool, "snapshot"):  # from torch_npu 2.12 on
    assert [segment["total_size"] >= MIB for segment in pool.snapshot()] == [True]
pooled_address = pooled.data_ptr()
del pooled
assert torch.empty(MIB, dtype=torch.uint8, device="npu").data_ptr() != pooled_address
del pool
gc.collect()

without_room = []
try:
    torch.empty(1 << 42, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError as error:
    without_room.append(str(error))
assert ["out of memory" in text for text in without_room] == [True]
torch.npu.synchronize()

content = torch.arange(100.0)
tensor = torch.empty(100, device="npu")
tensor.copy_(content)
shared = torch.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))
assert shared.data_ptr() == tensor.data_ptr()
buffer = ascend_rt.Buffer.from_dlpack(tensor)
assert buffer.handle == tensor.data_ptr()
assert buffer.nbytes == 400
there = torch.empty(100, device="npu:1")
there.copy_(tensor)
assert torch.equal(there.cpu(), content)
assert torch_npu.npu.can_device_access_peer(0, 1)
print("answer:", json.dumps("memory"))
