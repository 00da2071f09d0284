# SPDX-License-Identifier: Apache-2.0
"""``acl.util.start_thread`` and ``stop_thread``: threads for ``acl.rt.process_report``.

They are Python threads. Their ``ident`` is the number that ``acl.rt.subscribe_report`` takes. A thread that was not
stopped does not delay the exit of the program. The handler of SIGINT is not changed.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from typing import Any


class _Thread(threading.Thread):
    def __init__(self, function: Callable[..., object], arguments: list[Any] | None) -> None:
        super().__init__(name="acl.util.start_thread", daemon=True)
        self._call = function, () if arguments is None else (arguments,)
        self.error: BaseException | None = None

    def run(self) -> None:
        function, arguments = self._call
        del self._call
        try:
            function(*arguments)
        except BaseException as error:
            self.error = error
            raise  # to be shown by threading.excepthook


_threads: dict[int, _Thread] = {}  # by ident, until stop_thread


def start_thread(fn: Callable[..., object], args: list[Any] | None) -> tuple[int, int]:
    if not callable(fn):
        raise TypeError("the first argument is not callable")
    thread = _Thread(fn, args)
    try:
        thread.start()
    except RuntimeError:  # there can be no more threads
        return 0, errno.EAGAIN
    ident = thread.ident or 0
    _threads[ident] = thread
    return ident, 0


def stop_thread(thread_id: int) -> int:
    if thread_id == threading.get_ident():
        return errno.EDEADLK
    thread = _threads.pop(thread_id, None)
    if thread is None:
        return errno.ESRCH
    thread.join()
    if thread.error is not None:
        error, thread.error = thread.error, None
        raise RuntimeError(f"exception={type(error).__name__},msg=thread call failed;") from error
    return 0
