# SPDX-License-Identifier: Apache-2.0
"""Leaks: objects that a part of a program opens and neither closes nor discards."""

from __future__ import annotations

import gc
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import ref

from ascend_rt._native import handles
from ascend_rt._runtime.locks import new_lock
from ascend_rt._runtime.resource import Resource

_lock = new_lock()
_notes: list[Callable[[Resource], None]] = []  # blocks that have begun and not ended, in any order

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_RUNNER = re.compile("/(_pytest|pluggy)/")


class Leak(AssertionError):
    """An object was left open; the message names each object and where it was created.

    Examples
    --------
    >>> from ascend_rt.testing import Leak, no_leaks
    >>> try:
    ...     with no_leaks():
    ...         left = Buffer(64)
    ... except Leak as leak:
    ...     print(str(leak).startswith("Buffer "))
    True
    >>> left.close()
    """


@contextmanager
def no_leaks(*kinds: type) -> Iterator[None]:
    """Raise :class:`Leak` at the end of a block if an object that was opened in it is still open.

    Discarded objects do not count, because the garbage collector runs first. Objects that only borrow a handle do not
    count either, nor do views and pinned arrays, which end with the last reference. Objects of other threads count.
    Blocks may be nested, and blocks of several threads may overlap.

    Parameters
    ----------
    *kinds : type
        The classes that count, for instance ``Stream, Event``; default all classes whose objects own a handle.

    Raises
    ------
    Leak
        An object is still open; the message shows where each was created.

    Examples
    --------
    >>> from ascend_rt.testing import no_leaks
    >>> with no_leaks():
    ...     with Stream() as stream, Buffer(64) as memory, PinnedBuffer(64) as source:
    ...         copy_async(memory, source, stream)
    """
    opened: list[tuple[ref[Resource], str]] = []

    def note(resource: Resource) -> None:
        if resource._is_counted and isinstance(resource, kinds or object):
            opened.append((ref(resource), _stack_of_program()))

    with _lock:
        _notes.append(note)
        handles.set_on_open(_note_in_all)
    try:
        yield
    finally:
        with _lock:
            _notes.remove(note)
            if not _notes:
                handles.set_on_open(None)
    gc.collect()
    left = [(found, stack) for reference, stack in opened if (found := reference()) is not None and found._is_open]
    if left:
        created = "".join(f"\n{resource!r} was created here:\n{stack}" for resource, stack in left)
        names = "; ".join(repr(resource).removeprefix("<ascend_rt.").removesuffix(">") for resource, _ in left)
        raise Leak(f"{names}: still open\n{created}")


def _note_in_all(resource: Resource) -> None:
    for note in tuple(_notes):
        note(resource)


def _stack_of_program() -> str:
    """Return the stack of the program, without the frames of the package and those above the test."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(_PACKAGE):
        frames.pop()
    runner = [depth for depth, frame in enumerate(frames, 1) if _RUNNER.search(frame.filename)]
    del frames[: max(runner, default=0)]
    return "".join(traceback.format_list(frames))
