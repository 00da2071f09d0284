"""Tensors that are sparse, nested or quantized, or have their channels last, as on the CPU."""

import json
import warnings

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)
from torch import nn

warnings.simplefilter("ignore")  # nested and quantized tensors may change


def on_both(function):
    """Compare what a function of the device returns."""
    expected, found = function("cpu"), function("npu")
    assert found.device.type == "npu"
    torch.testing.assert_close(found.cpu(), expected)


def sparse():
    on_both(lambda d: torch.eye(3).to_sparse().to(d).to_dense())
    for layout in (torch.sparse_coo, torch.sparse_csr):
        on_both(lambda d, to=layout: torch.eye(3, device=d).to_sparse(layout=to) @ torch.ones(3, 2, device=d))
    other = torch.eye(3).to_sparse().to("npu:1")  # which is not the current device
    made = torch.sparse_coo_tensor(other.indices(), other.values(), (3, 3))
    assert made.device == torch.empty(3, layout=torch.sparse_coo, device="npu:1").device == torch.device("npu:1")
    assert torch.equal((made + other).to("npu:0").to_dense().cpu(), 2 * torch.eye(3))
    x = torch.eye(3, device="npu").to_sparse()
    values = x._values()
    x.div_(2)
    assert values.tolist() == [0.5, 0.5, 0.5]  # which are still those of the tensor
    assert (x + x).coalesce().values().tolist() == [1, 1, 1]
    embedding = nn.Embedding(4, 2, sparse=True).npu()
    embedding(torch.tensor([1, 1, 2], device="npu")).sum().backward()
    assert embedding.weight.grad.coalesce().values().cpu().tolist() == [[2, 2], [1, 1]]


def nested():
    parts = [torch.arange(12.0).view(3, 4), torch.ones(2, 4)]
    layer = nn.Linear(4, 2)

    def padded(device):
        x = torch.nested.nested_tensor(parts, device=device)
        return layer.to(device)(x).relu().to_padded_tensor(0)

    def gradient(device):
        layer.to(device).zero_grad()
        padded(device).sum().backward()
        return layer.weight.grad.clone()

    def of_results(device):
        """Return what operators make of results: they differ from dense ones, with and without gradients."""
        x = torch.nested.nested_tensor(parts, device=device, requires_grad=device == "npu") * 2
        heads = torch.nested.nested_tensor([each.unsqueeze(0) for each in parts], device=device) * 0.5
        attended = F.scaled_dot_product_attention(heads, heads, heads)
        results = ((x @ x.transpose(-1, -2)).to_padded_tensor(0), x.sum(-1, keepdim=True).to_padded_tensor(0))
        results = [*results, layer.to(device)(x * 2).to_padded_tensor(0), attended.to_padded_tensor(0), x.select(0, 1)]
        return torch.cat([each.flatten().detach() for each in results])

    on_both(padded)
    on_both(gradient)
    on_both(of_results)
    there = torch.nested.nested_tensor(parts).npu()
    torch.testing.assert_close([x.cpu() for x in there.unbind()], parts)
    torch.testing.assert_close(list(there.cpu().unbind()), parts)


def quantized():
    def numbers(device):
        return torch.quantize_per_tensor(torch.arange(4.0, device=device), 0.5, 1, torch.qint8)

    on_both(lambda d: numbers(d).dequantize())
    on_both(lambda d: torch.relu(numbers(d)).int_repr())
    assert torch.equal(numbers("npu").cpu().int_repr(), numbers("cpu").npu().cpu().int_repr())
    scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 1])
    on_both(
        lambda d: torch.quantize_per_channel(
            torch.ones(2, 2, device=d), scales.to(d), zeros.to(d), 0, torch.qint8
        ).dequantize()
    )


def channels_last():
    last = {"memory_format": torch.channels_last}
    x = torch.randn(2, 3, 8, 8)
    for moved in (
        x.npu().to(**last),
        x.to("npu", **last),
        torch.empty(2, 3, 8, 8, device="npu", **last),
        x.npu().clone(**last),
    ):
        assert moved.is_contiguous(**last)
    convolution = nn.Conv2d(3, 4, 3).to(**last)
    on_both(lambda d: convolution.to(d)(x.to(d, **last)).detach())


def attention_in_evaluation():
    """Fast paths: one operator for a layer, and nested tensors where positions are masked."""
    attention = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).eval()
    x, mask = torch.randn(2, 5, 32), torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    with torch.no_grad():
        for weights in (True, False):
            on_both(lambda d, w=weights: attention.to(d)(*[x.to(d)] * 3, need_weights=w)[0])
        on_both(lambda d: encoder.to(d)(x.to(d)))
        on_both(lambda d: encoder.to(d)(x.to(d), src_key_padding_mask=mask.to(d)))


torch.manual_seed(0)
for part in (sparse, nested, quantized, channels_last, attention_in_evaluation):
    part()
torch.npu.synchronize()
print("answer:", json.dumps("layouts"))
