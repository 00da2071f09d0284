# SPDX-License-Identifier: Apache-2.0
"""The CANN runtime of Ascend NPUs for Python, with a simulator for machines without one.

Importing loads no library; the first call does. ``ascend_rt.use("sim")`` or ``ASCEND_RT_BACKEND`` chooses it.
numpy is imported with the first use of what makes arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ascend_rt import _source_tree

if TYPE_CHECKING:
    from ascend_rt import enums, kernel, random, sim, testing  # noqa: F401  (see _LATER)
    from ascend_rt.kernel import Binary, Kernel
    from ascend_rt.pinned_memory import PinnedBuffer

_source_tree.give_way_to_installed()

from ascend_rt._acl_finder import install_acl  # noqa: E402  (from here on, only an installed package works)
from ascend_rt._driver import Library, ffi, lib, library, supports, use  # noqa: E402
from ascend_rt.allocator import Allocator, AllocatorStatistics, CachingAllocator  # noqa: E402
from ascend_rt.cache import cmo, cmo_barrier, cmo_prefetch  # noqa: E402
from ascend_rt.context import Context  # noqa: E402
from ascend_rt.device import Device, DeviceProperties, MemoryInfo, MemoryUsage  # noqa: E402
from ascend_rt.errors import (  # noqa: E402
    AclError,
    AclWarning,
    AscendError,
    CaptureError,
    ClosedError,
    DeviceLost,
    FailedTask,
    ForkedProcess,
    InvalidArgument,
    InvalidHandle,
    LibraryError,
    NoContext,
    NotSupported,
    OutOfMemory,
    ResourceExhausted,
    RuntimeClosed,
    StreamAborted,
    TaskFailed,
    Timeout,
    WrongState,
)
from ascend_rt.event import Event, EventOptions  # noqa: E402
from ascend_rt.failure_callback import Subscription, on_task_failed  # noqa: E402
from ascend_rt.graph import Graph, GraphTask  # noqa: E402
from ascend_rt.ipc_memory import ImportedBuffer, IpcMemory  # noqa: E402
from ascend_rt.managed_memory import ManagedBuffer  # noqa: E402
from ascend_rt.memory import Buffer, PointerAttributes, RegisteredMemory, pointer_attributes  # noqa: E402
from ascend_rt.memory_pool import MemoryPool, PoolBuffer, PoolStatistics  # noqa: E402
from ascend_rt.notify import CountingNotify, Notify  # noqa: E402
from ascend_rt.stream import Stream, StreamOptions  # noqa: E402
from ascend_rt.transfer import (  # noqa: E402
    CopyDescriptor,
    copy,
    copy_2d,
    copy_2d_async,
    copy_async,
    copy_batch,
    copy_batch_async,
    copy_indirect,
    fill,
    fill_async,
)
from ascend_rt.versions import Version, version  # noqa: E402
from ascend_rt.virtual_memory import MappedBuffer, PhysicalMemory, VirtualMemory  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "AclError",
    "AclWarning",
    "Allocator",
    "AllocatorStatistics",
    "AscendError",
    "Binary",
    "Buffer",
    "CachingAllocator",
    "CaptureError",
    "ClosedError",
    "Context",
    "CopyDescriptor",
    "CountingNotify",
    "Device",
    "DeviceLost",
    "DeviceProperties",
    "Event",
    "EventOptions",
    "FailedTask",
    "ForkedProcess",
    "Graph",
    "GraphTask",
    "ImportedBuffer",
    "InvalidArgument",
    "InvalidHandle",
    "IpcMemory",
    "Kernel",
    "Library",
    "LibraryError",
    "ManagedBuffer",
    "MappedBuffer",
    "MemoryInfo",
    "MemoryPool",
    "MemoryUsage",
    "NoContext",
    "NotSupported",
    "Notify",
    "OutOfMemory",
    "PhysicalMemory",
    "PinnedBuffer",
    "PointerAttributes",
    "PoolBuffer",
    "PoolStatistics",
    "RegisteredMemory",
    "ResourceExhausted",
    "RuntimeClosed",
    "Stream",
    "StreamAborted",
    "StreamOptions",
    "Subscription",
    "TaskFailed",
    "Timeout",
    "Version",
    "VirtualMemory",
    "WrongState",
    "__version__",
    "cmo",
    "cmo_barrier",
    "cmo_prefetch",
    "copy",
    "copy_2d",
    "copy_2d_async",
    "copy_async",
    "copy_batch",
    "copy_batch_async",
    "copy_indirect",
    "ffi",
    "fill",
    "fill_async",
    "install_acl",
    "lib",
    "library",
    "on_task_failed",
    "pointer_attributes",
    "supports",
    "use",
    "version",
]


# What is imported when it is first used, and from which module: what most programs do not need, and what needs numpy,
# whose import takes twice as long as all the rest.
_LATER = {
    "Binary": "kernel",
    "Kernel": "kernel",
    "PinnedBuffer": "pinned_memory",
    "enums": "enums",
    "kernel": "kernel",
    "random": "random",
    "sim": "sim",
    "testing": "testing",
}

if not TYPE_CHECKING:  # type checkers would take every name for known

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_LATER[name]}")
        globals()[name] = found = module if name == _LATER[name] else getattr(module, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
