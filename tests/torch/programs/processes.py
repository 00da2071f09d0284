"""A tensor and an event go to another process; a forked child cannot use the device; the parent can."""

import json
import os
from typing import Any

import torch
import torch.multiprocessing as mp
import torch_npu  # noqa: F401  (registers the device)


def other(requests: Any, answers: Any) -> None:
    tensor, event = requests.get(), requests.get()
    event.wait()
    torch.npu.synchronize()
    answers.put(tensor.cpu().tolist())
    tensor.copy_(torch.full((4,), 7.0))
    torch.npu.synchronize()
    answers.put("written")
    requests.get()


def share() -> None:
    context = mp.get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    tensor = torch.empty(4, device="npu")
    tensor.copy_(torch.arange(4.0))
    event = torch.npu.Event(interprocess=True)
    event.record()
    process = context.Process(target=other, args=(requests, answers))
    process.start()
    requests.put(tensor)
    requests.put(event)
    assert answers.get(timeout=120) == [0, 1, 2, 3]
    assert answers.get(timeout=120) == "written"
    assert tensor.cpu().tolist() == [7] * 4
    requests.put("end")
    process.join()
    assert process.exitcode == 0


def fork() -> None:
    tensor = torch.empty(4, device="npu")
    tensor.copy_(torch.ones(4))
    child = os.fork()
    if child == 0:
        try:
            tensor.cpu()
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert tensor.cpu().tolist() == [1] * 4


if __name__ == "__main__":
    torch.npu.set_device(0)
    fork()
    share()
    print("answer:", json.dumps("processes"))
