# SPDX-License-Identifier: Apache-2.0
"""``copy_2d``: rows of matrices, pitches, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.memory import content, device_memory, form_of, pinned_memory, wait_for

from ascend_rt import (
    Buffer,
    Device,
    Stream,
    copy_2d,
    copy_2d_async,
    fill,
)
from ascend_rt.errors import InvalidArgument, NotSupported


def test_columns_of_a_matrix_to_the_device_and_back(stream_or_none: Stream | None, device: Device) -> None:
    matrix = np.arange(48, dtype=np.float32).reshape(6, 8)
    received = np.zeros((9, 5), np.float32)
    with Buffer(6 * 12) as memory:
        form_of(copy_2d, stream_or_none)(memory, matrix[:, 2:5], width=12, height=6)
        form_of(copy_2d, stream_or_none)(received[2:8, 1:4], memory, width=12, height=6)
        wait_for(stream_or_none)
        assert np.array_equal(content(memory).view(np.float32).reshape(6, 3), matrix[:, 2:5])
    expected = np.zeros((9, 5), np.float32)
    expected[2:8, 1:4] = matrix[:, 2:5]
    assert np.array_equal(received, expected)


MATRICES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "whole": lambda matrix: matrix,
    "columns": lambda matrix: matrix[:, 3:7],
    "every other row": lambda matrix: matrix[::2, 1:],
    "one row": lambda matrix: matrix[3:4],
    "one row, the last": lambda matrix: matrix[::-1][:1],
    "one column": lambda matrix: matrix[:, 2:3],
    "one of every seventh column": lambda matrix: matrix[:, ::10],
    "one element": lambda matrix: matrix[-1:, -1:],
    "one row of columns": lambda matrix: np.asfortranarray(matrix[:1]),
}


@pytest.mark.parametrize("select", MATRICES.values(), ids=MATRICES.keys())
@pytest.mark.parametrize("kind", [np.array, pinned_memory], ids=["pageable", "pinned"])
def test_parts_of_a_matrix(
    select: Callable[[np.ndarray], np.ndarray], kind: Any, stream_or_none: Stream | None, device: Device
) -> None:
    whole = kind(np.arange(160, dtype=np.uint8)).view(np.uint16).reshape(8, 10)
    part = select(whole)
    height, width = part.shape[0], part.shape[1] * 2
    with Buffer(height * width) as memory:
        form_of(copy_2d, stream_or_none)(memory, part, width=width, height=height)
        wait_for(stream_or_none)
        expected = np.ascontiguousarray(part).copy()
        assert content(memory).tobytes() == expected.tobytes()
        before, part[...] = whole.copy(), 0
        form_of(copy_2d, stream_or_none)(part, memory, width=width, height=height)
        wait_for(stream_or_none)
        assert np.array_equal(part, expected)
        assert np.array_equal(whole, before)


def test_less_than_a_matrix_has(stream_or_none: Stream | None, device: Device) -> None:
    matrix = np.arange(24, dtype=np.uint8).reshape(4, 6)
    with Buffer(6) as memory:
        form_of(copy_2d, stream_or_none)(memory, matrix[1:, 1:], width=2, height=3)
        wait_for(stream_or_none)
        assert content(memory).tolist() == [7, 8, 13, 14, 19, 20]


def test_pitches(stream_or_none: Stream | None, device: Device) -> None:
    memory = device_memory(b"." * 12)
    form_of(copy_2d, stream_or_none)(memory[1:], b"ab--cd--ef", width=2, height=3, dst_pitch=4, src_pitch=4)
    wait_for(stream_or_none)
    assert bytes(content(memory)) == b".ab..cd..ef."
    received = bytearray(b"______")
    form_of(copy_2d, stream_or_none)(received, memory[1:], width=2, height=3, src_pitch=4)
    wait_for(stream_or_none)
    assert received == b"abcdef"


def test_a_given_pitch_wants_contiguous_bytes(device: Device) -> None:
    matrix = np.arange(16, dtype=np.uint8).reshape(4, 4)
    with Buffer(8) as memory:
        copy_2d(memory, matrix, width=2, height=4, src_pitch=4)
        assert content(memory).tolist() == [0, 1, 4, 5, 8, 9, 12, 13]
        with pytest.raises(ValueError, match="contiguous"):
            copy_2d(memory, matrix[:, :2], width=2, height=4, src_pitch=4)


def test_rows_inside_the_device_only_in_order(stream: Stream) -> None:
    memory = device_memory(b"abcdef" + b"." * 9)
    arguments = {"width": 2, "height": 3, "dst_pitch": 3}
    with pytest.raises(NotSupported):
        copy_2d(memory[6:], memory[:6], **arguments)
    copy_2d_async(memory[6:], memory[:6], stream, **arguments)
    stream.synchronize()
    assert bytes(content(memory)) == b"abcdefab.cd.ef."


@pytest.mark.parametrize(("width", "height"), [(0, 4), (4, 0), (0, 0)])
def test_no_rows(width: int, height: int, stream_or_none: Stream | None, device: Device) -> None:
    memory = device_memory(b"abcd")
    form_of(copy_2d, stream_or_none)(memory, bytes(16), width=width, height=height)
    form_of(copy_2d, stream_or_none)(memory, np.zeros((4, 4), np.uint8)[:, :2], width=0, height=height)
    wait_for(stream_or_none)
    assert bytes(content(memory)) == b"abcd"


MATRIX = np.zeros((4, 8), np.uint8)

REFUSED_ROWS: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "too many rows": (bytes(32), {"width": 8, "height": 5}, ValueError, "5 rows of 8 bytes, 8 apart, do not fit"),
    "too wide": (bytes(32), {"width": 9, "height": 4}, ValueError, "4 rows of 9 bytes, 9 apart"),
    "too far apart": (
        bytes(32),
        {"width": 2, "height": 2, "src_pitch": 31},
        ValueError,
        "31 apart, do not fit into 32",
    ),
    "rows of a matrix": (MATRIX, {"width": 8, "height": 5}, ValueError, r"array of shape \(4, 8\)"),
    "width of a matrix": (MATRIX[:, :4], {"width": 5, "height": 2}, ValueError, r"array of shape \(4, 4\)"),
    "negative width": (bytes(32), {"width": -1, "height": 1}, ValueError, "width must not be negative, got -1"),
    "negative height": (bytes(32), {"width": 1, "height": -1}, ValueError, "height must not be negative, got -1"),
    "negative height of a matrix": (MATRIX, {"width": 1, "height": -1}, ValueError, "height must not be negative"),
    "negative pitch": (
        bytes(32),
        {"width": 1, "height": 2, "src_pitch": -1},
        ValueError,
        "src_pitch must not be negative, got -1",
    ),
    "pitch below the width": (bytes(32), {"width": 4, "height": 2, "src_pitch": 3}, InvalidArgument, "exceeds a pitch"),
    "columns apart": (MATRIX[:, ::2], {"width": 2, "height": 4}, ValueError, "must be adjacent"),
    "columns reversed": (MATRIX[:, ::-1], {"width": 2, "height": 4}, ValueError, "must be adjacent"),
    "rows reversed": (MATRIX[::-1], {"width": 8, "height": 4}, ValueError, "ascending order"),
    "transposed": (MATRIX.T, {"width": 4, "height": 8}, ValueError, "must be adjacent"),
    "one row repeated": (
        np.broadcast_to(MATRIX[0], (4, 8)),
        {"width": 8, "height": 4},
        InvalidArgument,
        "exceeds a pitch",
    ),
    "objects": (np.zeros((2, 2), object), {"width": 8, "height": 2}, TypeError, "Python objects"),
    "three dimensions apart": (np.zeros((2, 2, 4), np.uint8)[..., :2], {"width": 2, "height": 2}, ValueError, "contig"),
}


@pytest.mark.parametrize(("source", "arguments", "error", "text"), REFUSED_ROWS.values(), ids=REFUSED_ROWS.keys())
def test_refused_rows(
    source: Any, arguments: Any, error: type[Exception], text: str, stream_or_none: Stream | None, device: Device
) -> None:
    with Buffer(64) as memory:
        fill(memory, 1)
        with pytest.raises(error, match=text):
            form_of(copy_2d, stream_or_none)(memory, source, **arguments)
        assert set(content(memory)) == {1}


def test_a_read_only_matrix_is_no_destination(device: Device) -> None:
    matrix = np.zeros((4, 8), np.uint8)
    matrix.flags.writeable = False
    with Buffer(64) as memory, pytest.raises(ValueError, match="read-only"):
        copy_2d(matrix[:, :4], memory, width=4, height=4)


@pytest.mark.parametrize(("width", "height"), [(5_000_001, 1), (1, 5_242_881)])
def test_rows_have_a_largest_size(width: int, height: int, device: Device) -> None:
    with Buffer(8 << 20) as memory, pytest.raises(InvalidArgument):
        copy_2d(memory, np.zeros(width * height, np.uint8), width=width, height=height)
