"""A tensor of another stream is used by operators whose results the host needs, and by copies to the host.

With the argument "waits" the current stream waits for the tensor first, and the program is in order. Comments as in
races.py: the tensor is made, and written, on its line.
"""

import sys
from contextlib import suppress

import torch
import torch_npu  # noqa: F401  (registers the device)

side, current = torch.npu.Stream(), torch.npu.current_stream
waits = "waits" in sys.argv


def wait():
    if waits:
        current().wait_stream(side)


def nonzero():
    with torch.npu.stream(side):
        x = torch.ones(9, 2, device="npu")  # nonzero: float32[9, 2]; first
    wait()
    assert x.nonzero().size(1) == 2  # nonzero: second


def unique():
    with torch.npu.stream(side):
        x = torch.arange(10, device="npu")  # unique: int64[10]; first
    wait()
    torch.unique(x)  # unique: second


def masked_select():
    y = torch.ones(11, device="npu")
    with torch.npu.stream(side):
        mask = torch.ones(11, dtype=torch.bool, device="npu")  # select: bool[11]; first
    wait()
    torch.masked_select(y, mask)  # select: second


def given_output():
    x, mask = torch.ones(12, device="npu"), torch.ones(12, dtype=torch.bool, device="npu")
    with torch.npu.stream(side):
        out = torch.zeros(12, device="npu")  # out: float32[12]; first
    wait()
    torch.masked_select(x, mask, out=out)  # out: second


def mask_as_index():
    y = torch.ones(13, 3, device="npu")
    with torch.npu.stream(side):
        mask = torch.ones(13, dtype=torch.bool, device="npu")  # index: bool[13]; first
    wait()
    y[mask]  # index: second


def assignment_by_mask():
    mask = torch.ones(14, dtype=torch.bool, device="npu")
    with torch.npu.stream(side):
        x = torch.zeros(14, device="npu")  # assignment: float32[14]; first
    wait()
    x[mask] = torch.ones(14, device="npu")  # assignment: second


def number_of_repeats():
    repeats = torch.ones(15, dtype=torch.int64, device="npu")  # repeat: int64[15]
    torch.npu.synchronize()
    with torch.npu.stream(side):
        repeats.fill_(1)  # repeat: first
    wait()
    torch.ones(15, device="npu").repeat_interleave(repeats)  # repeat: second


def comparison():
    y = torch.ones(16, device="npu")
    with torch.npu.stream(side):
        x = torch.ones(16, device="npu")  # equal: float32[16]; first
    wait()
    torch.equal(x, y)  # equal: second


def item():
    with torch.npu.stream(side):
        x = torch.full((), 17.0, device="npu")  # item: float32[]; first
    wait()
    x.item()  # item: second


def truth():
    with torch.npu.stream(side):
        x = torch.full((1,), 18, device="npu")  # bool: int64[1]; first
    wait()
    if x:  # bool: second
        pass


def printed():
    with torch.npu.stream(side):
        x = torch.ones(19, device="npu")  # print: float32[19]; first
    wait()
    print(x, file=sys.stderr)  # print: second


def on_the_host():
    with torch.npu.stream(side):
        x = torch.ones(20, device="npu")  # cpu: float32[20]; first
    wait()
    x.cpu()  # cpu: second


def list_of_numbers():
    with torch.npu.stream(side):
        x = torch.ones(21, 2, device="npu")  # list: float32[21, 2]; first
    wait()
    x[:, 1].tolist()  # list: second


def converted_on_the_host():
    with torch.npu.stream(side):
        x = torch.ones(22, device="npu")  # converted: float32[22]; first
    wait()
    x.to("cpu", torch.float16)  # converted: second


def in_pinned_memory():
    pinned = torch.empty(23, pin_memory=True)
    with torch.npu.stream(side):
        x = torch.ones(23, device="npu")  # pinned: float32[23]; first
    wait()
    pinned.copy_(x)  # pinned: second


def on_another_device():
    with torch.npu.stream(side):
        x = torch.ones(24, device="npu")  # device: float32[24]; first
    wait()
    x.to("npu:1")  # device: second
    torch.npu.synchronize(1)


def list_of_tensors():
    y = torch.ones(25, device="npu")
    with torch.npu.stream(side):
        x = torch.ones(25, device="npu")  # foreach: float32[25]; first
    wait()
    torch._foreach_add_([y, x], 1)  # foreach: second


def enlarged():
    """A tensor that grows gets other memory, into which its content is copied."""
    with torch.npu.stream(side):
        x = torch.ones(26, device="npu")  # resize: float32[26]; first
    wait()
    x.resize_(1024)  # resize: second


def enlarged_storage():
    with torch.npu.stream(side):
        x = torch.ones(27, device="npu")  # storage: float32[27]; first
    wait()
    x.untyped_storage().resize_(4096)  # storage: second


def overlapping():
    """The host waits for the answer of an operator whose output shares memory with an operand."""
    with torch.npu.stream(side):
        x = torch.ones(29, device="npu")  # overlap: float32[29]; first
    wait()
    with suppress(RuntimeError):
        torch.add(x[:28], 1, out=x[1:])  # overlap: second


def many_dimensions():
    with torch.npu.stream(side):
        x = torch.ones(30, device="npu").reshape(*[1] * 16, 30)  # dimensions: float32[30]; first
    wait()
    x + 1  # dimensions: second


for use in (
    nonzero,
    unique,
    masked_select,
    given_output,
    mask_as_index,
    assignment_by_mask,
    number_of_repeats,
    comparison,
    item,
    truth,
    printed,
    on_the_host,
    list_of_numbers,
    converted_on_the_host,
    in_pinned_memory,
    on_another_device,
    list_of_tensors,
    enlarged,
    enlarged_storage,
    overlapping,
    many_dimensions,
):
    # First in order: the memory has its contents then. An operator counts what it finds and reads it again, and would
    # write too much if the race changed it in between.
    for in_order in (True, "waits" in sys.argv):
        waits = in_order
        use()
        torch.npu.synchronize()
