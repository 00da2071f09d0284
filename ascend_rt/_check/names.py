# SPDX-License-Identifier: Apache-2.0
"""Names that users know: those of the facade for C functions, and of the classes for kinds of memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from ascend_rt._check.frames import Frame, is_native


class _Names(NamedTuple):
    python: str
    native: str


_MEMORY = {
    "device": _Names("Buffer", "device memory"),
    "pinned": _Names("PinnedBuffer", "pinned memory"),
    "pool": _Names("PoolBuffer", "pool memory"),
    "managed": _Names("ManagedBuffer", "managed memory"),
    "registered": _Names("RegisteredMemory", "registered memory"),
    "shared": _Names("IpcMemory", "shared memory"),
    "mapped": _Names("MappedBuffer", "mapped memory"),
    "tensor": _Names("tensor", "tensor"),
}

# Names by which a line of Python may call a C function, the likeliest first.
_CALLS = {
    "aclrtCntNotifyRecord": ("record",),
    "aclrtCntNotifyWaitWithTimeout": ("wait",),
    "aclrtDestroyStream": ("close",),
    "aclrtFree": ("close",),
    "aclrtFreeHost": ("close",),
    "aclrtHostUnregister": ("close",),
    "aclrtLaunchHostFunc": ("launch_host_func",),
    "aclrtLaunchKernel": ("launch",),
    "aclrtLaunchKernelV2": ("launch",),
    "aclrtLaunchKernelWithConfig": ("launch",),
    "aclrtLaunchKernelWithHostArgs": ("launch",),
    "aclrtMalloc": ("Buffer", "from_array"),
    "aclrtMallocHost": ("PinnedBuffer",),
    "aclrtMemAllocManaged": ("ManagedBuffer",),
    "aclrtMemManagedPrefetchAsync": ("prefetch",),
    "aclrtMemPoolFreeAsync": ("close",),
    "aclrtMemPoolMallocAsync": ("allocate",),
    "aclrtMemcpy": ("copy", "from_array", "to_numpy"),
    "aclrtMemcpy2d": ("copy_2d",),
    "aclrtMemcpy2dAsync": ("copy_2d_async",),
    "aclrtMemcpyAsync": ("copy_async", "send", "receive"),
    "aclrtMemcpyAsyncWithDesc": ("submit",),
    "aclrtMemcpyAsyncWithOffset": ("copy_indirect",),
    "aclrtMemcpyBatch": ("copy_batch",),
    "aclrtMemcpyBatchAsync": ("copy_batch_async",),
    "aclrtMemset": ("fill",),
    "aclrtMemsetAsync": ("fill_async",),
    "aclrtMemsetD32": ("fill",),
    "aclrtMemsetD32Async": ("fill_async",),
    "aclrtRandomNumAsync": ("uniform", "normal", "truncated_normal", "dropout_mask"),
    "aclrtRecordEvent": ("record",),
    "aclrtRecordNotify": ("record",),
    "aclrtStreamWaitEvent": ("wait",),
    "aclrtStreamWaitEventWithTimeout": ("wait",),
    "aclrtSynchronizeDevice": ("synchronize",),
    "aclrtSynchronizeDeviceWithTimeout": ("synchronize",),
    "aclrtSynchronizeEvent": ("synchronize",),
    "aclrtSynchronizeEventWithTimeout": ("synchronize",),
    "aclrtSynchronizeStream": ("synchronize", "close"),
    "aclrtSynchronizeStreamWithTimeout": ("synchronize",),
    "aclrtWaitAndResetNotify": ("wait",),
}

# Functions that the package calls for what a line does with another package.
_FOR_OTHERS = {"aclsimNoteHostAccess": "numpy"}


def of_memory(kind: str, number: int | None, *, in_python: bool) -> str:
    """Return the name of an allocation: ``Buffer 3`` in Python, ``device memory 3`` in C."""
    names = _MEMORY.get(kind, _Names(f"{kind} memory", f"{kind} memory"))
    name = names.python if in_python else names.native
    return name if number is None else f"{name} {number}"


def of_call(function: str, frame: Frame | None) -> str:
    """Return the name by which the line calls a C function, or what it calls instead, or the C function's."""
    line = frame.source if frame is not None else ""
    likely = (*_CALLS.get(function, ()), function)
    return next((it for it in likely if re.search(rf"\b{it}\b", line)), _FOR_OTHERS.get(function, function))


def is_python(frame: Frame | None) -> bool:
    """Return whether a place is in a Python program."""
    return frame is not None and frame.line > 0 and not is_native(frame)
