# SPDX-License-Identifier: Apache-2.0
"""Random numbers from the device: uniform, normal and truncated normal numbers, and dropout masks.

910B and 910C. The generator is Philox 4x32-10: the same seed and position in its sequence give the same numbers.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._memory.device_memory import on_device
from ascend_rt._native.handles import given_or_current
from ascend_rt._runtime.driver import ffi, lib
from ascend_rt.memory import Buffer
from ascend_rt.transfer import copy_async

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ascend_rt.stream import Stream

__all__ = ["Generator"]

_WORDS_OF_BLOCK = 4
_COUNTER_BYTES = 16
_TYPES = {
    "float32": lib.ACL_FLOAT,
    "float16": lib.ACL_FLOAT16,
    "bfloat16": lib.ACL_BF16,
    "int32": lib.ACL_INT32,
    "uint32": lib.ACL_UINT32,
    "int64": lib.ACL_INT64,
    "uint64": lib.ACL_UINT64,
}


class Generator:
    """Writes random numbers into device memory, in the order of a stream.

    Parameters
    ----------
    seed : int
        0 to 2 ** 64 - 1.
    stream : Stream, optional
        The numbers are generated in its order; default :meth:`Stream.current` when the generator is created.
    block : int, default 0
        The position in the sequence of the seed at which to begin; a block is four words of 32 bits.

    Attributes
    ----------
    block : int
        The position at which the next call begins. Each call continues after the one before; a number takes one word,
        or two if it has 64 bits.

    Examples
    --------
    >>> from ascend_rt.random import Generator
    >>> first, again = Buffer(4096), Buffer(4096)
    >>> for buffer in (first, again):
    ...     Generator(42, stream).normal(buffer, 0.0, 1.0)
    >>> stream.synchronize()
    >>> bool((first.to_numpy(np.float32) == again.to_numpy(np.float32)).all())
    True
    """

    def __init__(self, seed: int, stream: Stream | None = None, *, block: int = 0) -> None:
        if not 0 <= index(seed) < 1 << 64:
            raise ValueError(f"the seed must be 0 to 2**64 - 1, got {seed}")
        self.block = block
        self._seed = index(seed).to_bytes(8, "little")
        self._stream = given_or_current(stream)
        self._counter = Buffer(_COUNTER_BYTES)

    def uniform(self, out: Buffer, low: float, high: float, dtype: DTypeLike | str = "float32") -> None:
        """Fill memory with uniformly distributed numbers from ``low`` up to, but not including, ``high``.

        Rounding may turn a floating-point number into ``high``.

        Parameters
        ----------
        out : Buffer
            The memory to fill.
        low, high : float or int
            The limits.
        dtype : data type or "bfloat16"
            float16, float32, int32, int64, uint32, uint64 or bfloat16.

        Raises
        ------
        NotSupported
            The product does not generate random numbers.

        Notes
        -----
        ``aclrtRandomNumAsync``; enqueues only. 910B, 910C. API reference 12.
        """
        self._fill(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, out, (low, high), dtype)

    def normal(self, out: Buffer, mean: float, deviation: float, dtype: DTypeLike | str = "float32") -> None:
        """Fill memory with normally distributed floating-point numbers.

        Parameters
        ----------
        out : Buffer
            The memory to fill.
        mean, deviation : float
            Mean and standard deviation.
        dtype : data type or "bfloat16"
            float16, float32 or bfloat16.

        Raises
        ------
        NotSupported
            The product does not generate random numbers.
        ValueError
            The size of the buffer is not a multiple of that of the type, or there is no such type.

        Notes
        -----
        ``aclrtRandomNumAsync``; enqueues only. 910B, 910C. API reference 12.
        """
        self._fill(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, out, (mean, deviation), dtype)

    def truncated_normal(self, out: Buffer, mean: float, deviation: float, dtype: DTypeLike | str = "float32") -> None:
        """Fill memory with normally distributed floating-point numbers near the mean.

        The simulator generates numbers within two standard deviations of the mean.

        Parameters
        ----------
        out, mean, deviation, dtype
            As for :meth:`normal`.

        Raises
        ------
        NotSupported, ValueError
            As for :meth:`normal`.

        Notes
        -----
        ``aclrtRandomNumAsync``; enqueues only. 910B, 910C. API reference 12.
        """
        self._fill(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS, out, (mean, deviation), dtype)

    def dropout_mask(self, out: Buffer, ratio: float, dtype: DTypeLike | str = "float32") -> None:
        """Fill memory with one bit for each element: 0 drops the element, 1 keeps it.

        Parameters
        ----------
        out : Buffer
            The memory to fill; each byte has the bits of 8 elements.
        ratio : float
            The fraction of bits that are 0.
        dtype : data type or "bfloat16"
            The type in which the ratio is passed: float16, float32 or bfloat16.

        Raises
        ------
        NotSupported
            The product does not generate random numbers.

        Notes
        -----
        ``aclrtRandomNumAsync``; enqueues only. 910B, 910C. API reference 12.
        """
        kind = lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK
        self._draw(kind, out, (ratio, 0), _name_of(dtype), 8 * out.nbytes, 8 * out.nbytes)

    def _fill(self, function: int, out: Buffer, parameters: tuple[float, float], dtype: DTypeLike | str) -> None:
        name = _name_of(dtype)
        size = len(_stored(0, name))
        count, rest = divmod(out.nbytes, size)
        if rest:
            raise ValueError(f"size {out.nbytes} is not a multiple of the item size {size} of {name}")
        self._draw(function, out, parameters, name, count, count * max(1, size // 4))

    def _draw(
        self, function: int, out: Buffer, parameters: tuple[float, float], name: str, count: int, words: int
    ) -> None:
        task = ffi.new("aclrtRandomNumTaskInfo *")
        task.dataType = _TYPES[name]
        task.randomNumFuncParaInfo.funcType = function
        info = task.randomNumFuncParaInfo.paramInfo.uniformDisInfo  # the others have the same members
        info.min, info.max = (_value(_stored(it, name)) for it in parameters)
        task.randomResultAddr = on_device(out)
        task.randomCounterAddr = on_device(self._counter)
        task.randomSeed = _value(self._seed)
        task.randomNum = _value(count.to_bytes(8, "little"))
        copy_async(self._counter, index(self.block).to_bytes(_COUNTER_BYTES, "little"), self._stream, snapshot=True)
        arguments = task, self._stream._handle, ffi.NULL
        self._stream._retention.submit("aclrtRandomNumAsync", *arguments, uses=(out, self._counter))
        self.block = (self.block + -(-words // _WORDS_OF_BLOCK)) % (1 << 8 * _COUNTER_BYTES)


def _name_of(dtype: DTypeLike | str) -> str:
    name = dtype if dtype == "bfloat16" else np.dtype(dtype).name
    if name not in _TYPES:
        raise ValueError(f"the type {name} is not one of {', '.join(_TYPES)}")
    return str(name)


def _stored(number: float, name: str) -> bytes:
    """Return a number as its data type stores it."""
    if name != "bfloat16":
        return np.array(number, name).tobytes()
    bits = int(np.float32(number).view(np.uint32))
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).to_bytes(4, "little")[:2]


def _value(data: bytes) -> dict[str, Any]:
    return {"isAddr": 0, "size": len(data), "valueOrAddr": data.ljust(8, b"\0")}
