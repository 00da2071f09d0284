"""Programs that are in order, some of which only look as if they were not: ascend-rt check is silent about them."""

import threading

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

side, other = torch.npu.Stream(), torch.npu.Stream()
current = torch.npu.current_stream


def waits():
    for _ in range(3):
        side.wait_stream(current())
        with torch.npu.stream(side):
            x = torch.ones(64, 2, device="npu")
        current().wait_stream(side)
        y = x + 1
        x.record_stream(current())
        del x
    side.wait_stream(current())
    event = side.record_event()
    with torch.npu.stream(other):
        event.wait()
        y.mul_(2)
        done = torch.npu.Event()
        done.record()
    done.synchronize()
    assert y.cpu().sum() == 64 * 2 * 4


def reuse():
    """Blocks are given out again in the order of their stream, and to others when the allocator's queries allow it."""
    for _ in range(10):
        x = torch.ones(1024, device="npu")
        side.wait_stream(current())
        with torch.npu.stream(side):
            total = x.sum()
        x.record_stream(side)
        del x
        torch.zeros(1024, device="npu")
    current().wait_stream(side)
    assert total.item() == 1024
    for i in range(30):
        x = torch.full((64,), float(i)).pin_memory().to("npu", non_blocking=True)
    assert x.sum().item() == 29 * 64


def results_on_the_host():
    x = torch.ones(64, device="npu")
    results = x.to("cpu", non_blocking=True)
    current().synchronize()
    assert results.sum() == 64
    results.copy_(x * 2, non_blocking=True)
    event = current().record_event()
    while not event.query():
        pass
    assert results.sum() == 128
    results.fill_(3)  # the copy has been waited for
    x.copy_(results, non_blocking=True)
    assert results.sum() == 192  # both only read
    pageable = torch.empty(64)
    pageable.copy_(x, non_blocking=True)
    assert x.tolist() == [3.0] * 64
    assert x[x > 2].numel() == 64


def batches():
    data = TensorDataset(torch.randn(96, 8), torch.randint(0, 4, (96,)))
    network = nn.Linear(8, 4).npu()
    for workers in (0, 1):
        for inputs, targets in DataLoader(data, batch_size=16, pin_memory=True, num_workers=workers):
            inputs, targets = inputs.to("npu", non_blocking=True), targets.to("npu", non_blocking=True)
            F.cross_entropy(network(inputs), targets).backward()
    return network.weight.grad.sum().item()


def training():
    convolution = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
    network = nn.Sequential(convolution, nn.Dropout(0.2), nn.Linear(8 * 36, 10)).npu()
    for how in ({"foreach": True}, {"foreach": False}, {"fused": True}):
        optimizer = torch.optim.AdamW(network.parameters(), **how)
        for _ in range(2):
            optimizer.zero_grad()
            images = torch.randn(4, 3, 8, 8, device="npu").contiguous(memory_format=torch.channels_last)
            F.cross_entropy(network(images), torch.randint(0, 10, (4,), device="npu")).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()


def evaluation():
    """Statistics and parts of nested tensors that two streams use at once, which only read them, or other parts."""
    x, mean, variance = (torch.ones(*sizes, device="npu") for sizes in ((4, 6), (6,), (6,)))
    left, right = torch.nested.as_nested_tensor([x, mean.expand(2, 6)]).chunk(2, -1)
    side.wait_stream(current())
    with torch.npu.stream(side):
        F.batch_norm(x, mean, variance)
        right[1].mul_(2)
    F.batch_norm(x, mean, variance)
    left.contiguous()


def gradients_of_two_streams():
    weight = torch.randn(8, 8, device="npu", requires_grad=True)
    x = torch.randn(8, 8, device="npu")
    for _ in range(2):
        side.wait_stream(current())
        with torch.npu.stream(side):
            one = (x @ weight).relu()
        two = (x @ weight).tanh()
        current().wait_stream(side)
        one.record_stream(current())
        (one + two).sum().backward()
    weight.grad.zero_()


def graphs():
    x = torch.ones(64, device="npu")
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = (x + 1).sum()
    if torch.__version__.startswith(("2.7", "2.8", "2.9")):
        torch.npu.synchronize()  # they write the seed on both streams
    for i in range(4):
        x.fill_(i)
        graph.replay()
        assert y.item() == 64 * (i + 1)
    compiled = torch.compile(lambda a: (a @ a).relu() + 1, backend="eager")
    compiled(torch.randn(8, 8, device="npu")).sum().item()


def views():
    """Views of one tensor are used by two streams at once, which touch different elements."""
    x = torch.arange(48.0, device="npu").reshape(6, 8)
    side.wait_stream(current())
    with torch.npu.stream(side):
        x[:, ::2].mul_(2)
        x[4:, 1::2].neg_()
    x[:4, 1::2].add_(1)
    torch.as_strided(x, (2, 3), (16, 2), 1).exp_()
    current().wait_stream(side)
    x.t().contiguous()
    (x[:1].expand(6, 8) + x)[x > 10] = 0
    torch.empty(0, device="npu").add_(1)
    torch._foreach_add_([x, x[0]], torch.tensor(3.0, device="npu"))
    torch.cat([x, torch.rand_like(x)]).sort(1)
    nn.Embedding(10, 4).npu()(torch.tensor([1, 2], device="npu")).sum().backward()


def threads():
    def work():
        with torch.npu.stream(torch.npu.Stream()) as stream:
            for _ in range(10):
                torch.ones(64, device="npu").add(1).sum()
            torch.npu.current_stream().synchronize()
        del stream

    started = [threading.Thread(target=work) for _ in range(3)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


for program in (
    waits,
    reuse,
    results_on_the_host,
    batches,
    training,
    evaluation,
    gradients_of_two_streams,
    graphs,
    views,
    threads,
):
    program()
    torch.npu.synchronize()
