"""Sixteen threads on four devices, each with its own stream."""

import json
import threading

import torch
import torch_npu  # noqa: F401  (registers the device)

COUNT, THREADS, DEVICES = 1 << 12, 16, 4
failures: list[str] = []
together = threading.Barrier(THREADS)


def work(number: int) -> None:
    try:
        torch.npu.set_device(number % DEVICES)
        sent = torch.full((COUNT,), float(number)).pin_memory()
        together.wait()
        for _ in range(20):
            with torch.npu.stream(torch.npu.Stream()):
                memory = torch.empty(COUNT, device=f"npu:{number % DEVICES}")
                memory.copy_(sent, non_blocking=True)
                assert torch.equal(memory.cpu(), sent)
    except BaseException as error:
        failures.append(repr(error))
        together.abort()


torch.npu.set_device(0)
torch.empty(1, device="npu")
threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert failures == []
print("answer:", json.dumps("threads"))
