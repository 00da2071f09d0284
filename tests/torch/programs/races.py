"""Races of every kind that ascend-rt check finds in programs with PyTorch.

A comment has the name of the race and, for its two accesses, "first" and "second"; and for the line that has made the
tensor its type and shape.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu  # noqa: F401  (registers the device)
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

side, other = torch.npu.Stream(), torch.npu.Stream()


def missing_wait():
    with torch.npu.stream(side):
        x = torch.ones(64, 2, device="npu")  # wait: float32[64, 2]; first
    return x[:, 1] + 1  # wait: second


def late_record():
    x = torch.zeros(32, device="npu")  # record: float32[32]
    side.wait_stream(torch.npu.current_stream())
    other.wait_stream(torch.npu.current_stream())
    event = side.record_event()
    with torch.npu.stream(side):
        x.add_(1)  # record: first
    other.wait_event(event)
    with torch.npu.stream(other):
        x * 2  # record: second


def missing_record_stream():
    x = torch.ones(1024, device="npu")  # reuse: float32[1024]
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        x.sum()  # reuse: first
    del x
    torch.zeros(1024, device="npu")  # reuse: second


def record_stream_of_another():
    """The allocator's query, which shows that another tensor is no longer used, brings no other order."""
    x, recorded = torch.ones(3, 700, device="npu"), torch.ones(4096, device="npu")  # other: float32[3, 700]
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        x.sum()  # other: first
        recorded.sum()
    recorded.record_stream(side)
    address, kept = recorded.data_ptr(), []
    del recorded
    while not kept or kept[-1].data_ptr() != address:
        kept.append(torch.empty(4096, device="npu"))
    del x
    torch.zeros(3, 700, device="npu")  # other: second


def results_before_synchronization():
    x = torch.ones(16, device="npu")
    results = x.to("cpu", non_blocking=True)  # read: float32[16]; first
    return float(results[3])  # read: second


def results_in_pinned_memory():
    """Nor do those by which the allocator of pinned memory learns that a copy is done."""
    x, batch = torch.ones(8, device="npu"), torch.ones(8).pin_memory()
    x.copy_(batch, non_blocking=True)
    results = torch.empty(8, pin_memory=True)  # copy: float32[8]
    results.copy_(x, non_blocking=True)  # copy: first
    address, kept = batch.data_ptr(), []
    del batch
    while not kept or kept[-1].data_ptr() != address:
        kept.append(torch.empty(8, pin_memory=True))
    return results.sum()  # copy: second


def results_of_a_column():
    """The device brings them into contiguous memory first, and the host does not wait."""
    x = torch.ones(32, 2, device="npu")
    column = torch.empty(32, pin_memory=True)  # column: float32[32]
    column.copy_(x[:, 1], non_blocking=True)  # column: first
    return column.sum()  # column: second


def overwritten_upload():
    batch = torch.ones(128, pin_memory=True)  # upload: float32[128]
    batch.to("npu", non_blocking=True)  # upload: first
    batch.fill_(2)  # upload: second


def gradient():
    weight = torch.ones(48, 48, device="npu", requires_grad=True)
    x = torch.ones(48, 48, device="npu")
    loss = (x @ weight).sum()  # backward: float32[48, 48]; first
    side.wait_stream(torch.npu.current_stream())
    loss.backward()
    with torch.npu.stream(side):
        weight.grad * 2  # backward: second


def converted_gradient():
    """A backward pass allocates memory before it calls the operator that fills it."""
    weight = torch.ones(49, device="npu", requires_grad=True)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        loss = weight.to(torch.float16).sum()  # converted: float32[49]; first
        loss.backward()
    weight.grad * 2  # converted: second


def results_that_fill_no_block():
    """The allocator of pinned memory rounds sizes up."""
    x = torch.ones(10, device="npu")
    results = x.to("cpu", non_blocking=True)  # rounded: float32[10]; first
    results.tolist()  # rounded: second


def replayed():
    x = torch.ones(24, device="npu")  # graph: float32[24]
    graph = torch.npu.NPUGraph()
    torch.npu.synchronize()
    with torch.npu.graph(graph):
        x.add(1)  # graph: first
    graph.replay()
    with torch.npu.stream(side):
        x.fill_(2)  # graph: second


def statistics():
    """In training, batch normalization changes its running statistics."""
    mean = torch.zeros(6, device="npu")  # statistics: float32[6]
    x, variance = torch.ones(4, 6, device="npu"), torch.ones(6, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        mean.clone()  # statistics: first
    F.batch_norm(x, mean, variance, training=True)  # statistics: second


def values_of_a_sparse_tensor():
    x = torch.eye(5, device="npu").to_sparse()  # sparse: float32[5]
    torch.npu.synchronize()
    with torch.npu.stream(side):
        x._values().mul_(2)  # sparse: first
    x.to_dense()  # sparse: second


def dense_tensor_beside_a_sparse_one():
    x = torch.eye(5, device="npu").to_sparse()
    with torch.npu.stream(side):
        y = torch.ones(5, 3, device="npu")  # beside: float32[5, 3]; first
    torch.sparse.mm(x, y)  # beside: second


def generated_code():
    """Its lines are in no file."""
    module = torch.fx.symbolic_trace(torch.nn.ReLU())
    with torch.npu.stream(side):
        x = torch.ones(20, device="npu")  # generated: float32[20]; first
    module(x)  # generated: second


def rows_of_a_tensor():
    """The first uses of a tensor are those of its rows."""
    x = torch.empty(3, 40, device="npu")  # row: float32[3, 40]
    torch.npu.synchronize()
    with torch.npu.stream(side):
        x[1].fill_(1)  # row: first
    x.sum()  # row: second


def rows_of_pinned_memory():
    x = torch.ones(41, device="npu")
    rows = torch.empty(3, 41, pin_memory=True)  # rows: float32[3, 41]
    rows[1].copy_(x, non_blocking=True)
    rows[2].copy_(x, non_blocking=True)
    rows[0].copy_(x, non_blocking=True)  # rows: first
    return rows.sum()  # rows: second


def gradient_of_a_sum():
    """Nothing runs before the gradient is summed up in the leaf."""
    weight = torch.ones(7, 3, device="npu", requires_grad=True)
    side.wait_stream(torch.npu.current_stream())
    loss = weight.sum()  # leaf: float32[7, 3]; first
    loss.backward()
    with torch.npu.stream(side):
        weight.grad * 2  # leaf: second


def gradient_through_views():
    """No operator is called with the leaf, only views: the gradient has the line of the pass."""
    weight = torch.ones(5, 9, device="npu", requires_grad=True)
    side.wait_stream(torch.npu.current_stream())
    loss = weight.t().reshape(45).sum()
    loss.backward()  # views: float32[5, 9]; first
    with torch.npu.stream(side):
        weight.grad * 2  # views: second


def gradient_of_a_function():
    """The layers of torch.func hide the operators that are differentiated."""
    x = torch.ones(5, 11, device="npu")
    side.wait_stream(torch.npu.current_stream())
    result = torch.func.grad(lambda it: (it * it).sum())(x)  # function: float32[5, 11]; first
    with torch.npu.stream(side):
        result * 2  # function: second


def recomputed_gradient():
    """A thread of the backward pass calls it again, from lines of PyTorch."""
    weight, x = (torch.ones(13, 13, device="npu", requires_grad=True) for _ in range(2))
    side.wait_stream(torch.npu.current_stream())
    result = checkpoint(lambda it: torch.tanh(it @ weight), x, use_reentrant=True)  # again: float32[13, 13]; first
    result.sum().backward()
    with torch.npu.stream(side):
        weight.grad * 2  # again: second


def gradient_of_a_view():
    """It has the line of the operator that uses the view, not that of a comparison, which has no gradient."""
    weight = torch.ones(7, 13, device="npu", requires_grad=True)
    side.wait_stream(torch.npu.current_stream())
    rows = weight[2:5]
    rows > 0  # noqa: B015
    loss = (rows * 2).sum()  # slice: float32[7, 13]; first
    loss.backward()
    with torch.npu.stream(side):
        weight.grad * 2  # slice: second


def modules_of_modules():
    """The line of the program is behind more lines of PyTorch than are noted."""
    network = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(4, 3)))).npu()
    x = torch.ones(6, 4, device="npu")
    torch.npu.synchronize()
    y = network(x)  # deep: float32[6, 3]; first
    with torch.npu.stream(side):
        y * 2  # deep: second


def gradient_in_a_bucket():
    """At the end of a pass, DistributedDataParallel copies it, for no operator."""
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    network = DistributedDataParallel(nn.Linear(9, 6, bias=False).npu())
    side.wait_stream(torch.npu.current_stream())
    result = network(torch.ones(2, 9, device="npu"))  # bucket: float32[6, 9]
    result.sum().backward()  # bucket: first
    with torch.npu.stream(side):
        network.module.weight.grad * 2  # bucket: second
    torch.npu.synchronize()
    dist.destroy_process_group()


def operand_given_twice():
    """It is one access."""
    with torch.npu.stream(side):
        x = torch.ones(6, 7, device="npu")  # twice: float32[6, 7]; first
    x * x  # twice: second


for race in (
    missing_wait,
    late_record,
    missing_record_stream,
    record_stream_of_another,
    results_before_synchronization,
    results_in_pinned_memory,
    results_of_a_column,
    overwritten_upload,
    gradient,
    converted_gradient,
    results_that_fill_no_block,
    replayed,
    statistics,
    values_of_a_sparse_tensor,
    dense_tensor_beside_a_sparse_one,
    generated_code,
    rows_of_a_tensor,
    rows_of_pinned_memory,
    gradient_of_a_sum,
    gradient_through_views,
    gradient_of_a_function,
    recomputed_gradient,
    gradient_of_a_view,
    modules_of_modules,
    gradient_in_a_bucket,
    operand_given_twice,
):
    race()
    torch.npu.synchronize()
