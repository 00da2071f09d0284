# SPDX-License-Identifier: Apache-2.0
"""Streams and events of other packages, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, SupportsIndex

if TYPE_CHECKING:
    from typing import TypeAlias

    from ascend_rt.stream import Stream


class StreamWithProtocol(Protocol):
    """A stream that exports its handle."""

    def __ascend_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, 0, and the handle."""


class NpuStream(Protocol):
    """A stream of torch_npu, and what looks like one."""

    @property
    def npu_stream(self) -> SupportsIndex:
        """The handle."""


class ForeignEvent(Protocol):
    """An event of torch_npu, and what looks like one."""

    @property
    def npu_event(self) -> SupportsIndex:
        """The handle."""


if TYPE_CHECKING:
    ForeignStream: TypeAlias = StreamWithProtocol | NpuStream
    AnyStream: TypeAlias = Stream | ForeignStream
