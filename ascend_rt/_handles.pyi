# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any, TypeVar

_Declared = TypeVar("_Declared", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

class Era:
    @property
    def is_over(self) -> bool: ...
    def end(self) -> None: ...
    def resume(self) -> None: ...

class Handle:
    _handle: Any
    _home: Any
    _hash: int
    _owned: bool
    @property
    def _is_closed(self) -> bool: ...
    @property
    def _is_ended(self) -> bool: ...
    @property
    def _is_open(self) -> bool: ...
    def _own(self, handle: Any, home: Any = ..., /) -> None: ...
    def _borrow(self, handle: Any, home: Any = ..., /) -> None: ...
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
    _context_address: int

class GraphHandle(Handle):
    _kept: Any

class BufferHandle(Handle):
    _nbytes: int
    _parent: Any
    def _view(self, offset: int, nbytes: int, /) -> Any: ...

class PoolHandle(Handle): ...

class PoolBufferHandle(BufferHandle):
    _stream: Any
    _context: Any

class KernelHandle:
    binary: Any
    _plan: bytes | None
    _scalars: tuple[type | None, ...] | None
    _function_address: int

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

def pinned(cls: _Class, /) -> _Class: ...
def know_scalars(sizes: dict[type, int], /) -> None: ...
def disruptions() -> int: ...
def note_homes(in_context: Any, on_device: Any, /) -> None: ...
def release(batch: Batch | None, /) -> None: ...
def release_own(batch: Batch | None, /) -> None: ...
def install_short_paths(
    declared: _Declared, define: Callable[[Any], tuple[str, tuple[str, ...], int, int, int]], /
) -> _Declared: ...
def note_chosen_stream(get: Callable[[], Any], /) -> None: ...
def note_default_stream(stream: StreamHandle, /) -> None: ...
def set_on_open(hook: Callable[[Any], None] | None, /) -> Callable[[Any], None] | None: ...

used: set[Any]

pending: set[Call]
host_function_entry: int

def is_inside() -> bool: ...
