# SPDX-License-Identifier: Apache-2.0
"""Allocators in Python that provide the workspace of operators.

The path of a call: the runtime calls a C function with the allocator's handle, the function passes the gate that closes
when the interpreter exits, and :func:`ascend_rt_python_allocate` or :func:`ascend_rt_python_free` calls the method
(``_memory/allocator_blocks.py``). A block is identified by the address of its memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import defaultdict
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ascend_rt._memory.allocator_blocks import Blocks
from ascend_rt._memory.allocator_registry import Registration, forget_stream, registered, registrations, restore
from ascend_rt._memory.cached_buffer import CachedBuffer
from ascend_rt._memory.sizes import check_positive
from ascend_rt._native.handles import Place
from ascend_rt._runtime.current_context import current_device_id
from ascend_rt._runtime.driver import address, call, ffi, lib, pointer
from ascend_rt._runtime.lifecycle import DeviceEpoch, epoch_of
from ascend_rt._runtime.locks import new_lock
from ascend_rt.context import Context
from ascend_rt.errors import AclError, InvalidArgument, InvalidHandle, OutOfMemory
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from ascend_rt.event import Event
    from ascend_rt.stream import Stream

__all__ = ["Allocator", "AllocatorStatistics", "CachingAllocator"]


class Allocator(ABC):
    """The source of workspace for operators on a stream.

    Subclass it, or create one from functions with :meth:`from_functions`. The methods are called on the thread that
    launches the operator. An exception in them is passed to :data:`ascend_rt.callback.on_error` and
    ``sys.unraisablehook``, and the operator fails.

    Streams that share an allocator must not run at the same time: synchronize one before you use the next. Synchronize
    the stream that used the memory before the memory is freed.

    Notes
    -----
    ``aclrtAllocatorCreateDesc`` and its setters, ``aclrtAllocatorRegister``, ``aclrtAllocatorUnregister``. All products
    but 310B. API reference 11-08.

    Examples
    --------
    >>> class Plain(Allocator):
    ...     def allocate(self, nbytes):
    ...         print("allocate", nbytes)
    ...         return Buffer(nbytes)
    ...     def free(self, buffer):
    ...         stream.synchronize()
    ...         buffer.close()
    >>> Plain().register(stream)
    >>> from ascend_rt import sim
    >>> sim.run_operator(stream, 4096)  # as the operators of CANN do
    allocate 4096
    """

    __blocks: _Blocks  # mangled, so that it cannot collide with a name in a subclass

    def __new__(cls, *arguments: object, **keywords: object) -> Self:
        """Prepare what the runtime needs, so that a subclass's constructor does not have to call this class's."""
        allocator = super().__new__(cls)
        allocator.__blocks = _Blocks(allocator)
        return allocator

    @abstractmethod
    def allocate(self, nbytes: int) -> Buffer:
        """Return device memory for the workspace of an operator.

        Parameters
        ----------
        nbytes : int
            The smallest size, in bytes.

        Returns
        -------
        Buffer
            Memory that no other block of this allocator uses.

        Raises
        ------
        OutOfMemory
            There is no memory; any other exception also makes the operator fail.
        """

    @abstractmethod
    def free(self, buffer: Buffer) -> None:
        """Take back a buffer; the stream's pending work may still use it.

        Parameters
        ----------
        buffer : Buffer
            An object that :meth:`allocate` or :meth:`allocate_near` returned.
        """

    def allocate_near(self, nbytes: int, near: int) -> Buffer:
        """Return memory at, or close to, an address that the runtime suggests; by default calls :meth:`allocate`.

        Parameters
        ----------
        nbytes : int
            The smallest size, in bytes.
        near : int
            The suggested address.

        Returns
        -------
        Buffer
            As of :meth:`allocate`.
        """
        return self.allocate(nbytes)

    @staticmethod
    def from_functions(
        allocate: Callable[[int], Buffer],
        free: Callable[[Buffer], object],
        allocate_near: Callable[[int, int], Buffer] | None = None,
    ) -> Allocator:
        """Return an allocator that calls these functions.

        Parameters
        ----------
        allocate, free, allocate_near : callable
            They are called as the methods of the same names; ``allocate_near`` is optional.

        Returns
        -------
        Allocator
            It keeps the functions alive.

        Examples
        --------
        >>> from ascend_rt import sim
        >>> taken = []
        >>> allocator = Allocator.from_functions(Buffer, taken.append)
        >>> allocator.register(stream)
        >>> sim.run_operator(stream, 4096)
        >>> taken[0].nbytes
        4096
        """
        return _OfFunctions(allocate, free, allocate_near)

    def register(self, stream: Stream) -> None:
        """Let operators on the stream use this allocator from now on, instead of any allocator registered before.

        The allocator is kept alive until :meth:`unregister`, or until the stream is closed.

        Parameters
        ----------
        stream : Stream
            Its operators use the allocator.

        Raises
        ------
        NotSupported
            The product has no allocators.

        Notes
        -----
        ``aclrtAllocatorRegister``; not blocking. All products but 310B. API reference 11-08.
        """
        handle, key = stream._handle, address(stream._handle)
        descriptor = lib.aclrtAllocatorCreateDesc()
        if descriptor == ffi.NULL:
            raise OutOfMemory(lib.ACL_ERROR_BAD_ALLOC, "aclrtAllocatorCreateDesc")
        before = registrations.get(key)
        new = Registration(self, descriptor, stream._owner.epoch, before)
        try:
            self._fill(descriptor)
            registrations[key] = new  # before the call, behind which a signal handler may raise an exception
            call("aclrtAllocatorRegister", handle, descriptor)
        except AclError:
            restore(key, before)
            call("aclrtAllocatorDestroyDesc", descriptor)
            raise
        if before is not None:
            before.allocator._stream_has_left(stream)
            registrations[key] = new._replace(replaced=None)
            call("aclrtAllocatorDestroyDesc", before.descriptor)

    def _fill(self, descriptor: Any) -> None:
        call("aclrtAllocatorSetObjToDesc", descriptor, self.__blocks.handle)
        call("aclrtAllocatorSetAllocFuncToDesc", descriptor, lib.ascend_rt_allocate_entry)
        call("aclrtAllocatorSetFreeFuncToDesc", descriptor, lib.ascend_rt_free_entry)
        call("aclrtAllocatorSetAllocAdviseFuncToDesc", descriptor, lib.ascend_rt_allocate_near_entry)
        call("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", descriptor, lib.ascend_rt_address_entry)

    def unregister(self, stream: Stream) -> None:
        """Let operators on the stream use the runtime's own allocator again; calling it twice is allowed.

        Does nothing if another allocator has replaced this one, or the stream is closed.

        Parameters
        ----------
        stream : Stream
            A stream that was passed to :meth:`register`.
        """
        if registered(stream) is self:
            self._stream_has_left(stream)
            forget_stream(stream._retention.stream, stream._owner.epoch)

    @property
    def live_buffers(self) -> int:
        """How many buffers the runtime has from this allocator."""
        return len(self.__blocks.live)

    def _stream_has_left(self, stream: Stream) -> None:  # noqa: B027  (optional)
        """React to another allocator for a stream, whose pending work may still use memory of this one."""


class _Blocks(Blocks):
    def __init__(self, allocator: Allocator) -> None:
        super().__init__()
        self.allocator = allocator
        self.live: dict[int, Buffer] = {}  # by address

    @property
    def functions(self) -> tuple[Callable[..., object], Callable[..., object], Callable[..., object]]:
        return self.allocator.allocate, self.allocator.allocate_near, self.allocator.free

    def take(self, nbytes: int, near: int | None) -> int:
        asked, name = self.allocator, type(self.allocator).__name__
        buffer = asked.allocate(nbytes) if near is None else asked.allocate_near(nbytes, near)
        if not isinstance(buffer, Buffer):
            raise TypeError(f"{name}.allocate must return a Buffer, but returned {buffer!r}")
        if buffer.nbytes < nbytes:
            raise ValueError(f"{name}.allocate returned {buffer!r}, which is smaller than {nbytes} bytes")
        if buffer.handle in self.live:
            raise ValueError(f"{name}.allocate returned {buffer!r}, which is in use already")
        self.live[buffer.handle] = buffer
        return buffer.handle

    def give_back(self, address: int) -> None:
        self.allocator.free(self.live.pop(address))


class _OfFunctions(Allocator):
    def __init__(
        self,
        allocate: Callable[[int], Buffer],
        free: Callable[[Buffer], object],
        allocate_near: Callable[[int, int], Buffer] | None,
    ) -> None:
        self._functions = allocate, free, allocate_near

    def allocate(self, nbytes: int) -> Buffer:
        return self._functions[0](nbytes)

    def free(self, buffer: Buffer) -> None:
        self._functions[1](buffer)

    def allocate_near(self, nbytes: int, near: int) -> Buffer:
        function = self._functions[2]
        return self.allocate(nbytes) if function is None else function(nbytes, near)


class AllocatorStatistics(NamedTuple):
    """Memory of a caching allocator, in bytes, and its requests.

    Attributes
    ----------
    used, used_peak : int
        Memory in use, and the largest value so far.
    reserved, reserved_peak : int
        Memory allocated from the device, and the largest value so far.
    hits, misses : int
        Number of allocations served from the cache, and from the device.

    Examples
    --------
    >>> allocator = CachingAllocator()
    >>> buffer = allocator.allocate(1000)
    >>> allocator.statistics
    AllocatorStatistics(used=1024, used_peak=1024, reserved=1024, reserved_peak=1024, hits=0, misses=1)
    """

    used: int
    used_peak: int
    reserved: int
    reserved_peak: int
    hits: int
    misses: int


class CachingAllocator(Allocator):
    """An allocator that keeps freed buffers and allocates from them.

    Sizes are rounded up to a multiple of 512 bytes, and above 1 MiB to a multiple of 2 MiB. A cached buffer is reused
    if it is on the device of the calling thread's context and at most half of it would be wasted. A freed buffer is
    available again at once, which is safe within one stream: use an allocator for one stream only, or synchronize
    before another stream uses it. Closing a buffer returns its memory to the device. Safe to call from several threads.

    Parameters
    ----------
    max_nbytes : int, optional
        The maximum amount of device memory that the allocator takes; None for no limit.

    Examples
    --------
    >>> allocator = CachingAllocator(max_nbytes=1 << 30)
    >>> first = allocator.allocate(1000)
    >>> allocator.free(first)
    >>> allocator.allocate(900) is first, allocator.statistics.hits
    (True, 1)
    """

    def __init__(self, max_nbytes: int | None = None) -> None:
        if max_nbytes is not None and index(max_nbytes) < 0:
            raise ValueError(f"max_nbytes must be 0 or more, got {max_nbytes}")
        self._limit = max_nbytes
        self._lock = new_lock()  # a finalizer may free inside
        # While one thread empties the cache, another would find it empty and the limit still reached.
        self._emptying = new_lock()
        self._sizes: defaultdict[DeviceEpoch, list[int]] = defaultdict(list)  # sizes of the cached buffers, sorted
        self._cached: defaultdict[tuple[DeviceEpoch, int], list[CachedBuffer]] = defaultdict(list)
        self._given: set[int] = set()  # by id
        self._last_uses: list[Event] = []  # on streams that have left
        self._leaving: list[CachedBuffer] = []  # from the cache, until the wait for their work is over
        self._used = self._used_peak = self._reserved = self._reserved_peak = self._hits = self._misses = 0

    def allocate(self, nbytes: int) -> Buffer:
        """Return a buffer of at least ``nbytes`` bytes on the device of the calling thread's context.

        Parameters
        ----------
        nbytes : int
            The size, in bytes; it is rounded up, see the class.

        Returns
        -------
        Buffer
            A cached buffer if one fits, otherwise new memory of the device.

        Raises
        ------
        ValueError
            The size is not positive.
        OutOfMemory
            The limit is reached, or the device's memory is exhausted, even after the cache was emptied.
        NoContext
            The calling thread has no current context.

        Notes
        -----
        ``aclrtMalloc`` if no cached buffer fits. Emptying the cache waits for the streams that use the allocator.
        """
        size = _rounded(nbytes)
        epoch = epoch_of(current_device_id())
        with self._lock:
            buffer = self._take(epoch, size)
            if buffer is not None:
                self._hits += 1
                return self._give(buffer)
        buffer = self._reserve(size)
        with self._lock:
            self._misses += 1
            self._reserved_peak = max(self._reserved_peak, self._reserved)
            return self._give(buffer)

    def free(self, buffer: Buffer) -> None:
        """Keep a buffer in the cache for later allocations.

        Parameters
        ----------
        buffer : Buffer
            A buffer that :meth:`allocate` returned.

        Raises
        ------
        TypeError
            The argument is not a buffer.
        ValueError
            The buffer is not from this allocator, or was freed before.
        ClosedError
            The buffer was closed.

        Notes
        -----
        Calls no C function, and does not block.
        """
        if not isinstance(buffer, Buffer):
            raise TypeError(f"expected a Buffer, got {type(buffer).__name__}")
        pointer = buffer.handle
        with self._lock:
            if id(buffer) not in self._given:
                raise ValueError(f"the buffer at {pointer:#x} was not allocated by this allocator, or is freed already")
            self._given.remove(id(buffer))
            self._used -= buffer.nbytes
            self._keep(cast(CachedBuffer, buffer))

    def empty_cache(self) -> None:
        """Free the cached buffers, after waiting for the streams that the allocator is, or was, registered for.

        Raises
        ------
        NoContext
            The calling thread has no current context.
        """
        self._empty()

    @property
    def statistics(self) -> AllocatorStatistics:
        """The counters of the allocator."""
        with self._lock:
            return AllocatorStatistics(
                self._used, self._used_peak, self._reserved, self._reserved_peak, self._hits, self._misses
            )

    def _stream_has_left(self, stream: Stream) -> None:
        if not stream._is_open:
            return
        # The stream, or its context, may be destroyed: then it has no work.
        with suppress(InvalidHandle, InvalidArgument):
            there = Context._at(stream._context_address) if stream._context_address else Place()
            last_use = there._call(stream.record)
            stream._retention.retain(self)  # and with it what is cached
            with self._lock:
                pending = [event for event in self._last_uses if event._is_open and not event.is_done]
                self._last_uses = [*pending, last_use]

    def _take(self, epoch: DeviceEpoch, size: int) -> CachedBuffer | None:
        sizes = self._sizes[epoch]
        at = bisect_left(sizes, size)
        if at == len(sizes) or (found := sizes[at]) > 2 * size:
            return None
        del sizes[at]
        return self._cached[epoch, found].pop()

    def _keep(self, buffer: CachedBuffer) -> None:
        epoch = buffer._owner.epoch
        self._cached[epoch, buffer.nbytes].append(buffer)
        insort(self._sizes[epoch], buffer.nbytes)

    def _give(self, buffer: CachedBuffer) -> Buffer:
        self._given.add(id(buffer))
        self._used += buffer.nbytes
        self._used_peak = max(self._used_peak, self._used)
        return buffer

    def _forget(self, buffer: CachedBuffer) -> None:
        """Account for a buffer that is closed."""
        epoch, nbytes = buffer._owner.epoch, buffer._nbytes
        with self._lock:
            self._reserved -= nbytes
            if id(buffer) in self._given:
                self._given.remove(id(buffer))
                self._used -= nbytes
            elif buffer in (same_size := self._cached.get((epoch, nbytes), [])):
                same_size.remove(buffer)
                self._sizes[epoch].remove(nbytes)

    def _reserve(self, size: int) -> CachedBuffer:
        if not self._count_reserved(size):
            self._make_room(size)
        try:
            try:
                return CachedBuffer(size, self)
            except OutOfMemory:
                self._empty()
                return CachedBuffer(size, self)
        except BaseException:
            with self._lock:
                self._reserved -= size
            raise

    def _make_room(self, size: int) -> None:
        with self._emptying:
            while not self._count_reserved(size):
                if not self._empty():
                    raise OutOfMemory(
                        lib.ACL_ERROR_RT_MEMORY_ALLOCATION,
                        "CachingAllocator.allocate",
                        f"{size} more bytes exceed the limit of {self._limit}; {self._reserved} are in use",
                    )

    def _count_reserved(self, nbytes: int) -> bool:
        with self._lock:
            if self._limit is not None and self._reserved + nbytes > self._limit:
                return False
            self._reserved += nbytes
            return True

    def _empty(self) -> bool:
        """Close the cached buffers; return True if there were any."""
        with self._emptying:
            with self._lock:
                self._leaving += [buffer for same_size in self._cached.values() for buffer in same_size]
                self._sizes.clear()
                self._cached.clear()
            has_any = bool(self._leaving)
            try:
                self._synchronize()  # without the lock: what the streams run may free
            except AclError:
                with self._lock:
                    while self._leaving:
                        self._keep(self._leaving.pop())
                raise
            while self._leaving:
                self._leaving.pop().close()
        return has_any

    def _synchronize(self) -> None:
        own = [stream for stream, it in list(registrations.items()) if it.allocator is self and not it.epoch.is_over]
        for stream in own:
            with suppress(InvalidHandle):  # its owner has destroyed it
                call("aclrtSynchronizeStream", pointer(stream))
        for event in self._last_uses:
            with suppress(InvalidHandle):  # its device was reset
                event.synchronize()


_SMALL = 512
_LARGE = 2 << 20


def _rounded(nbytes: int) -> int:
    nbytes = check_positive(nbytes)
    step = _SMALL if nbytes <= _LARGE // 2 else _LARGE
    return -(-nbytes // step) * step
