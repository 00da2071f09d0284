# SPDX-License-Identifier: Apache-2.0
"""Replacing the kernels of torch_npu."""

from __future__ import annotations

import ctypes
import warnings

import torch
import torch_npu

from ascend_rt._kernels.device_object import device_object
from ascend_rt._runtime import driver
from ascend_rt._runtime.settings import simulator_looks_for_races
from ascend_rt.errors import LibraryError
from ascend_rt.torch import (
    _device_operators,
    _failures,
    _library,
    _operators,
    _places,
    _refusals,
    _registration,
    _sleep,
    _waits,
    decompositions,
)

_TEXT_BYTES = 1 << 16
_Callback = ctypes.CFUNCTYPE(None)
_callbacks: list[ctypes._FuncPointer] = []  # kept while the library may call them
_REGISTERED = {name: torch.library.Library(name, "IMPL") for name in ("npu", "atb")}  # they last as long as this


def install() -> None:
    """Register a kernel for every operator in the table."""
    library = _library.load()
    kinds = [each for each in _operators.kinds() if each[0] != "formula"]
    table = "\n".join(f"{kind} {name}" for kind, name in kinds)
    kernels = device_object(sorted({name for kind, name in kinds if kind in _operators.AS_TASKS}))
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    install = library.ascend_rt_torch_install
    install.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    if install(table.encode(), kernels, len(kernels), text, _TEXT_BYTES):
        raise LibraryError(f"torch refused the kernels: {text.value.decode(errors='replace')}")
    _install_formulas()
    _sleep.install()
    _failures.watch(library)
    _waits.install()
    _refusals.install()
    if simulator_looks_for_races():
        _watch_pinned_memory(library)
    torch_npu.npu._lazy_call(lambda: _places.install(library))
    torch_npu.npu._lazy_call(library.ascend_rt_torch_watch)  # its allocators begin with the first use of a device


def _watch_pinned_memory(library: ctypes.CDLL) -> None:
    """Let reports name pinned tensors of which the program makes some before it uses a device."""

    def begin() -> None:
        driver.library()
        _places.install(library)

    _callbacks.append(_Callback(begin))
    library.ascend_rt_torch_watch_pinned(_callbacks[-1])


def _install_formulas() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they replace torch_npu's, which is the purpose here
        _device_operators.install()
        for full_name, function in decompositions.TABLE.items():
            namespace, _, name = full_name.partition("::")
            for key in ("PrivateUse1", "AutogradPrivateUse1"):
                _registration.replace(_REGISTERED[namespace], name, function, key)
