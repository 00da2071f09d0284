# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., None])
_Class = TypeVar("_Class", bound=type)

class Handle:
    _handle: Any
    _home: Any
    _hash: int
    _owned: bool
    @property
    def _is_closed(self) -> bool: ...
    def _own(self, handle: Any, home: Any = ..., /) -> None: ...
    def _open(self, handle: Any, /) -> None: ...
    def _take_handle(self) -> Any | None: ...

class EventHandle(Handle):
    _before: Any
    _work: Any
    _is_shared: bool
    _has_time: bool
    def _newest_record(self) -> tuple[Batch, int] | None: ...
    def _is_newest(self, number: int, /) -> bool: ...
    def _begin_record(self, recorder: InFlight, /) -> None: ...
    def _end_record(self, recorder: InFlight, ended: Batch | None, /) -> None: ...

class StreamHandle(Handle):
    _in_flight: Any

class GraphHandle(Handle):
    _kept: Any

class BufferHandle(Handle):
    _nbytes: int
    _parent: Any
    _views: Any

class Batch:
    objects: list[tuple[object, ...]]
    previous: Batch | None
    device: int

class InFlight:
    work: Any
    stream: int
    device: int
    @property
    def open(self) -> Batch: ...
    def append(self, objects: tuple[object, ...], /) -> None: ...
    def end_batch(self) -> Batch | None: ...

class Call:
    def __init__(
        self, stream: int, function: Callable[..., object], arguments: tuple[Any, ...], keywords: dict[str, Any], /
    ) -> None: ...
    stream: int
    is_launched: bool
    @property
    def address(self) -> int: ...

class Work:
    seen: int
    must_ask: bool

def short_copy_async(function: _Function, /) -> _Function: ...
def short_fill_async(function: _Function, /) -> _Function: ...
def pinned(cls: _Class, /) -> _Class: ...
def begin_abort() -> None: ...
def end_abort() -> None: ...
def disruptions() -> int: ...
def release(batch: Batch | None, /) -> None: ...
def install_short_paths(cls: _Class, /) -> _Class: ...
def set_on_open(hook: Callable[[Any], None] | None, /) -> Callable[[Any], None] | None: ...

used: set[Any]

pending: set[Call]
host_function_entry: int

def is_inside() -> bool: ...
