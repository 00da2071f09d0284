# SPDX-License-Identifier: Apache-2.0
"""Device memory as DLPack tensors of bytes: structures, capsules, and the objects that they keep alive.

The layout is that of DLPack 0.x (``DLManagedTensor``), which every consumer accepts. The types are declared separately
from the runtime's, because they do not belong to its ABI.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ascend_rt import _aclrt

DEVICE_TYPE = 12  # kDLExtDev: PyTorch's type of devices with a separate backend, such as torch_npu's

_NAME = b"dltensor"
_USED_NAME = b"used_dltensor"
_UNSIGNED = 1  # kDLUInt


class _DLDevice(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = (("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter))

_api = ctypes.pythonapi
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_set_context = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _Destructor)(("PyCapsule_SetContext", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))
# The destructor gets a capsule without references, so the capsule must not be converted to a Python object.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

_exported: dict[int, tuple[object, ...]] = {}  # address of the structure -> what it needs


def _delete(tensor: Any) -> None:
    _exported.pop(ctypes.addressof(tensor.contents), None)


def _discard(capsule: int) -> None:
    if _dying_is_valid(capsule, _NAME):  # no consumer has taken it
        _exported.pop(_dying_pointer(capsule, _NAME), None)


_deleter = _Deleter(_delete)
_destructor = _Destructor(_discard)
_destructor_entry = int(_aclrt.ffi.cast("uintptr_t", _aclrt.ffi.addressof(_aclrt.lib, "ascend_rt_discard_capsule")))
for _callback in (_deleter, _destructor):  # tensors may outlive this module
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


def write(owner: object, pointer: int, nbytes: int, device: tuple[int, int], options: dict[str, Any]) -> object:
    """Return a capsule that keeps the owner alive until its consumer is done with it."""
    if options.get("copy"):
        raise BufferError("copy=True is not supported: device memory is exported in place")
    if options.get("dl_device") not in (None, device):
        raise BufferError(f"dl_device is not supported: the memory stays on {device}")
    shape = (ctypes.c_int64 * 1)(nbytes)
    tensor = _DLManagedTensor(deleter=_deleter)
    tensor.dl_tensor = _DLTensor(
        pointer, _DLDevice(*device), 1, _DLDataType(_UNSIGNED, 8, 1), ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    )
    location = ctypes.addressof(tensor)
    _exported[location] = tensor, shape, owner
    capsule = _new(location, _NAME, _destructor_entry)
    _set_context(capsule, _destructor)
    return capsule


class _Imported:
    """A consumed tensor; it is deleted with the last object that uses its memory."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __del__(self) -> None:
        if self._tensor.contents.deleter:
            self._tensor.contents.deleter(self._tensor)


def read(producer: Any) -> tuple[int, int, object]:
    """Return the address and size of a producer's device tensor, and the object that keeps it alive.

    The device comes from the capsule, not from the producer: torch's ``__dlpack_device__`` raises for tensors of a
    renamed back end, such as torch_npu's.
    """
    if not hasattr(producer, "__dlpack__"):
        raise TypeError(f"expected a tensor with __dlpack__(), got {type(producer).__name__}")
    capsule = producer.__dlpack__()
    if not _is_valid(capsule, _NAME):
        raise BufferError("__dlpack__() returned no capsule named 'dltensor', or one that was consumed already")
    taken = ctypes.cast(_pointer(capsule, _NAME), ctypes.POINTER(_DLManagedTensor))
    tensor = taken.contents.dl_tensor
    kind = tensor.device.device_type
    if kind != DEVICE_TYPE:
        raise BufferError(f"the tensor is on a device of DLPack type {kind}, not on an NPU ({DEVICE_TYPE})")
    nbytes = _nbytes_of(tensor)
    _set_name(capsule, _USED_NAME)  # from now on we must delete it
    return tensor.data + tensor.byte_offset, nbytes, _Imported(taken)


def _nbytes_of(tensor: Any) -> int:
    """Return the size in bytes of a tensor, which must be contiguous."""
    items, bits = 1, int(tensor.dtype.bits * tensor.dtype.lanes)
    for axis in reversed(range(tensor.ndim)):
        if tensor.strides and tensor.shape[axis] > 1 and tensor.strides[axis] != items:
            raise BufferError("the tensor is not C-contiguous; pass tensor.contiguous()")
        items *= int(tensor.shape[axis])
    nbytes, rest = divmod(items * bits, 8)
    if nbytes <= 0 or rest:
        raise BufferError(
            f"the tensor ({items} items of {bits} bits) is empty, or its size is not a multiple of 8 bits"
        )
    return nbytes
