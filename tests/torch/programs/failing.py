"""An operator that fails when its turn comes; the first argument names the call that reports it."""

import json
import os
import sys

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)

torch.npu.set_device(0)
weight, wrong = torch.ones(3, 2, device="npu"), torch.tensor([1, 9], device="npu")
other = torch.npu.Stream()
is_blocking = os.environ.get("ASCEND_LAUNCH_BLOCKING") == "1"


def error_of(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    return ""


at_call = error_of(F.embedding, wrong, weight)
if is_blocking:
    found = at_call
else:
    assert not at_call, at_call
    waits = {
        "synchronize": torch.npu.synchronize,
        "stream": torch.npu.current_stream().synchronize,
        "copy": weight.cpu,
        "item": weight[0, 0].item,
        "size": weight.nonzero,
    }
    if sys.argv[1] == "operator":
        error_of(torch.npu.synchronize)
        found = error_of(torch.add, weight, 1)
    else:
        found = error_of(waits[sys.argv[1]])
assert "aten::embedding" in found, found
assert "index out of range" in found, found
# It names what the operator was given, and the line that called it.
assert "weight float32[3, 2]; indices int64[2]" in found, found
assert "failing.py:19 in error_of" in found, found
# Nothing gets data any more, on any stream: what it would get may depend on what was never computed.
for again in (weight.cpu, weight.sum, torch.npu.synchronize):
    assert "aten::embedding" in error_of(again), error_of(again)
with torch.npu.stream(other):
    assert "aten::embedding" in error_of(weight.cpu)
print("answer:", json.dumps("failing"), flush=True)
