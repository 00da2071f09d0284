# SPDX-License-Identifier: Apache-2.0
"""Memory for media data. Programs use it for all data; pictures and videos need the vendor's ``acl``."""

from __future__ import annotations

from ascend_rt._runtime.driver import address, ffi, lib
from ascend_rt.pyacl._raw import call


def dvpp_malloc(size: int) -> tuple[int, int]:
    out = ffi.new("void **")
    code = call("aclrtMalloc", out, size, lib.ACL_MEM_MALLOC_HUGE_FIRST)
    return address(out[0]), code
