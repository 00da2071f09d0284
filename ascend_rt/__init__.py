# SPDX-License-Identifier: Apache-2.0
"""The CANN runtime of Ascend NPUs for Python, with a simulator for machines without one.

Importing the package does not load a library; the first call does. ``ascend_rt.use("sim")`` or ``ASCEND_RT_BACKEND``
chooses the library. Modules are imported when one of their names is first used; numpy is imported only by functions
that return arrays.
"""

from __future__ import annotations

from importlib import import_module

from ascend_rt._startup import source_tree

TYPE_CHECKING = False  # importing typing takes longer than the rest of this module
if TYPE_CHECKING:
    from ascend_rt import callback, dumps, enums, kernel, random, sim, testing  # noqa: F401  (see _MODULES)
    from ascend_rt._runtime.driver import ffi, lib, library, supports, use
    from ascend_rt._runtime.failures import FailedTask
    from ascend_rt._runtime.library import Library
    from ascend_rt._startup.acl_finder import install_acl
    from ascend_rt.allocator import Allocator, AllocatorStatistics, CachingAllocator
    from ascend_rt.cache import cmo, cmo_barrier, cmo_prefetch
    from ascend_rt.channel import Channel
    from ascend_rt.context import Context
    from ascend_rt.device import Device, MemoryInfo, MemoryUsage
    from ascend_rt.device_properties import DeviceProperties
    from ascend_rt.errors import (
        AclError,
        AclWarning,
        AscendError,
        CaptureError,
        ClosedError,
        ConfigurationError,
        DeviceLost,
        EndOfSequence,
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
    from ascend_rt.event import Event
    from ascend_rt.failure_callback import Subscription, on_task_failed
    from ascend_rt.graph import Graph, GraphTask
    from ascend_rt.ipc_memory import ImportedBuffer, IpcMemory
    from ascend_rt.kernel import Binary, Kernel, Operand
    from ascend_rt.managed_memory import ManagedBuffer
    from ascend_rt.memory import Buffer, PointerAttributes, RegisteredMemory, pointer_attributes
    from ascend_rt.memory_pool import MemoryPool, PoolBuffer, PoolStatistics
    from ascend_rt.notify import CountingNotify, Notify
    from ascend_rt.options import EventOptions, StreamOptions
    from ascend_rt.pinned_memory import PinnedBuffer
    from ascend_rt.profiling import mark, profile
    from ascend_rt.queue import Queue
    from ascend_rt.stream import Stream
    from ascend_rt.transfer import (
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
    from ascend_rt.versions import Version, version
    from ascend_rt.virtual_memory import MappedBuffer, PhysicalMemory, VirtualMemory

source_tree.give_way_to_installed()

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
    "Channel",
    "ClosedError",
    "ConfigurationError",
    "Context",
    "CopyDescriptor",
    "CountingNotify",
    "Device",
    "DeviceLost",
    "DeviceProperties",
    "EndOfSequence",
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
    "Operand",
    "OutOfMemory",
    "PhysicalMemory",
    "PinnedBuffer",
    "PointerAttributes",
    "PoolBuffer",
    "PoolStatistics",
    "Queue",
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
    "mark",
    "on_task_failed",
    "pointer_attributes",
    "profile",
    "supports",
    "use",
    "version",
]


# Each name is imported when it is first used, with only the modules it needs: a program that makes only raw calls does
# not load the facade, and importing numpy takes twice as long as everything else. Names by module:
_NAMES = {
    "_startup.acl_finder": "install_acl",
    "_runtime.driver": "ffi lib library supports use",
    "_runtime.failures": "FailedTask",
    "_runtime.library": "Library",
    "allocator": "Allocator AllocatorStatistics CachingAllocator",
    "cache": "cmo cmo_barrier cmo_prefetch",
    "channel": "Channel",
    "context": "Context",
    "device": "Device MemoryInfo MemoryUsage",
    "device_properties": "DeviceProperties",
    "errors": (
        "AclError AclWarning AscendError CaptureError ClosedError ConfigurationError DeviceLost EndOfSequence "
        "ForkedProcess InvalidArgument InvalidHandle LibraryError NoContext NotSupported OutOfMemory ResourceExhausted "
        "RuntimeClosed StreamAborted TaskFailed Timeout WrongState"
    ),
    "event": "Event",
    "failure_callback": "Subscription on_task_failed",
    "graph": "Graph GraphTask",
    "ipc_memory": "ImportedBuffer IpcMemory",
    "kernel": "Binary Kernel Operand",
    "managed_memory": "ManagedBuffer",
    "memory": "Buffer PointerAttributes RegisteredMemory pointer_attributes",
    "memory_pool": "MemoryPool PoolBuffer PoolStatistics",
    "notify": "CountingNotify Notify",
    "options": "EventOptions StreamOptions",
    "pinned_memory": "PinnedBuffer",
    "profiling": "mark profile",
    "queue": "Queue",
    "stream": "Stream",
    "transfer": (
        "CopyDescriptor copy copy_2d copy_2d_async copy_async copy_batch copy_batch_async copy_indirect fill fill_async"
    ),
    "versions": "Version version",
    "virtual_memory": "MappedBuffer PhysicalMemory VirtualMemory",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {
    *(module for module in _NAMES if not module.startswith("_")),
    *("callback", "dumps", "enums", "random", "sim", "testing"),
}

if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_MODULES})
