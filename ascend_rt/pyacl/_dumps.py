# SPDX-License-Identifier: Apache-2.0
"""Functions of ``acl.mdl`` for dumps: the path that may be left out, and the callback."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from ascend_rt._runtime.driver import address, ffi, lib, provide
from ascend_rt.pyacl._raw import call, text

_callback: Any = None  # kept alive as long as the runtime may call it
_REFUSED = -1


def set_dump(dump_cfg_path: str) -> int:
    return call("aclmdlSetDump", dump_cfg_path.encode() if dump_cfg_path else ffi.NULL)


def dump_reg_callback(fn: Callable[[dict[str, Any]], object], flag: int) -> int:
    global _callback

    def receive(chunk: Any, size: int) -> int:
        fn(
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

    provide("acldumpRegCallback")
    made = ffi.callback(ffi.typeof(lib.acldumpRegCallback).args[0], receive, error=_REFUSED)
    code = call("acldumpRegCallback", made, flag)
    if code == 0:
        if _callback is None:
            atexit.register(dump_unreg_callback)  # no callback enters an interpreter that ends
        _callback = made
    return code


def dump_unreg_callback() -> None:
    global _callback
    if _callback is not None:
        atexit.unregister(dump_unreg_callback)
    lib.acldumpUnregCallback()
    _callback = None
