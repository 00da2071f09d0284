"""Recurrent networks and their cells have the results and gradients of the CPU."""

import copy
import json

import torch
import torch_npu
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils._pytree import tree_leaves


def compare(module, *inputs):
    there = copy.deepcopy(module).npu()
    here = [x.clone().requires_grad_() for x in inputs]
    moved = [x.npu().detach().requires_grad_() for x in inputs]
    expected, results = tree_leaves(module(*here)), tree_leaves(there(*moved))
    torch.testing.assert_close([x.cpu() for x in results], expected)
    for outputs in (expected, results):
        sum((x**2).sum() for x in outputs).backward()
    for x, y in zip([*module.parameters(), *here], [*there.parameters(), *moved], strict=True):
        torch.testing.assert_close(y.grad.cpu(), x.grad)


class Packed(nn.Module):
    """Takes sequences of two lengths, which are numbers of the host."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        packed = pack_padded_sequence(x, torch.tensor([3, 2]))
        assert packed.batch_sizes.device.type == "cpu"
        return pad_packed_sequence(self.network(packed)[0])[0]


def gradient_of_a_gradient(cell, device):
    moved, x = copy.deepcopy(cell).to(device), torch.ones(2, 4, dtype=torch.float64, device=device, requires_grad=True)
    (first,) = torch.autograd.grad((tree_leaves(moved(x))[0] ** 2).sum(), x, create_graph=True)
    (first**2).sum().backward()
    return x.grad.cpu()


def compiled(network):
    x = torch.randn(3, 2, 4, device="npu")
    for backend in ("eager", "aot_eager"):
        results = tree_leaves(torch.compile(network, backend=backend)(x))
        torch.testing.assert_close(results, tree_leaves(network(x)))
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert tree_leaves(network(x))[0].dtype == torch.bfloat16


torch.manual_seed(0)
release = [int(part) for part in torch_npu.__version__.split(".")[:2]]
for bias in (True, False):
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        compare(kind(4, 5, 2, bias=bias, bidirectional=True), torch.randn(3, 2, 4))
    for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        compare(kind(4, 5, bias=bias), torch.randn(2, 4))
    compare(nn.LSTM(4, 5, proj_size=2, bias=bias), torch.randn(3, 2, 4))
# Before 2.12 the adapter's own nn.LSTM wants sequences in the form that an NPU packs them in.
packs_as_torch = (nn.LSTM, nn.GRU) if release >= [2, 12] else (nn.GRU,)
for kind in packs_as_torch:
    compare(Packed(kind(4, 5)), torch.randn(3, 2, 4))
for kind in (nn.LSTM, nn.GRU):
    compiled(kind(4, 5).npu())
for kind in (nn.LSTMCell, nn.GRUCell):
    cell = kind(4, 5).double()
    torch.testing.assert_close(gradient_of_a_gradient(cell, "npu"), gradient_of_a_gradient(cell, "cpu"))
print("answer:", json.dumps("recurrent"))
