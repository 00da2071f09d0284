# SPDX-License-Identifier: Apache-2.0
"""PyTorch operators for torch_npu on the simulator.

Importing this package, after torch and torch_npu or instead of them, lets every operator that torch_npu would hand to
a library of CANN run PyTorch's kernel for the CPU, on the memory of the simulated device, as a task of the current
stream.
``ascend-rt run --backend sim`` imports it when the program imports torch_npu.
"""

from __future__ import annotations

import ctypes
import os
import sys

# torch_npu's own queue in front of the stream is off: it goes on after a failed operator, with data that was never
# computed. The variable is read when a device is first used.
_QUEUE = "TASK_QUEUE_ENABLE"
_is_without_queue = os.environ.get(_QUEUE) == "0"
os.environ[_QUEUE] = "0"

from ascend_rt._runtime import driver  # noqa: E402
from ascend_rt._startup import allocator_options, torch_environment, torch_versions  # noqa: E402
from ascend_rt.backends import sim  # noqa: E402

torch_versions.require_supported_pair()
if "torch_npu" not in sys.modules:
    allocator_options.forget()

# ``ascend-rt run`` sets the environment, and puts the libraries that torch_npu is linked with on the loader's path.
# Without it they are found if they are in the process already.
_choice = driver.choice()
if _choice.backend == "sim":
    os.environ.update(torch_environment.added_to(os.environ))
    for _path in _choice.paths:
        ctypes.CDLL(_path)
    sim.load_companions()

import torch_npu  # noqa: E402

from ascend_rt.torch import _install  # noqa: E402

__all__: list[str] = []

if not _is_without_queue and torch_npu.npu.is_initialized():
    raise ImportError(
        f"ascend_rt.torch was imported after the first use of a device: set {_QUEUE}=0 before, import it earlier, or "
        "start the program with 'ascend-rt run --backend sim'"
    )
_install.install()
# This package's part of the runtime begins with the first use of a device. Until then the process may fork, and its
# children may use the device.
torch_npu.npu._lazy_call(driver.library)
