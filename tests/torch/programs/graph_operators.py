"""Operators that are captured once: each replay runs them on what their memory has then."""

import gc
import json

import pytest
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)
from torch import nn

from ascend_rt import sim

torch.npu.set_device(0)
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).npu()
given = torch.zeros(8, 16, device="npu")
torch.npu.synchronize()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph), torch.no_grad():
    result = network(given)
    result2 = torch.cat([result, result.exp()], 1)
    noise = torch.rand(100, device="npu")
    mask = F.dropout(torch.ones(100, device="npu"), 0.5)
gc.collect()
for number in range(3):
    given.copy_(torch.full((8, 16), float(number)))
    graph.replay()
    with torch.no_grad():
        expected = network(torch.full((8, 16), float(number), device="npu"))
    assert torch.equal(result.cpu(), expected.cpu())
    assert torch.equal(result2[:, 4:].cpu(), expected.exp().cpu())


# Each replay has other random numbers; the seed decides which.
def replayed():
    graph.replay()
    return noise.cpu(), mask.cpu()


torch.npu.manual_seed(3)
first, second = replayed(), replayed()
assert not torch.equal(first[0], second[0])
assert not torch.equal(first[1], second[1])
torch.npu.manual_seed(3)
assert all(torch.equal(a, b) for a, b in zip(first, replayed(), strict=True))

# A graph that is destroyed with a replay on its way: what the replay needs stays until then.
flown = torch.npu.NPUGraph()
with torch.npu.graph(flown):
    passed = given + 1
    given.mul_(2).add_(passed)
given.fill_(1)
torch.npu.synchronize()
with sim.held():
    flown.replay()
    flown.reset()
    del flown
    gc.collect()
torch.npu.synchronize()
assert torch.equal(given.cpu(), torch.full((8, 16), 4.0))
given.fill_(2)

# A size that is in the data cannot be captured.
broken = torch.npu.NPUGraph()
with (
    pytest.raises(RuntimeError, match=r"^aten::nonzero cannot be captured"),
    torch.npu.graph(broken),
):
    given.nonzero()
broken.reset()
graph.reset()
gc.collect()
assert torch.equal((given + 1).cpu(), torch.full((8, 16), 3.0))
print("answer:", json.dumps("graph_operators"))
