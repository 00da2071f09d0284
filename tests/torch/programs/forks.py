"""Forks beside other threads, or before the first use of a device; the first argument names what the program does."""

import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Callable

import torch
import torch_npu  # noqa: F401  (registers the device)

FORKS, THREADS = 40, 3


def in_child(function: Callable[[], None]) -> int:
    """Return the exit status of a fork that calls a function; a child that hangs is killed."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            function()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def refused(function: Callable[..., object], *arguments: object) -> None:
    text = ""
    try:
        function(*arguments)
    except RuntimeError as error:
        text = str(error)
    assert "fork" in text, text


def counted() -> None:
    """The parent has asked for devices, and used none."""
    assert torch.npu.is_available()
    assert torch.accelerator.is_available()
    assert torch.npu.device_count() > 0
    if not torch.__version__.startswith("2.7."):  # which begins to use the devices for it
        assert torch.accelerator.device_count() == torch.npu.device_count()
    unused()


def unused() -> None:
    """The parent has only imported the adapter: its children can use the device, and so can it."""

    def use() -> None:
        there = torch.arange(4.0, device="npu") + 1
        assert there.cpu().tolist() == [1, 2, 3, 4]
        in_grandchild = in_child(lambda: refused(there.neg))
        assert in_grandchild == 0

    torch.manual_seed(0)
    for _ in range(2):
        assert in_child(use) == 0
    use()


class Kernel(ctypes.Structure):
    """Mirror of aclsimKernel."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("workspace", ctypes.c_size_t),
        ("is_brief", ctypes.c_uint32),
    )


def first_use() -> None:
    """Another thread is inside the first use of an operator, where the simulator calls Python."""
    here, other = torch.ones(1, device="npu"), torch.ones(1, device="npu:1")
    inside, end = threading.Event(), threading.Event()

    def release(_: object) -> None:
        inside.set()
        assert end.wait(60)

    simulator = ctypes.CDLL("libascendcl.so")
    function = ctypes.cast(simulator.aclInit, ctypes.c_void_p)  # which is never called: it is replaced
    kernel = Kernel(function, None, Kernel._fields_[2][1](release), 0, 1)
    assert simulator.aclsimRegisterKernel(b"aten::neg_", ctypes.byref(kernel)) == 0
    thread = threading.Thread(target=here.neg_)
    thread.start()
    assert inside.wait(60)
    assert in_child(lambda: refused(here.exp_)) == 0
    assert in_child(lambda: refused(here.copy_, other)) == 0
    assert in_child(lambda: refused(here.item)) == 0
    end.set()
    thread.join()
    assert here.item() == -1


def storm() -> None:
    """Threads call operators with new shapes all the time."""
    is_over = False
    failures: list[str] = []

    def work(number: int) -> None:
        try:
            memory = torch.zeros(1 << 16, device=f"npu:{number % 2}")
            size = number
            while not is_over:
                size = (size + THREADS) % len(memory)
                memory[:size].add_(1)
        except BaseException as error:
            failures.append(repr(error))

    there = torch.ones(4, device="npu")
    torch.ones(4, device="npu:1")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    statuses = [in_child(lambda: refused(there.add, 1)) for _ in range(FORKS)]
    is_over = True
    for thread in threads:
        thread.join()
    assert statuses == [0] * FORKS, statuses
    assert failures == []
    assert there.add(1).cpu().tolist() == [2] * 4


if __name__ == "__main__":
    {each.__name__: each for each in (counted, unused, first_use, storm)}[sys.argv[1]]()
    print("answer:", json.dumps("forks"))
