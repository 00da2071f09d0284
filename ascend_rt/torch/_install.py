# SPDX-License-Identifier: Apache-2.0
"""Replacing the kernels of torch_npu."""

from __future__ import annotations

import ctypes
import warnings

import torch
import torch_npu

from ascend_rt._kernels.device_object import device_object
from ascend_rt.errors import LibraryError
from ascend_rt.torch import _failures, _library, _operators, _sleep, decompositions

_TEXT_BYTES = 1 << 16
_REGISTERED = torch.library.Library("npu", "IMPL")  # the registrations last as long as this


def install() -> None:
    """Register a kernel for every operator in the table."""
    library = _library.load()
    kinds = [each for each in _operators.kinds() if each[0] != "formula"]
    table = "\n".join(f"{kind} {name}" for kind, name in kinds)
    kernels = device_object([name for kind, name in kinds if kind in _operators.AS_TASKS])
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    install = library.ascend_rt_torch_install
    install.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    if install(table.encode(), kernels, len(kernels), text, _TEXT_BYTES):
        raise LibraryError(f"torch refused the kernels: {text.value.decode(errors='replace')}")
    _install_decompositions()
    _sleep.install()
    _failures.watch(library)
    torch_npu.npu._lazy_call(library.ascend_rt_torch_watch)  # its allocators begin with the first use of a device


def _install_decompositions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they replace torch_npu's, which is the purpose here
        for name, function in decompositions.TABLE.items():
            for key in ("PrivateUse1", "AutogradPrivateUse1"):
                _REGISTERED.impl(name.removeprefix("npu::"), function, key, allow_override=True)
