"""Copies that are captured once and done by each replay."""

import json

import torch
import torch_npu

torch.npu.set_device(0)
source, target = torch.empty(100, device="npu"), torch.empty(100, device="npu")
source.copy_(torch.zeros(100))
target.copy_(torch.full((100,), -1.0))
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    target.copy_(source)
torch.npu.synchronize()
assert target.cpu().tolist() == [-1] * 100, "a capture does nothing"
for number in range(3):
    source.copy_(torch.full((100,), float(number)))
    graph.replay()
    torch.npu.synchronize()
    assert target.cpu().tolist() == [number] * 100

# A group of tasks has kernels alone, also if an operator ends with a copy. Each replay does what replaced it last.
q, k = torch.randn(2, 4, 1, 16).half().npu(), torch.randn(2, 4, 32, 16).half().npu()
out, statistics, space = torch.zeros_like(q), torch.zeros(0).npu(), torch.empty(8, dtype=torch.uint8).npu()


def attend(length):
    torch_npu.npu_fused_infer_attention_score.out(
        q,
        k,
        k,
        num_heads=4,
        input_layout="BNSD",
        scale=0.25,
        actual_seq_lengths_kv=[length, length],
        workspace=space,
        out=[out, statistics],
    )


expected = {}
for length in (31, 9):
    attend(length)
    expected[length] = out.clone()
assert not torch.equal(*expected.values())
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    stream = torch.npu.current_stream()
    torch.npu.graph_task_group_begin(stream)
    attend(31)
    handle = torch.npu.graph_task_group_end(stream)
other = torch.npu.Stream()
for length in (31, 9, 31):
    with torch.npu.stream(other):
        torch.npu.graph_task_update_begin(other, handle)
        attend(length)
        torch.npu.graph_task_update_end(other)
    other.synchronize()
    for _ in range(3):
        out.zero_()
        graph.replay()
        torch.npu.synchronize()
        assert torch.equal(out, expected[length]), length
print("answer:", json.dumps("graph"))
