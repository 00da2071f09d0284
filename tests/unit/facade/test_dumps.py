# SPDX-License-Identifier: Apache-2.0
"""Dumps of failed kernels: the notes of the exception, and the contents of the files."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codes import OK
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Buffer, Device, Stream, TaskFailed, sim
from ascend_rt.dumps import Piece, read_dump

pytestmark = [
    pytest.mark.simulator("internals", "the format of a device's dumps is CANN's"),
    pytest.mark.simulator("kernels"),
]


@pytest.fixture(autouse=True)
def quiet(unraisable: list[Any]) -> None:
    """The kernels fail on purpose."""


@pytest.fixture
def dumps(lib: Any, device: Device, tmp_path: Path) -> Iterator[Path]:
    """Turn on dumps of exceptions, and return the directory of the device."""
    configuration = tmp_path / "dump.json"
    place = tmp_path / "dumps"
    configuration.write_text(json.dumps({"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": str(place)}}))
    assert lib.aclmdlInitDump() == OK
    assert lib.aclmdlSetDump(str(configuration).encode()) == OK
    yield place / "extra-info" / "data-dump" / str(device.id)
    assert lib.aclmdlFinalizeDump() == OK


def failing(stream: Stream, memory: Buffer, number: int = 7) -> TaskFailed:
    def fail(block: Any, memory: Any, number: Any) -> None:
        raise RuntimeError("the kernel says so")

    with Binary(device_object({"add_custom": VECTOR})) as binary, sim.kernel("add_custom")(fail):
        binary["add_custom"].launch(stream, 1, memory, np.uint64(number))
        with pytest.raises(TaskFailed) as caught:
            stream.synchronize()
    return caught.value


def test_the_exception_shows_the_arguments_and_names_the_file(stream: Stream, dumps: Path) -> None:
    memory = Buffer.from_array(np.arange(16, dtype=np.int32))
    error = failing(stream, memory)
    notes = "\n".join(getattr(error, "__notes__", None) or str(error).splitlines())
    (file,) = dumps.iterdir()
    assert f"dumped to {file}" in notes
    assert f"arguments (16 bytes): {memory.handle:#x} 0x7" in notes


def test_the_file_has_the_arguments_and_the_memory_behind_them(stream: Stream, dumps: Path) -> None:
    memory = Buffer.from_array(np.arange(16, dtype=np.int32))
    error = failing(stream, memory, 9)
    (file,) = dumps.iterdir()
    dump = read_dump(file)
    task = error.task
    assert task is not None
    assert (dump.kernel, dump.blocks, dump.device, dump.stream, dump.task, dump.code) == (
        "add_custom",
        1,
        task.device,
        task.stream,
        task.task,
        task.code,
    )
    assert struct.unpack("<QQ", dump.arguments) == (memory.handle, 9)
    arguments, behind = dump.pieces
    assert (behind.kind, behind.address, behind.offset) == ("memory", memory.handle, 0)
    assert behind.to_numpy(np.int32)[:16].tolist() == list(range(16))
    assert not behind.to_numpy().flags.writeable
    assert "memory" in repr(behind)
    assert "add_custom" in repr(dump)
    assert arguments.offset is None


def test_without_dumps_the_exception_has_no_such_note(stream: Stream, device: Device) -> None:
    error = failing(stream, Buffer(64))
    assert "dumped" not in str(error) + "".join(getattr(error, "__notes__", ()))


def test_a_dump_that_is_gone_or_damaged_hides_no_failure(stream: Stream, dumps: Path, monkeypatch: Any) -> None:
    from ascend_rt._runtime import dump_files

    monkeypatch.setattr(dump_files, "MAGIC", b"another!")
    error = failing(stream, Buffer(64))
    assert "which cannot be read" in str(error) + "".join(getattr(error, "__notes__", ()))


def test_tensors_of_the_program_can_be_read_back(lib: Any, ffi: Any, dumps: Path) -> None:
    memory = Buffer.from_array(np.arange(6, dtype=np.float32))
    tensor = ffi.new("acldumpTensorInfo *")
    tensor.type = lib.ACL_DUMP_TENSOR_OUTPUT
    tensor.tensorSize = 24
    tensor.dataType = lib.ACL_FLOAT
    tensor.tensorAddr = ffi.cast("int64_t *", memory.handle)
    tensor.addrType = lib.ACL_DUMP_ADDR_RAW
    tensor.shapeNum = 2
    tensor.shape[0], tensor.shape[1] = 2, 3
    assert lib.acldumpSaveExceptionInfo(b"mine", b"step 3", tensor, 1) == OK
    (file,) = dumps.glob("mine.custom.*")
    dump = read_dump(file)
    assert (dump.user_tag, dump.kernel, dump.device, dump.arguments) == ("step 3", "", None, b"")
    (piece,) = dump.pieces
    assert (piece.kind, piece.shape, piece.data_type) == ("output", (2, 3), lib.ACL_FLOAT)
    assert piece.to_numpy(np.float32).tolist() == [[0, 1, 2], [3, 4, 5]]


def ended(description: bytes) -> bytes:
    """Return the description with what ends a file."""
    return description + struct.pack("<Q", len(description)) + b"ASCDUMP1"


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (b"", "is not a dump of a failed kernel, or was not finished"),
        (b"x" * 100, "is not a dump"),
        (bytes([255] * 8) + b"ASCDUMP1", "damaged dump: its description is longer than the file"),
        (b"{}" + struct.pack("<Q", 2) + b"ASCDUMP1", "damaged dump: 'pieces'"),
        (b"{" + struct.pack("<Q", 1) + b"ASCDUMP1", "damaged dump: "),
        (b'{"pieces":[{"stored":5}]}' + struct.pack("<Q", 25) + b"ASCDUMP1", "not as long as the file"),
        (b'{"pieces":[{"stored":-1}]}' + struct.pack("<Q", 26) + b"ASCDUMP1", "not as long as the file"),
        (b'{"pieces":3}' + struct.pack("<Q", 12) + b"ASCDUMP1", "damaged dump"),
        (ended(b'{"pieces":[{"stored":1e999}]}'), "damaged dump: cannot convert float infinity"),
        (ended(b'{"pieces":[{"stored":NaN}]}'), "damaged dump: cannot convert float NaN"),
        (ended(b'{"pieces":[{"stored":"x"}]}'), "damaged dump: invalid literal"),
        (ended(b"[" * 100000), "damaged dump: maximum recursion depth"),
        (ended(b"\xff{}"), "damaged dump: .*codec can't decode"),
        (ended(b'{"pieces":[{"stored":0}]}'), "damaged dump: 'kind'"),
        (ended(b'{"pieces":[{"stored":0,"kind":"x","address":[],"size":1}]}'), "damaged dump: int"),
        (ended(b'{"pieces":[{"stored":0,"kind":"x","address":1,"size":1,"shape":[-1]}]}'), "has the shape"),
        (ended(b'{"pieces":[{"stored":0,"kind":"x","address":1,"size":1,"shape":7}]}'), "not iterable"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, contents: bytes, text: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(contents)
    with pytest.raises(ValueError, match=text):
        read_dump(file)


def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/zero", tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match="it is not a regular file"):
            read_dump(place)


def test_a_piece_that_no_dump_has_is_not_read(tmp_path: Path) -> None:
    """A file without contents may claim any size."""
    size = 1 << 40
    file = tmp_path / "file"
    with file.open("wb") as large:
        large.truncate(size)
        large.seek(size)
        large.write(ended(b'{"pieces":[{"stored":%d}]}' % size))
    with pytest.raises(ValueError, match="damaged dump: a piece is longer than"):
        read_dump(file)


@settings(max_examples=200, deadline=None)
@given(cut=st.integers(0, 400), at=st.integers(0, 400), bytes_=st.binary(max_size=8))
def test_a_damaged_dump_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, bytes_: bytes
) -> None:
    piece = {"kind": "arguments", "address": 4096, "size": 16, "stored": 16}
    contents = b"x" * 16 + ended(json.dumps({"version": 1, "kernel": "add", "pieces": [piece]}).encode())
    damaged = contents[:at] + bytes_ + contents[at + len(bytes_) :]
    file = tmp_path_factory.getbasetemp() / "damaged dump"
    file.write_bytes(damaged[: max(0, len(damaged) - cut)])
    with contextlib.suppress(ValueError):
        assert len(read_dump(file).pieces) == 1


def test_the_dump_of_another_process_is_not_taken_for_ours(stream: Stream, dumps: Path) -> None:
    failing(stream, Buffer(64))
    (file,) = dumps.iterdir()
    contents = file.read_bytes()
    name = b'"process":%d' % os.getpid()
    assert name in contents
    other = contents.replace(name, b'"process":' + b"9" * len(str(os.getpid())))
    file.unlink()
    kernel, of_stream, task, _ = file.name.rsplit(".", 3)
    for number in range(int(task), int(task) + 20):
        (dumps / f"{kernel}.{of_stream}.{number}.99999999999999999").write_bytes(other)
    error = failing(stream, Buffer(64))
    assert "99999999999999999" not in str(error) + "".join(getattr(error, "__notes__", ()))


def test_elements_have_bytes() -> None:
    piece = Piece({"kind": "arguments", "address": 4096, "size": 8}, bytes(8))
    with pytest.raises(ValueError, match="have no bytes"):
        piece.to_numpy("V0")


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_dump(tmp_path / "none")
