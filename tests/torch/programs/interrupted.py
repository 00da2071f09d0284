"""Ctrl-C ends waits for work that has not ended."""

import json
import os
import signal
import threading

import torch
import torch_npu  # noqa: F401  (registers the device)

from ascend_rt import Stream
from ascend_rt.testing import Latch

torch.npu.set_device(0)
current, event = torch.npu.current_stream(), torch.npu.Event()
number, there = torch.ones(3, device="npu"), torch.zeros(3, device="npu")
on_host = torch.zeros(3)
SYNCHRONIZE = (current.synchronize, event.synchronize, torch.npu.synchronize, torch.accelerator.synchronize)
READ = {
    "item": lambda: number[0].item(),
    "bool": lambda: bool(number[0]),
    "tolist": number.tolist,
    "cpu": number.cpu,
    "copy_ to the host": lambda: on_host.copy_(number),
    "copy_ to the device": lambda: there.copy_(torch.ones(3)),
    "another type": lambda: number.to("cpu", torch.float64),
    "size": number.nonzero,
    "mask": lambda: number[number > 0],
}


def interrupt(wait):
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        wait()
    except KeyboardInterrupt:
        timer.join()
    else:
        raise AssertionError(f"{wait} has not been interrupted")


for read in READ.values():  # PyTorch imports modules of Python for the first calls
    read()
latch = Latch(Stream.from_handle(current.npu_stream))
event.record()
number += 1
for wait in (*SYNCHRONIZE, *READ.values()):
    interrupt(wait)
assert not event.query()
latch.release()
for wait in SYNCHRONIZE:
    wait()
assert event.query()
torch.npu.Event().synchronize()  # which was never recorded
found = {name: read() for name, read in READ.items()}
assert (found["item"], found["bool"], found["tolist"]) == (2, True, [2, 2, 2]), found
assert found["cpu"].tolist() == found["copy_ to the host"].tolist() == found["another type"].tolist() == [2, 2, 2]
assert found["copy_ to the device"].tolist() == [1, 1, 1]
assert found["size"].tolist() == [[0], [1], [2]]
assert found["mask"].tolist() == [2, 2, 2]

# A device that is not the current one; another thread, which Ctrl-C does not interrupt.
other = torch.ones(1, device="npu:1")
with torch.npu.device(1):
    latch = Latch(Stream.from_handle(torch.npu.current_stream().npu_stream))
interrupt(other.item)
results, is_read = [], threading.Event()


def read_there():
    results.append(other.item())
    is_read.set()


reader = threading.Thread(target=read_there)
reader.start()
interrupt(is_read.wait)
with torch.npu.device(1):
    latch.release()
is_read.wait()
reader.join()
assert results == [1], results
print("answer:", json.dumps("interrupted"))
