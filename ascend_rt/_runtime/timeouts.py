# SPDX-License-Identifier: Apache-2.0
"""Time limits: seconds in Python, whole units of one kind or another in C, always rounded up."""

from __future__ import annotations

from math import ceil, fsum

FOR_EVER = -1
_LARGEST_INT32 = 2**31 - 1
_LARGEST_INT64 = 2**63 - 1


def milliseconds(timeout: float | None) -> int:
    """Return the limit of a wait of the host, at least 1; :data:`FOR_EVER` without one, and from 24 days on."""
    if timeout is None:
        return FOR_EVER
    return _units(timeout, 1000, _LARGEST_INT32, FOR_EVER) or 1  # the runtime refuses 0


def limit_of(timeout: float | None) -> int:
    """Return the limit of a call that can also look without waiting, for 0, in milliseconds."""
    return FOR_EVER if timeout is None else _units(timeout, 1000, _LARGEST_INT32, FOR_EVER)


def whole_seconds(timeout: float) -> int:
    """Return the limit of a wait of a stream, where 0 is none.

    Raises
    ------
    ValueError
        The limit is 0: a stream cannot look without waiting.
    """
    if timeout == 0:
        raise ValueError("the timeout must be greater than 0 seconds; math.inf waits without a limit")
    return _units(timeout, 1, _LARGEST_INT32, 0)


def microseconds(timeout: float) -> int:
    """Return the limit of an execution on the device, where 0 is none."""
    if timeout == 0:
        raise ValueError("the time limit must be greater than 0 seconds; math.inf removes it")
    return _units(timeout, 1_000_000, _LARGEST_INT64, 0)


def _units(timeout: float, per_second: int, most: int, unlimited: int) -> int:
    if not isinstance(timeout, int):
        try:
            timeout = fsum((timeout,))  # a float of Python: small numbers of numpy overflow when they are multiplied
        except TypeError:
            raise TypeError(f"expected a timeout in seconds, or None, got {type(timeout).__name__}") from None
    if not timeout >= 0:  # so that NaN is refused too
        raise ValueError(f"the timeout must be 0 or more seconds, got {timeout}")
    in_units = timeout * per_second
    return unlimited if in_units > most else ceil(in_units)
