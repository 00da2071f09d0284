# SPDX-License-Identifier: Apache-2.0
"""Functions of ``acl.mdl`` for dumps: the path that may be left out, and the callback."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from ascend_rt._runtime.driver import address, ffi, lib, provide
from ascend_rt.pyacl._raw import call, text

_REFUSED = -1
_entry: Any = None  # the C function, made once: no other thread calls one that is gone
_receiver: Callable[[dict[str, Any]], object] | None = None


def set_dump(dump_cfg_path: str) -> int:
    return call("aclmdlSetDump", dump_cfg_path.encode() if dump_cfg_path else ffi.NULL)


def _receive(chunk: Any, size: int) -> int:
    receiver = _receiver
    if receiver is None:  # it was unregistered meanwhile
        return _REFUSED
    receiver(
        {
            "file_name": text(chunk.fileName),
            "data_buf": address(chunk.dataBuf),
            "buf_len": int(chunk.bufLen),
            "is_last_chunk": int(chunk.isLastChunk),
            "offset": int(chunk.offset) % 2**64,
            "flag": int(chunk.flag),
        }
    )
    return 0


def dump_reg_callback(fn: Callable[[dict[str, Any]], object], flag: int) -> int:
    global _entry, _receiver
    provide("acldumpRegCallback")
    if _entry is None:
        _entry = ffi.callback(ffi.typeof(lib.acldumpRegCallback).args[0], _receive, error=_REFUSED)
        atexit.register(dump_unreg_callback)  # no callback enters an interpreter that ends
    before, _receiver = _receiver, fn  # first: a kernel may fail at once
    code = call("acldumpRegCallback", _entry, flag)
    if code != 0:
        _receiver = before
    return code


def dump_unreg_callback() -> None:
    global _receiver
    lib.acldumpUnregCallback()
    _receiver = None
