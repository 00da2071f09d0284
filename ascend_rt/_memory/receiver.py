# SPDX-License-Identifier: Apache-2.0
"""Receiving messages without loss, even of one that arrives while a signal or a cancellation ends the wait."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

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

    async def _received(self) -> _Message:
        while True:
            arrival = Arrival(self)
            try:
                code = arrival.attempt(0)
                if not code:
                    return arrival.content()
            except BaseException as error:
                arrival.put_back(error)
                raise
            if not is_expected(code, self._empty):
                check(code, self._receives)
            self._has_short_calls = True  # type: ignore[misc]  # a slot of each kind
            attempt = self._on_thread(self._take_for_next)
            await blocking.attempts_async(self._receives, attempt, self._empty)

    def __iter__(self) -> Iterator[_Message]:
        """Iterate over the messages until the end of the sequence."""
        while True:
            arrival = Arrival(self)
            try:
                message = arrival.take(FOR_EVER)
            except EndOfSequence as end:
                if end.has_failed:
                    raise
                return
            except BaseException as error:
                arrival.put_back(error)
                raise
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


class Arrival(Generic[_Message]):
    """A message on its way to the caller of a method.

    The method that returns it to the program must put it back after an exception: Python 3.10 also runs signal handlers
    when a function has returned, where one that raises would lose the message that it has returned.
    """

    __slots__ = ("_cells", "_receiver")

    def __init__(self, receiver: Receiver[_Message]) -> None:
        self._receiver = receiver
        self._cells = [receiver._new_cell()]

    def take(self, limit: int) -> _Message:
        """Wait for the message, and return its content."""
        code = self.attempt(limit)
        if code:
            check(code, self._receiver._receives)
        return self.content()

    def attempt(self, limit: int) -> int:
        """Wait for the message; return the code, 0 if it has arrived."""
        receiver = self._receiver
        return blocking.attempts(self._take_first, receiver._empty, limit, are_short=receiver._has_short_calls)

    def content(self) -> _Message:
        """Return the content of the message; raise EndOfSequence if it is the end of a sequence."""
        return self._receiver._content(self._cells[0])

    def put_back(self, error: BaseException) -> None:
        """Let the next caller have the message if it has arrived, unless the error is what it means."""
        cell = self._cells[0]
        if not isinstance(error, EndOfSequence) and self._receiver._is_full(cell):
            blocking.follow("release", cell)
            self._receiver._arrived.appendleft(cell)

    def _take_first(self, limit: int) -> int:
        """Receive a message into the only cell, or replace that by one that has arrived for a wait that was left."""
        receiver, cells = self._receiver, self._cells
        if receiver._arrived:
            receiver._check_open()
            with suppress(IndexError):  # another thread was faster
                # One step of Python: a signal handler that raises finds the message in one place or the other.
                cells[:] = islice(iter(receiver._arrived.popleft, None), 1)
                blocking.follow("acquire", cells[0])
                return 0
        return receiver._take(cells[0], limit)
