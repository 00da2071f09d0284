# SPDX-License-Identifier: Apache-2.0
"""Device memory that several processes share, identified by a key."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ascend_rt._memory.device_memory import on_device
from ascend_rt._memory.sizes import check_positive
from ascend_rt._runtime import lifecycle
from ascend_rt._runtime.driver import address, call, check, ffi, is_expected, lib
from ascend_rt._runtime.ipc import KEY_SIZE, check_key, process_numbers
from ascend_rt._runtime.locks import new_lock
from ascend_rt._runtime.owners import owner_of_new
from ascend_rt._runtime.resource import Resource
from ascend_rt.device import Device
from ascend_rt.memory import Buffer, pointer_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ImportedBuffer", "IpcMemory"]

_SHARES_PAGES = 1 << 20  # bytes: smaller allocations may begin inside a page
_HUGE_PAGE = 2 << 20


class IpcMemory(Resource):
    """A buffer that other processes may open, until this object is closed; they must have closed it before.

    Parameters
    ----------
    buffer : Buffer
        A whole allocation, not a view, that is larger than 1 MiB or consists of huge pages. It is kept alive.
    processes : iterable of int, optional
        The processes that may open it, at least one, by their numbers from ``aclrtDeviceGetBareTgid``. None allows
        every process.

    Raises
    ------
    InvalidArgument
        The buffer is not such an allocation.
    ValueError
        The buffer is a view or too small, or no process is named.
    NotSupported
        The product has no IPC memory (310B).

    Notes
    -----
    ``aclrtIpcMemGetExportKey``, ``aclrtIpcMemSetImportPid``, ``aclrtIpcMemClose``. All products but 310B. API reference
    11-07.

    Examples
    --------
    >>> with IpcMemory(Buffer(2 << 20)) as shared:
    ...     key = shared.key  # for IpcMemory.open() of another process
    >>> type(key)
    <class 'bytes'>
    """

    __slots__ = ("_buffer", "_key")
    _what = "IPC memory"
    _needs_context = True

    def __init__(self, buffer: Buffer, processes: Iterable[int] | None = None) -> None:
        self._begin()
        pointer = on_device(buffer)
        if buffer.base is not None:
            raise ValueError("a view cannot be exported; export the whole allocation, buffer.base")
        if buffer.nbytes <= _SHARES_PAGES and pointer_attributes(buffer.handle).page_size < _HUGE_PAGE:
            raise ValueError(
                f"a buffer of {buffer.nbytes} bytes shares its pages with others and cannot be exported; "
                "allocate more than 1 MiB, or huge pages"
            )
        pids = None if processes is None else process_numbers(processes)
        everybody = lib.ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION
        flag = everybody if pids is None else lib.ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT
        key = ffi.new("char[]", KEY_SIZE)
        self._buffer: Buffer | None = buffer
        where = owner_of_new(buffer.device.id)
        self._make(where, (key,), "aclrtIpcMemGetExportKey", pointer, buffer.nbytes, key, KEY_SIZE, flag)
        self._key: bytes = ffi.string(key)
        if pids is not None:
            call("aclrtIpcMemSetImportPid", key, pids, len(pids))

    @property
    def key(self) -> bytes:
        """The key that another process passes to :meth:`open`; the program sends it there."""
        return self._key

    @staticmethod
    def open(key: bytes, nbytes: int) -> ImportedBuffer:
        """Open another process's memory.

        Parameters
        ----------
        key : bytes
            The exporter's :attr:`key`.
        nbytes : int
            The size of the memory there.

        Returns
        -------
        ImportedBuffer
            The memory; closing it releases the import.

        Raises
        ------
        InvalidArgument
            No other running process exports memory under the key.
        ValueError
            The key has a zero byte, or the size is not positive.
        AclError
            The exporter did not list this process (207006).

        Notes
        -----
        ``aclrtIpcMemImportByKey``. All products but 310B. API reference 11-07.
        """
        return ImportedBuffer(key, nbytes)

    def _destroy(self, handle: Any) -> None:
        # The function needs a context, and the thread that closes may have none.
        code = Device(self._owner.epoch.device_id)._call(self._give_back, lib.aclrtIpcMemClose)
        has_ended = self._buffer is None or self._buffer.is_closed  # freeing the memory ends the export
        if not (has_ended and is_expected(code)):
            check(code, "aclrtIpcMemClose")
        self._buffer = None


# The runtime closes by key, and the oldest import first: address -> whether it may be closed, the oldest first.
_imports: defaultdict[tuple[lifecycle.DeviceEpoch, bytes], dict[int, bool]] = defaultdict(dict)
_lock = new_lock()  # a buffer may be discarded inside


class ImportedBuffer(Buffer):
    """Memory of another process; closing releases it. See :meth:`IpcMemory.open`.

    Imports of the same memory are released in the order in which they were opened, which may be later than their
    ``close()``.

    Not every product supports copies between imported memory and the host. Copies between buffers of one device are
    supported only in the order of a stream (API reference 11-07).

    Examples
    --------
    >>> import subprocess, sys
    >>> program = '''
    ... import sys
    ... from ascend_rt import *
    ... Device(0).set_current()
    ... with IpcMemory.open(bytes.fromhex(sys.argv[1]), 2 << 20) as there:
    ...     fill(there, 7)
    ... '''
    >>> buffer = Buffer(2 << 20)
    >>> with IpcMemory(buffer) as shared:
    ...     done = subprocess.run([sys.executable, "-c", program, shared.key.hex()], check=True)
    >>> buffer[:3].to_numpy()
    array([7, 7, 7], dtype=uint8)
    """

    __slots__ = ("_key",)
    _what = "imported buffer"
    _needs_context = True

    def __init__(self, key: bytes, nbytes: int) -> None:
        self._begin()
        self._key, nbytes = check_key(key), check_positive(nbytes)
        out, where = ffi.new("void **"), owner_of_new()
        with _lock:
            flag = lib.ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS
            self._make(where, out, "aclrtIpcMemImportByKey", out, self._key, flag)
            _imports[where.epoch, self._key][address(out[0])] = False
        self._describe(nbytes, None)

    def _destroy(self, handle: Any) -> None:
        # The device first, then the lock: a finalizer may run while devices are counted.
        Device(self._owner.epoch.device_id)._call(self._close_in_order, address(handle))

    def _close_in_order(self, start: int) -> None:
        opened_here = self._owner.epoch, self._key
        with _lock:
            opened = _imports[opened_here]
            opened[start] = True
            while opened and opened[oldest := next(iter(opened))]:
                call("aclrtIpcMemClose", self._key)
                del opened[oldest]
            if not opened:
                del _imports[opened_here]
