"""Ranks in Python, without PyTorch and without a binding: rank 0 passes the root information to rank 1 by a pipe."""

import ctypes
import os
import sys

RANKS, COUNT = 2, 1024
FLOAT, SUM, TO_DEVICE, TO_HOST = 4, 0, 1, 2


class RootInfo(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 4108)]


acl, hccl = ctypes.CDLL("libascendcl.so"), ctypes.CDLL("libhccl.so")
pointer, size, number = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
hccl.HcclGetErrorString.restype = ctypes.c_char_p
hccl.HcclGetRootInfo.argtypes = [ctypes.POINTER(RootInfo)]
hccl.HcclCommInitRootInfo.argtypes = [number, ctypes.POINTER(RootInfo), number, ctypes.POINTER(pointer)]
hccl.HcclAllReduce.argtypes = [pointer, pointer, size, ctypes.c_int, ctypes.c_int, pointer, pointer]
hccl.HcclBroadcast.argtypes = [pointer, size, ctypes.c_int, number, pointer, pointer]
hccl.HcclCommDestroy.argtypes = [pointer]


def must(library, name, *arguments):
    code = getattr(library, name)(*arguments)
    if code:
        text = hccl.HcclGetErrorString(code) if library is hccl else b""
        raise SystemExit(f"{name}: {code} {text.decode()}")


def exchange(rank, ends):
    """Return the root information."""
    root = RootInfo()
    if rank == 0:
        must(hccl, "HcclGetRootInfo", root)
        os.write(ends[1], bytes(root))
    else:
        ctypes.memmove(ctypes.byref(root), os.read(ends[0], ctypes.sizeof(root)), ctypes.sizeof(root))
    return root


def reduce_and_broadcast(rank, ends):
    """Return what rank 1 has broadcast of the sum over all ranks."""
    nbytes = 4 * COUNT
    memory, stream, comm = pointer(), pointer(), pointer()
    values = (ctypes.c_float * COUNT)(*(rank + i for i in range(COUNT)))
    must(acl, "aclInit", None)
    must(acl, "aclrtSetDevice", rank)
    must(acl, "aclrtCreateStream", ctypes.byref(stream))
    must(acl, "aclrtMalloc", ctypes.byref(memory), size(nbytes), 0)
    must(hccl, "HcclCommInitRootInfo", RANKS, exchange(rank, ends), rank, comm)
    must(acl, "aclrtMemcpy", memory, size(nbytes), values, size(nbytes), TO_DEVICE)
    must(hccl, "HcclAllReduce", memory, memory, COUNT, FLOAT, SUM, comm, stream)
    if rank == 0:  # the broadcast brings it back
        must(acl, "aclrtMemsetAsync", memory, size(nbytes), 0, size(nbytes), stream)
    must(hccl, "HcclBroadcast", memory, COUNT, FLOAT, 1, comm, stream)
    must(acl, "aclrtSynchronizeStream", stream)
    must(acl, "aclrtMemcpy", values, size(nbytes), memory, size(nbytes), TO_HOST)
    must(hccl, "HcclCommDestroy", comm)
    must(acl, "aclFinalize")
    return list(values)


ends = os.pipe()
child = os.fork()
assert reduce_and_broadcast(1 if child == 0 else 0, ends) == [1 + 2 * i for i in range(COUNT)]
if child == 0:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
devices = number()
must(acl, "aclInit", None)
must(acl, "aclrtGetDeviceCount", ctypes.byref(devices))
print(f"{devices.value} devices, {4 * COUNT} bytes came back")
