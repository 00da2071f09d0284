# SPDX-License-Identifier: Apache-2.0
"""Memory of devices, registered memory of the host, and queries about an address."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, overload

from ascend_rt._memory.host_memory import PINNED_IS_CLOSED, bytes_of
from ascend_rt._memory.sizes import check_size
from ascend_rt._native.handles import BufferHandle
from ascend_rt._native.in_c import in_c
from ascend_rt._runtime.driver import address, call, check, check_address, ffi, lib
from ascend_rt._runtime.lifecycle import HOST, Owner, owner_of
from ascend_rt._runtime.resource import Resource
from ascend_rt._runtime.retention import check_allocation
from ascend_rt.device import Device
from ascend_rt.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex, TypeVar

    import numpy as np
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Buffer as BufferProtocol
    from typing_extensions import Self

    from ascend_rt.enums import MemLocationType, MemMallocPolicy

    # numpy's types include the buffer protocol only from Python 3.12 on.
    HostMemory: TypeAlias = BufferProtocol | np.ndarray[Any, np.dtype[Any]]
    Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]

    ScalarT = TypeVar("ScalarT", bound=np.generic)
    KnownDType: TypeAlias = type[ScalarT] | np.dtype[ScalarT]

__all__ = ["Buffer", "PointerAttributes", "RegisteredMemory", "pointer_attributes"]

_HUGE_FIRST = lib.ACL_MEM_MALLOC_HUGE_FIRST
_ON_DEVICE = (lib.ACL_MEM_LOCATION_TYPE_DEVICE, lib.ACL_MEM_LOCATION_TYPE_MANAGED)


class PointerAttributes(NamedTuple):
    """The runtime's information about an address.

    Attributes
    ----------
    location : MemLocationType
        ``HOST`` means pinned or registered memory, ``UNREGISTERED`` any other memory of the host.
    device_id : int
        The number of the device, if the memory is on a device.
    page_size : int
        The size of its pages in bytes.

    Examples
    --------
    >>> attributes = pointer_attributes(Buffer(64).handle)
    >>> attributes.location.name, attributes.device_id
    ('DEVICE', 0)
    """

    location: MemLocationType
    device_id: int
    page_size: int


def pointer_attributes(pointer: int) -> PointerAttributes:
    """Return the kind of memory at an address.

    The runtime does not guarantee to notice that memory was freed.

    Parameters
    ----------
    pointer : int
        Any address, of the host or of a device.

    Returns
    -------
    PointerAttributes
        The kind of memory, its device and the size of its pages.

    Raises
    ------
    TypeError, ValueError
        The address is not an integer from 0 to 2 ** 64 - 1.

    Notes
    -----
    ``aclrtPointerGetAttributes``; not blocking, needs no context. All products. API reference 11-05.

    Examples
    --------
    >>> pointer_attributes(PinnedBuffer(64).handle).location.name
    'HOST'
    >>> pointer_attributes(np.empty(64).ctypes.data).location.name
    'UNREGISTERED'
    """
    from ascend_rt.enums import MemLocationType

    out = ffi.new("aclrtPtrAttributes *")
    call("aclrtPointerGetAttributes", ffi.cast("void *", check_address(pointer)), out)
    location = out.location
    return PointerAttributes(MemLocationType(location.type), int(location.id), int(out.pageSize))


@in_c
class Buffer(Resource, BufferHandle):
    """Memory of the device of the calling thread's context.

    A slice, ``buffer[4096:8192]``, is a view of the same memory: it keeps the whole buffer alive and is not freed
    separately. Closing a buffer closes its views.

    Parameters
    ----------
    nbytes : int
        Size in bytes; must be positive.
    policy : MemMallocPolicy, default MALLOC_HUGE_FIRST
        The kind of pages to use.

    Raises
    ------
    OutOfMemory
        The device's memory is exhausted.
    NoContext
        The calling thread has no current context.
    InvalidArgument
        The size is zero.

    Notes
    -----
    ``aclrtMalloc``, ``aclrtFree``; synchronous, content undefined. Freeing does not wait for the device: close a buffer
    only when no stream uses it any more. :func:`copy_async` keeps its buffers alive until the copy is done. All
    products. API reference 11-01.

    Examples
    --------
    >>> with Buffer(1 << 20) as buffer:
    ...     part = buffer[4096:8192]  # no copy
    ...     fill(part, 7)
    ...     buffer[4094:4098].to_numpy()[2:], part.base is buffer, part.offset
    (array([7, 7], dtype=uint8), True, 4096)
    >>> part.is_closed
    True
    """

    __slots__ = ()
    _what = "buffer"
    _nbytes: int
    _parent: object  # must live as long as the memory is used
    __eq__, __hash__ = object.__eq__, object.__hash__  # several views may begin at one address

    def __init__(self, nbytes: int, *, policy: MemMallocPolicy | int = _HUGE_FIRST) -> None: ...

    def _allocate_again(self, code: int, nbytes: int, policy: int, where: Owner) -> None:
        """Allocate the memory after an attempt that has failed with a code."""
        check_allocation(code, "aclrtMalloc")
        out = ffi.new("void **")
        self._make(where, out, "aclrtMalloc", out, nbytes, policy)
        self._describe(nbytes, None)

    def _describe(self, nbytes: int, parent: object) -> None:
        self._nbytes = nbytes
        self._parent = parent

    @classmethod
    def from_array(cls, array: HostMemory) -> Self:
        """Allocate memory of the size of an array, and copy the array into it.

        Parameters
        ----------
        array : numpy.ndarray or bytes-like
            The elements are copied in C order, even from a non-contiguous array. The buffer does not keep their type.

        Raises
        ------
        ValueError
            The array is empty.
        TypeError
            The argument is not an array, or its elements are Python objects.

        Notes
        -----
        ``aclrtMalloc``, ``aclrtMemcpy``; blocking, like :func:`copy`.

        Examples
        --------
        >>> buffer = Buffer.from_array(np.arange(6, dtype=np.int16))
        >>> buffer.nbytes, buffer[4:].to_numpy(np.int16)
        (12, array([2, 3, 4, 5], dtype=int16))
        """
        from ascend_rt._memory.arrays import numbers_in_order

        content = ffi.from_buffer("char[]", numbers_in_order(array))
        buffer = cls(len(content))
        call("aclrtMemcpy", buffer._handle, len(content), content, len(content), lib.ACL_MEMCPY_HOST_TO_DEVICE)
        return buffer

    @overload
    def to_numpy(self, dtype: type[np.uint8] = ..., shape: Shape | None = None) -> NDArray[np.uint8]: ...

    @overload
    def to_numpy(self, dtype: KnownDType[ScalarT], shape: Shape | None = None) -> NDArray[ScalarT]: ...

    @overload
    def to_numpy(self, dtype: DTypeLike, shape: Shape | None = None) -> NDArray[Any]: ...

    def to_numpy(self, dtype: DTypeLike = "uint8", shape: Shape | None = None) -> NDArray[Any]:
        """Copy the whole buffer into a new array, and wait for the copy.

        The copy does not wait for work on streams: synchronize the stream that writes the memory first.

        Parameters
        ----------
        dtype : data type, default uint8
            The type of the elements.
        shape : int or sequence of int, optional
            The shape of the array, which must have as many bytes as the buffer; slice the buffer to copy fewer. None
            for one dimension.

        Returns
        -------
        numpy.ndarray
            A new array, which does not depend on the buffer.

        Raises
        ------
        ValueError
            The size of an array of this type and shape is not that of the buffer.
        TypeError
            The elements would be Python objects.

        Notes
        -----
        ``aclrtMemcpy``; blocking, like :func:`copy`.

        Examples
        --------
        >>> buffer = Buffer.from_array(np.arange(6, dtype=np.int16))
        >>> buffer.to_numpy(np.int16, (2, 3))
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int16)
        >>> buffer.to_numpy(np.float64, 6)
        Traceback (most recent call last):
        ValueError: float64 of shape (6,) needs 48 bytes, but the buffer has 12
        """
        from ascend_rt._memory.arrays import array_of_size

        array = array_of_size(self._nbytes, dtype, shape)
        content = ffi.from_buffer("char[]", array, require_writable=True)
        call("aclrtMemcpy", content, len(content), self._handle, len(content), lib.ACL_MEMCPY_DEVICE_TO_HOST)
        return array

    @classmethod
    def from_handle(cls, address: int, nbytes: int, *, owner: object = None) -> Buffer:
        """Borrow device memory of another owner, for instance a tensor's; this object never frees it.

        Parameters
        ----------
        address, nbytes : int
            The start of the memory, and its size in bytes.
        owner : object, optional
            Kept alive as long as the buffer and its views. If it is a buffer that contains the memory, the result is a
            view of it.

        Returns
        -------
        Buffer
            A buffer that borrows the memory, or a view of the owner.

        Raises
        ------
        ValueError
            The address is not in device memory. Neither the size nor the life of the memory is checked.

        Examples
        --------
        >>> owner = Buffer.from_array(b"borrowed")
        >>> part = Buffer.from_handle(owner.handle + 4, 4, owner=owner)
        >>> part.to_numpy().tobytes(), part.base is owner
        (b'owed', True)
        """
        attributes = pointer_attributes(address)
        location = attributes.location
        if location not in _ON_DEVICE:
            raise ValueError(f"{address:#x} is not in a device's memory; the runtime reports {location.name}")
        address, nbytes = index(address), check_size(nbytes)
        if isinstance(owner, Buffer):
            start = address - owner.handle
            if 0 <= start < start + nbytes <= owner.nbytes:
                return owner[start : start + nbytes]
            owner = (owner,)  # other memory, which does not contain this
        where = HOST if location == lib.ACL_MEM_LOCATION_TYPE_MANAGED else owner_of(attributes.device_id)
        return cls._lend(address, nbytes, owner, where)

    @staticmethod
    def _lend(address: int, nbytes: int, base: object, owner: Owner) -> Buffer:
        buffer = Buffer.__new__(Buffer)
        buffer._describe(nbytes, base)
        # Never owned, not even for a moment: discarded then, it would free the memory.
        buffer._borrow(ffi.cast("char *", address), owner)
        return buffer

    @classmethod
    def from_dlpack(cls, tensor: Any) -> Buffer:
        """Borrow the memory of a device tensor, for instance of ``torch.npu``; it lives as long as the buffer.

        Parameters
        ----------
        tensor : object with ``__dlpack__``
            It must be C-contiguous. The buffer has its bytes, whatever their type.

        Returns
        -------
        Buffer
            A buffer that borrows the tensor's memory.

        Raises
        ------
        BufferError
            The tensor is not on a device of this kind, not contiguous, or empty.
        TypeError
            It has no ``__dlpack__``.
        ValueError
            The tensor claims to be on such a device, but its memory is not.

        Notes
        -----
        The capsule names the device: ``__dlpack_device__`` is not called, and may be missing or fail.

        Examples
        --------
        >>> theirs = Buffer.from_array(b"a tensor")  # or one of torch.npu
        >>> Buffer.from_dlpack(theirs).handle == theirs.handle
        True
        """
        from ascend_rt._memory import dlpack

        pointer, nbytes, owner = dlpack.read(tensor)
        return cls.from_handle(pointer, nbytes, owner=owner)

    def __dlpack__(self, **options: Any) -> object:
        """Export the memory as a one-dimensional tensor of bytes.

        The memory is never copied, so ``copy=True`` and another ``dl_device`` are refused. ``stream`` is ignored: order
        the work with an event. The tensor keeps the buffer alive, but must not outlive its ``close()``.
        """
        from ascend_rt._memory import dlpack

        return dlpack.write(self, self.handle, self._nbytes, self.__dlpack_device__(), options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return ``(kDLExtDev, device number)``, which torch_npu uses for the NPU and the simulator for its devices."""
        from ascend_rt._memory import dlpack

        return dlpack.DEVICE_TYPE, self.device.id

    @property
    def device(self) -> Device:
        """The device that has the memory (``aclrtPointerGetAttributes``); raises ValueError for memory of the host."""
        attributes = pointer_attributes(self.handle)
        if attributes.location not in _ON_DEVICE:
            raise ValueError(
                f"the memory of this {self._what} is not on a device; the runtime reports {attributes.location.name}"
            )
        return Device(attributes.device_id)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    def __len__(self) -> int:
        return self._nbytes

    def _close(self) -> None:
        """Close memory of a derived class, which has another way to free it."""
        super().close()

    @property
    def base(self) -> Buffer | None:
        """The buffer that this one is a view of; None for a whole allocation."""
        return self._parent if isinstance(self._parent, Buffer) else None

    @property
    def offset(self) -> int:
        """The number of bytes from the start of the whole allocation to this view."""
        return 0 if self.base is None else self.handle - self.base.handle + self.base.offset

    def _destroy(self, handle: Any) -> None:
        code = self._give_back(lib.aclrtFree)
        if code:
            check(code, "aclrtFree")

    def _description(self) -> str:
        return f"{super()._description()}, {self._nbytes} bytes"


class RegisteredMemory(Resource):
    """Memory of the host that is registered with the runtime: copies from and to it are asynchronous.

    Parameters
    ----------
    array : object with the buffer protocol
        Writable and C-contiguous. It is kept alive until it is unregistered.
    mapped : bool, default False
        Let kernels access the memory too, at :attr:`device_pointer` (``ACL_HOST_REG_MAPPED``). The array must then
        consist of whole pages: its address and its size must be multiples of 4 KiB.

    Raises
    ------
    AclError
        ``mapped`` was given and the array does not consist of whole pages (507899), or a part of it is registered
        already (507910).
    NotSupported
        The product does not register host memory.

    Notes
    -----
    ``aclrtHostRegisterV2`` with ``ACL_HOST_REG_PINNED``, ``aclrtHostUnregister``; synchronous. Copies keep the array
    alive, but not registered: close the object only when no stream uses the memory any more. 950, 910B, 910C. API
    reference 11-02.

    Examples
    --------
    >>> array = np.zeros(4096, np.uint8)
    >>> with RegisteredMemory(array):
    ...     copy_async(array, Buffer.from_array(b"hello"), stream)  # does not wait
    ...     stream.synchronize()
    >>> array[:5].tobytes()
    b'hello'
    """

    __slots__ = ("_array", "_device", "_nbytes")
    _what = "registered memory"
    _needs_context = True
    _array: Any
    _device: Device

    def __init__(self, array: HostMemory, *, mapped: bool = False) -> None:
        self._begin()
        if getattr(array, "is_closed", False):
            raise ClosedError(PINNED_IS_CLOSED)
        self._array = bytes_of(array, "array", "register the array that it is a view of", writable=True)
        self._device, self._nbytes = Device.current(), len(self._array)
        flags = lib.ACL_HOST_REG_PINNED | (lib.ACL_HOST_REG_MAPPED if mapped else 0)
        there = (ffi.cast("void *", self._array),)
        self._make(HOST, there, "aclrtHostRegisterV2", self._array, self._nbytes, flags)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    @property
    def device_pointer(self) -> int:
        """The address of ``mapped`` memory for kernels (``aclrtHostGetDevicePointer``); not for copies."""
        out = ffi.new("void **")
        call("aclrtHostGetDevicePointer", self._handle, out, 0)
        return address(out[0])

    def _destroy(self, handle: Any) -> None:
        self._device._call(self._unmake, "aclrtHostUnregister")  # which needs a context; the thread may have none
        self._array = None


def _refuse_part(part: Any) -> NoReturn:
    """Raise the error for an invalid part of a buffer."""
    if not isinstance(part, slice):
        raise TypeError("device memory cannot be read from the host; copy a slice of it")
    raise ValueError(f"expected a non-empty range of bytes with step 1, got [{part.start}:{part.stop}:{part.step}]")
