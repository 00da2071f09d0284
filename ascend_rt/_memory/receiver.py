# SPDX-License-Identifier: Apache-2.0
"""Receiving messages without loss, even of one that arrives while a signal or a cancellation ends the wait."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from ascend_rt._runtime import blocking
from ascend_rt._runtime.driver import check, is_expected
from ascend_rt._runtime.timeouts import FOR_EVER
from ascend_rt.errors import EndOfSequence

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_Message = TypeVar("_Message")


class Receiver(Generic[_Message]):
    """Base of what messages are received from. A cell is the place into which C puts one."""

    __slots__ = ()
    _receives: ClassVar[str]  # the C function
    _empty: ClassVar[int]  # its code if no message arrives within the limit
    _arrived: deque[Any]  # cells with messages that have arrived for waits that were left
    _has_short_calls: bool  # because such messages may arrive, or for signals

    def _check_open(self) -> None:
        """Raise ClosedError if the object is closed."""
        raise NotImplementedError

    def _new_cell(self) -> Any:
        raise NotImplementedError

    def _take(self, cell: Any, limit: int) -> int:
        """Receive a message into a cell, and return the code."""
        raise NotImplementedError

    def _is_full(self, cell: Any) -> bool:
        """Return whether the cell has a message."""
        raise NotImplementedError

    def _content(self, cell: Any) -> _Message:
        """Return the content of a message; EndOfSequence if it is the end of a sequence."""
        raise NotImplementedError

    def _on_thread(self, attempt: Callable[[int], int]) -> Callable[[int], int]:
        """Return a function that makes an attempt on another thread."""
        return attempt

    def _receive(self, limit: int) -> _Message:
        code, message = self._attempt_to_receive(limit)
        if code:
            check(code, self._receives)
        return message

    async def _received(self) -> _Message:
        while True:
            code, message = self._attempt_to_receive(0)
            if not code:
                return message
            if not is_expected(code, self._empty):
                check(code, self._receives)
            self._has_short_calls = True  # type: ignore[misc]  # a slot of each kind
            attempt = self._on_thread(self._take_for_next)
            await blocking.attempts_async(self._receives, attempt, self._empty)

    def _attempt_to_receive(self, limit: int) -> tuple[int, _Message]:
        """Return the code, and the content of a message if it is 0."""
        cells = [self._new_cell()]
        try:
            take = partial(self._take_first, cells)
            code = blocking.attempts(take, self._empty, limit, are_short=self._has_short_calls)
            return code, cast("_Message", None) if code else self._content(cells[0])
        except EndOfSequence:
            raise
        except BaseException:  # perhaps raised by a signal handler after the message had arrived
            if self._is_full(cells[0]):
                blocking.follow("release", cells[0])
                self._arrived.appendleft(cells[0])
            raise

    def __iter__(self) -> Iterator[_Message]:
        """Iterate over the messages until the end of the sequence."""
        while True:
            try:
                message = self._receive(FOR_EVER)
            except EndOfSequence as end:
                if end.has_failed:
                    raise
                return
            yield message

    async def __aiter__(self) -> AsyncIterator[_Message]:
        """Iterate over the messages until the end of the sequence, without blocking the event loop of asyncio."""
        while True:
            try:
                message = await self._received()
            except EndOfSequence as end:
                if end.has_failed:
                    raise
                return
            yield message

    def _take_first(self, cells: list[Any], limit: int) -> int:
        """Receive a message into the only cell, or replace that by one that has arrived for a wait that was left."""
        if self._arrived:
            self._check_open()
            with suppress(IndexError):  # another thread was faster
                # One step of Python: a signal handler that raises finds the message in one place or the other.
                cells[:] = islice(iter(self._arrived.popleft, None), 1)
                blocking.follow("acquire", cells[0])
                return 0
        return self._take(cells[0], limit)

    def _take_for_next(self, limit: int) -> int:
        """Receive a message for the next that asks, because the caller may have left by then."""
        if self._arrived:  # meanwhile, for a wait that was left
            return 0
        cell = self._new_cell()
        code = self._take(cell, limit)
        if not code:
            blocking.follow("release", cell)
            self._arrived.append(cell)
        return code
