# SPDX-License-Identifier: Apache-2.0
"""Cache maintenance: prefetch memory into the device's cache, or remove memory that is not needed any more.

910B, 910C and 950 have the plain operations (:func:`cmo_prefetch`, :func:`cmo`). 310B has operations with barriers, for
streams that are bound to a model. No product has both.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from ascend_rt._memory.device_memory import on_device
from ascend_rt._native.handles import given_or_current
from ascend_rt._runtime.driver import call, ffi, lib
from ascend_rt.memory import Buffer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ascend_rt.enums import CmoType
    from ascend_rt.stream import Stream

__all__ = ["cmo", "cmo_barrier", "cmo_prefetch"]

_PREFETCH = lib.ACL_RT_CMO_TYPE_PREFETCH


def cmo_prefetch(buffer: Buffer, stream: Stream | None = None) -> None:
    """Bring memory into the device's cache, in the order of a stream; a hint without an effect on the data.

    Parameters
    ----------
    buffer : Buffer
        The memory to prefetch; kept alive until the operation is done.
    stream : Stream, optional
        Default :meth:`Stream.current`.

    Raises
    ------
    NotSupported
        The product has no plain cache operations, or the stream is bound to a model.

    Notes
    -----
    ``aclrtCmoAsync``; enqueues only. The runtime takes the size modulo 4 GiB. 910B, 910C, 950. API reference 11-06.

    Examples
    --------
    >>> buffer = Buffer.from_array(b"needed next")
    >>> cmo_prefetch(buffer, stream)
    >>> stream.synchronize()
    >>> buffer.to_numpy().tobytes()  # as before
    b'needed next'
    """
    stream = given_or_current(stream)
    arguments = on_device(buffer), buffer.nbytes, _PREFETCH, stream._handle
    stream._retention.submit("aclrtCmoAsync", *arguments, uses=(buffer,))


def cmo(buffer: Buffer, operation: CmoType | int, stream: Stream | None = None, *, barrier: int | None = None) -> None:
    """Enqueue a cache operation.

    Parameters
    ----------
    buffer : Buffer
        The memory; kept alive until the stream is known to be done, or is closed. A model that runs later needs it
        longer: keep it alive until then.
    operation : CmoType
        ``PREFETCH``, ``WRITEBACK``, ``INVALID`` or ``FLUSH``. CANN documents only ``PREFETCH`` for the plain form.
    stream : Stream, optional
        The operation runs in its order; default :meth:`Stream.current`. With a barrier it must be bound to a model.
    barrier : int, optional
        Use the form with barriers. For ``INVALID``, this is the number, from 1 on, that :func:`cmo_barrier` waits for;
        for the other operations it must be 0.

    Raises
    ------
    NotSupported
        The product does not have this form.
    AclError
        The form with barriers was used, and the stream is not bound to a model (507000).

    Notes
    -----
    ``aclrtCmoAsync`` (910B, 910C, 950), ``aclrtCmoAsyncWithBarrier`` (310B); enqueue only. API reference 11-06.

    Examples
    --------
    >>> from ascend_rt.enums import CmoType
    >>> cmo(Buffer(4096), CmoType.PREFETCH, stream)
    >>> stream.synchronize()
    """
    pointer, stream = on_device(buffer), given_or_current(stream)
    function, last = ("aclrtCmoAsync", ()) if barrier is None else ("aclrtCmoAsyncWithBarrier", (barrier,))
    arguments = pointer, buffer.nbytes, index(operation), *last, stream._handle
    stream._retention.submit(function, *arguments, uses=(buffer,))


def cmo_barrier(barriers: Sequence[int], stream: Stream | None = None) -> None:
    """Let later work of a stream wait until the ``INVALID`` operations with these numbers are done.

    Parameters
    ----------
    barriers : sequence of int
        One to six numbers that were passed to :func:`cmo` before in the stream's model.
    stream : Stream, optional
        Bound to a model; default :meth:`Stream.current`.

    Raises
    ------
    ValueError
        There are no numbers, or more than six.
    NotSupported
        The product has no barriers.

    Notes
    -----
    ``aclrtCmoWaitBarrier``; enqueues only. 310B. API reference 11-06.

    Examples
    --------
    >>> try:
    ...     cmo_barrier([1], stream)
    ... except NotSupported as error:  # 310B has it
    ...     error.code
    207000
    """
    if not 1 <= len(barriers) <= lib.ACL_RT_CMO_MAX_BARRIER_NUM:
        raise ValueError(f"a barrier takes 1 to {lib.ACL_RT_CMO_MAX_BARRIER_NUM} operations, got {len(barriers)}")
    task = ffi.new("aclrtBarrierTaskInfo *")
    task.barrierNum = len(barriers)
    for info, number in zip(task.cmoInfo, barriers, strict=False):
        info.cmoType = lib.ACL_RT_CMO_TYPE_INVALID
        info.barrierId = number
    call("aclrtCmoWaitBarrier", task, given_or_current(stream)._handle, 0)
