"""Trains a model on the CPU and on the device; the answer is the losses of both, step by step."""

import json
import sys

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)
from torch import nn

STEPS = 8


class Convolutions(nn.Module):
    """Of the size of the usual one for MNIST."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.norm, self.last = nn.BatchNorm2d(16), nn.Linear(32 * 7 * 7, 10)

    def forward(self, images):
        images = F.max_pool2d(F.relu(self.norm(self.first(images))), 2)
        images = F.max_pool2d(F.relu(self.second(images)), 2)
        return self.last(images.flatten(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.embedding, self.layers = nn.Embedding(100, 64), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.last = nn.Linear(64, 100)

    def forward(self, words):
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
        return self.last(self.layers(self.embedding(words), mask=mask, is_causal=True)).transpose(1, 2)


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 10)), lambda: torch.randn(64, 20), (64,)),
    "cnn": (Convolutions, lambda: torch.randn(32, 1, 28, 28), (32,)),
    "transformer": (Transformer, lambda: torch.randint(0, 100, (8, 24)), (8, 24)),
}
OPTIMIZERS = {
    "adam": lambda parameters: torch.optim.Adam(parameters, 1e-3, foreach=False),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 1e-3, foreach=True),
    "sgd": lambda parameters: torch.optim.SGD(parameters, 1e-2, momentum=0.9),
}


def losses(device, model, optimizer):
    make, data, targets = MODELS[model]
    torch.manual_seed(0)
    inputs, wanted = data().to(device), torch.randint(0, 10, targets).to(device)
    network = make().to(device)
    step = OPTIMIZERS[optimizer](network.parameters())
    found = []
    for _ in range(STEPS):
        step.zero_grad()
        loss = F.cross_entropy(network(inputs), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        step.step()
        found.append(loss.detach())
    return [loss.item() for loss in found]


print("answer:", json.dumps([losses(device, *sys.argv[1:]) for device in ("cpu", "npu")]))
