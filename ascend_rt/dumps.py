# SPDX-License-Identifier: Apache-2.0
"""Dumps of kernels that failed, and of tensors that a program saves beside them.

A configuration with ``{"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": "."}}``, given to ``aclInit`` or
``aclmdlSetDump``, or the environment variable ``ASCEND_DUMP_SCENE=aic_err_brief_dump``, makes the simulator write the
arguments and the memory of each kernel that fails. The exception for the failure shows the arguments, and names the
file. docs/semantics/dumps.md describes the format.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_rt._runtime import dump_files

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Dump", "Piece", "read_dump"]


class Piece:
    """A piece of memory in a dump.

    Attributes
    ----------
    kind : str
        ``"arguments"`` or ``"memory"`` of a kernel; ``"input"``, ``"output"`` or ``"workspace"`` of the program.
    address : int
        Its address in the process.
    size : int
        Its size in bytes.
    offset : int or None
        The position, in the arguments, of the word that holds its address; None for other pieces.
    data : bytes
        The bytes that were stored: fewer than the size if it is larger than 64 MiB, or was freed meanwhile.
    shape : tuple of int or None
        The shape of a tensor that the program saved; None for other pieces.
    data_type : int or None
        Its type, an ``aclDataType``.

    Examples
    --------
    >>> from ascend_rt.dumps import Piece
    >>> piece = Piece({"kind": "arguments", "address": 4096, "size": 8}, (7).to_bytes(8, "little"))
    >>> piece, piece.to_numpy("uint64").tolist()
    (<Piece arguments: 8 of 8 bytes at 0x1000>, [7])
    """

    def __init__(self, description: dict[str, Any], data: bytes) -> None:
        self.kind = str(description["kind"])
        self.address = int(description["address"])
        self.size = int(description["size"])
        self.offset: int | None = description.get("offset")
        self.shape = tuple(map(int, description["shape"])) if "shape" in description else None
        if min(self.shape or (), default=0) < 0:
            raise ValueError(f"a tensor has the shape {self.shape}")
        self.data_type: int | None = description.get("data_type")
        self.data = data

    def to_numpy(self, dtype: DTypeLike = "uint8") -> NDArray[Any]:
        """Return the data as an array, of the tensor's shape if that fits.

        Parameters
        ----------
        dtype : DTypeLike, default "uint8"
            The type of its elements; bytes that do not make a whole one are left out.

        Returns
        -------
        numpy.ndarray
            Read-only; it has one dimension unless the piece has a shape with as many elements.

        Raises
        ------
        ValueError
            The elements of the type are Python objects, or have no bytes.
        """
        item = np.dtype(dtype)
        if item.itemsize == 0:
            raise ValueError(f"elements of {item!r} have no bytes")
        array = np.frombuffer(self.data, item, len(self.data) // item.itemsize)
        is_whole = self.shape is not None and math.prod(self.shape) == array.size
        return array.reshape(self.shape) if is_whole and self.shape is not None else array

    def __repr__(self) -> str:
        return f"<Piece {self.kind}: {len(self.data)} of {self.size} bytes at {self.address:#x}>"


class Dump:
    """The contents of a dump file; :func:`read_dump` returns it.

    Attributes
    ----------
    kernel : str
        The name of the kernel that failed; "" for tensors that the program saved.
    device, stream, task, thread, code, blocks : int or None
        The runtime's facts about the failed kernel; None for tensors that the program saved.
    user_tag : str
        The text that the program saved with its tensors; "" for a kernel.
    pieces : list of Piece
        The arguments first, then the memory to which they point.

    Examples
    --------
    >>> from ascend_rt.dumps import Dump
    >>> Dump({"kernel": "add", "pieces": [{"kind": "arguments", "address": 4096, "size": 2}]}, [b"ab"]).arguments
    b'ab'
    """

    def __init__(self, description: dict[str, Any], pieces: list[bytes]) -> None:
        self.kernel = str(description.get("kernel", ""))
        self.user_tag = str(description.get("user_tag", ""))
        self.device: int | None = description.get("device")
        self.stream: int | None = description.get("stream")
        self.task: int | None = description.get("task")
        self.thread: int | None = description.get("thread")
        self.code: int | None = description.get("code")
        self.blocks: int | None = description.get("blocks")
        self.pieces = [Piece(*each) for each in zip(description["pieces"], pieces, strict=True)]

    @property
    def arguments(self) -> bytes:
        """The arguments of the kernel; empty for tensors that the program saved."""
        return next((piece.data for piece in self.pieces if piece.kind == "arguments"), b"")

    def __repr__(self) -> str:
        return f"<Dump of {self.kernel or self.user_tag!r}: {len(self.pieces)} pieces>"


def read_dump(path: str | os.PathLike[str]) -> Dump:
    """Read a dump file of the simulator.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    Dump

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a dump, is damaged, or was not finished.

    Notes
    -----
    The files of a device have another format; CANN's ``msaicerr`` reads them.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from ascend_rt import sim
    >>> from ascend_rt.dumps import read_dump
    >>> directory = tempfile.TemporaryDirectory()
    >>> place = Path(directory.name)
    >>> wanted = {"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": str(place)}}
    >>> _ = (place / "acl.json").write_text(json.dumps(wanted))
    >>> lib.aclmdlInitDump(), lib.aclmdlSetDump(bytes(place / "acl.json"))
    (0, 0)
    >>> with sim.kernel("scale", ["float32[4]"])(lambda block, numbers: 1 / 0):
    ...     Binary(sim.device_object("scale"))["scale"][1, stream](Buffer(16))
    ...     try:
    ...         stream.synchronize()
    ...     except TaskFailed as error:
    ...         print(type(error).__name__)
    TaskFailed
    >>> (file,) = place.rglob("scale.*")
    >>> read_dump(file)
    <Dump of 'scale': 2 pieces>
    >>> lib.aclmdlFinalizeDump()
    0
    >>> directory.cleanup()
    """
    description, pieces = dump_files.read(path)
    try:
        return Dump(description, pieces)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is a damaged dump: {error}") from error
