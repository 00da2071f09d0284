"""Devices that are used again after an operator has failed: they are restarted, and the others go on."""

import json

import torch
import torch_npu  # noqa: F401  (registers the device)

first, second = (torch.arange(4.0, device=f"npu:{i}") for i in range(2))


def error_of(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    return ""


def restart(device):
    torch.npu.stop_device(device)
    torch.npu.restart_device(device)


def fail(tensor):
    tensor.index_select(0, torch.tensor([9], device=tensor.device))
    return error_of(torch.npu.synchronize, tensor.device)


def fail_backward(tensor):
    """The line is that of the operator whose gradient fails: the thread runs no code of the program."""
    x, index = tensor.clone().requires_grad_(), torch.tensor([0, 1], device=tensor.device)
    y = x.gather(0, index)  # the line
    index.data.fill_(9)
    return error_of(y.sum().backward) or error_of(torch.npu.synchronize, tensor.device)


for _ in range(2):
    assert "aten::index_select failed on npu:0" in fail(first)
    assert second.sum().item() == 6
    restart(0)
    assert first.sum().item() == 6
found = fail_backward(first)
assert "gradient of the call at" in found, found
assert "restarting.py:32 in fail_backward" in found, found
# Each device has its own failure.
assert "aten::index_select failed on npu:1" in fail(second)
restart(0)
assert first.neg().cpu().tolist() == [0, -1, -2, -3]
assert "aten::index_select failed on npu:1" in error_of(second.neg)
restart(1)
assert second.neg().cpu().tolist() == [0, -1, -2, -3]
print("answer:", json.dumps("restarting"))
