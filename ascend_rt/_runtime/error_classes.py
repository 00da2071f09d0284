# SPDX-License-Identifier: Apache-2.0
"""Classes of exceptions by the codes of the runtime."""

from __future__ import annotations

from ascend_rt.errors import (
    AclError,
    DeviceLost,
    InvalidArgument,
    InvalidHandle,
    NoContext,
    NotSupported,
    OutOfMemory,
    ResourceExhausted,
    StreamAborted,
    TaskFailed,
    Timeout,
)

TYPE_CHECKING = False  # importing typing takes longer than the first use of the simulator
if TYPE_CHECKING:
    from ascend_rt._runtime.failures import FailedTask

WHOLE_DEVICE = 0xFFFFFFFF  # in place of the number of a task

_CLASSES: dict[type[AclError], tuple[int, ...]] = {
    InvalidArgument: (100000, 100003, 100006, 107000, 107001, 107006, 107016, 107018),
    InvalidHandle: (107017,),
    NoContext: (107002, 107003),
    NotSupported: (200001, 200006, 207000),
    OutOfMemory: (200000, 207001, 207018),
    ResourceExhausted: (207005, 207007, 207008, 207009, 207010, 207012),
    Timeout: (107019, 107020, 207013, 207014, 207020, 507012, 507046, 507047),
    StreamAborted: (107022, 107023),
    TaskFailed: (
        *(207003, 207016, 207017),  # overflows
        *(507011, 507013),  # model, copy
        *range(507014, 507019),  # kernels
        *range(507034, 507037),
        *range(507042, 507046),
        *range(507048, 507051),
        *(507915, 507916),
    ),
    DeviceLost: (507010, 507901),
}
_CLASS_OF = {code: cls for cls, codes in _CLASSES.items() for code in codes}

causes: dict[tuple[int, int, int, str], tuple[int, BaseException]] = {}
"""Exceptions of kernels in Python: device, stream, task and kernel -> number of the launch, and the exception."""


def error_for(code: int, function: str, message: str = "", task: FailedTask | None = None) -> AclError:
    """Return the exception for a failed call, with the failed task if the call reports one."""
    otherwise = AclError if task is None else DeviceLost if task.task == WHOLE_DEVICE else TaskFailed
    error = _CLASS_OF.get(code, otherwise)(code, function, message, task)
    if task is not None and (cause := causes.get((task.device, task.stream, task.task, task.kernel))) is not None:
        error.__cause__ = cause[1]
    return error
