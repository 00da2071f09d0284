# SPDX-License-Identifier: Apache-2.0
"""Functions that run in separate threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def in_threads(*functions: Callable[[], Any]) -> list[Any]:
    """Run each function in a separate thread, all at once; return their results, or raise the first exception."""
    outcomes: list[Future[Any]] = [Future() for _ in functions]

    def run(function: Callable[[], Any], outcome: Future[Any]) -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(functions, outcomes, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcome.result() for outcome in outcomes]


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a new thread, which has no context; return its result, or raise its exception."""
    return in_threads(function)[0]
