# SPDX-License-Identifier: Apache-2.0
"""Names of options of torch's allocators, some of which torch for CUDA and torch_npu both register from 2.12 on.

The second registration of a name raises while a library is being loaded, which ends the process. So the names that
torch has registered for CUDA are forgotten before torch_npu is loaded; the allocator for CUDA is not used here.
"""

from __future__ import annotations

import ctypes
import os
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ascend_rt._startup import torch_build

# The set in c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys(), which is inlined before 2.13, and the
# set in c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig::getKeys().
_REGISTERED = "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev"
_INLINED = f"_Z{_REGISTERED[1:]}E4keys"
_OF_CUDA = "_ZZN3c104cuda20CUDACachingAllocator19CUDAAllocatorConfig7getKeysB5cxx11EvE4keys"
_SOURCE = Path(__file__).with_name("forget_options.cpp")
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def forget() -> None:
    """Make torch_npu's registration the first; to be called before torch_npu is loaded.

    Raises
    ------
    LibraryError
        There is no compiler, or it fails.
    """
    libraries = Path(str(_torch_without_torch_npu().__file__)).with_name("lib")
    if not (libraries / "libc10_cuda.so").exists():
        return
    registered = _registered(ctypes.CDLL(str(libraries / "libc10.so")))
    of_cuda = _address_in(ctypes.CDLL(str(libraries / "libc10_cuda.so")), _OF_CUDA)
    if registered is None or of_cuda is None:  # before torch 2.12
        return
    library = ctypes.CDLL(str(torch_build.library("options", [_SOURCE], _build)))
    library.ascend_rt_forget_options(ctypes.c_void_p(registered), ctypes.c_void_p(of_cuda))


def _registered(c10: ctypes.CDLL) -> int | None:
    function = getattr(c10, _REGISTERED, None)
    if function is None:
        return _address_in(c10, _INLINED)
    function.restype = ctypes.c_void_p
    address: int = function()
    return address


def _address_in(library: ctypes.CDLL, variable: str) -> int | None:
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, variable))
    except ValueError:
        return None


def _torch_without_torch_npu() -> ModuleType:
    """Import torch, which would import torch_npu at its end."""
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        return import_module("torch")
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before


def _build(directory: Path) -> Path:
    path = directory / "options.so"
    torch_build.run([*torch_build.compiler(), "-O1", "-shared", "-fPIC", "-o", str(path), str(_SOURCE)])
    return path
