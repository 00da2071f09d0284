# SPDX-License-Identifier: Apache-2.0
"""Modules that functions of the package import when they first need them; all are imported before a fork.

A child does not have the thread that was inside an import at the fork, so the lock of that module stays held there, and
the first function that needs the module would never return.
"""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "_check.at_exit",
    "_generated.error_table",
    "_generated.functions",
    "_kernels.accesses",
    "_kernels.device_object",
    "_kernels.host_arguments",
    "_memory.arrays",
    "_memory.dlpack",
    "_runtime.call_site",
    "_runtime.library",
    "_runtime.override",
    "_runtime.program_waits",
    "_runtime.releases",
    "_runtime.selection",
    "_runtime.threads",
    "_runtime.watchdog",
    "_startup.acl_finder",
    "_startup.host_threads",
    "allocator",
    "cache",
    "callback",
    "channel",
    "context",
    "device",
    "device_properties",
    "dumps",
    "enums",
    "errors",
    "event",
    "failure_callback",
    "graph",
    "ipc_memory",
    "kernel",
    "managed_memory",
    "memory",
    "memory_pool",
    "notify",
    "options",
    "pinned_memory",
    "profiling",
    "queue",
    "random",
    "sim",
    "stream",
    "testing",
    "testing.checks",
    "transfer",
    "versions",
    "virtual_memory",
    "backends.cann",
    "backends.cann.installation",
    "backends.cann.probe",
)


def import_all() -> None:
    """Import what is not imported yet, and wait for other threads that are doing so."""
    for name in MODULES:
        import_module(f"ascend_rt.{name}")
