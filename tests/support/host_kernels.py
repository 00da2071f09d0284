# SPDX-License-Identifier: Apache-2.0
"""Kernels of this host in C, operands for one of them, and what tests of them ask."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ascend_rt import Binary, Buffer, Stream, copy, fill

INVALID_FUNCTION = 107044
AICPU_EXCEPTION = 507018
COUNT = 1000

SOURCE = """
typedef struct { const float *x, *y; float *sum; uint32_t count; } Arguments;
ACLSIM_KERNEL(add_custom) {
    const Arguments *a = (const Arguments *)arguments;
    for (uint32_t i = block_index; i < a->count; i += block_count) a->sum[i] = a->x[i] + a->y[i];
}
ACLSIM_PARAMETERS(add_custom, 8, 8, 8, 4)

/* Each block is done when all have begun, or gives up. */
typedef struct { uint32_t begun, met; } Meeting;
ACLSIM_KERNEL(meet) {
    Meeting *meeting = *(Meeting **)arguments;
    __atomic_add_fetch(&meeting->begun, 1, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < 20000000000; ++i) {
        if (__atomic_load_n(&meeting->begun, __ATOMIC_SEQ_CST) == block_count) {
            __atomic_add_fetch(&meeting->met, 1, __ATOMIC_SEQ_CST);
            return;
        }
    }
}

typedef struct { uint32_t *count; } CountArguments;
ACLSIM_KERNEL(count_blocks) { __atomic_add_fetch(((CountArguments *)arguments)->count, 1, __ATOMIC_SEQ_CST); }

typedef struct { uint64_t *out; } WorkspaceArguments;
ACLSIM_KERNEL(note_workspace) {
    ((WorkspaceArguments *)arguments)->out[block_index] = (uint64_t)workspace;
    ((uint8_t *)workspace)[4095] = 1;
}
ACLSIM_WORKSPACE(note_workspace, 4096)

/* The placeholder at 8 is the address of the numbers behind it. */
typedef struct { uint32_t *sum; const uint32_t *numbers; } HolderArguments;
ACLSIM_KERNEL(sum_numbers) {
    const HolderArguments *a = (const HolderArguments *)arguments;
    *a->sum = a->numbers[0] + a->numbers[1];
}
ACLSIM_BEGIN ACLSIM_EXPORT uint32_t shared_number = 41; ACLSIM_END
ACLSIM_KERNEL(next_number) { **(uint32_t **)arguments = ++shared_number; }
"""


class Sum:
    """Operands of ``add_custom``, and what comes out."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self.x, self.y = np.arange(COUNT, dtype=np.float32), np.ones(COUNT, np.float32)
        self.buffers = [Buffer(4 * COUNT) for _ in range(3)]
        copy(self.buffers[0], self.x)
        copy(self.buffers[1], self.y)
        fill(self.buffers[2], 0)

    def block(self) -> Any:
        """Return the block of arguments."""
        return self._ffi.new("char[]", struct.pack("<QQQI", *(each.handle for each in self.buffers), COUNT))

    def check(self, stream: Stream) -> None:
        stream.synchronize()
        out = np.empty(COUNT, np.float32)
        copy(out, self.buffers[2])
        assert (out == self.x + self.y).all()


def function_of(ffi: Any, binary: Binary, name: str) -> Any:
    return ffi.cast("aclrtFuncHandle", binary[name].handle)


def words(buffer: Buffer, dtype: Any = np.uint32) -> np.ndarray[Any, Any]:
    out = np.empty(buffer.nbytes // np.dtype(dtype).itemsize, dtype)
    copy(out, buffer)
    return out
