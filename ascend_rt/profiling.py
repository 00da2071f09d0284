# SPDX-License-Identifier: Apache-2.0
"""Profiles: the times of tasks, of calls, and of named parts of the program, as a table and as a time line.

:func:`profile` collects them for a ``with`` block. :class:`range` names a part of the program, and :func:`mark` a
moment; outside of a profile each is one short call, so both can stay in a program.

On a device a profile is raw data; CANN's ``msprof --export=on`` converts it to the files that :func:`read_profile`
reads. The simulator writes the files itself (docs/semantics/profiling.md, section 9).
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from _thread import get_ident
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_rt._native.handles import given_or_current
from ascend_rt._runtime.driver import call, check, failure, ffi, is_expected, lib
from ascend_rt._runtime.names import encoded
from ascend_rt.device import Device
from ascend_rt.errors import WrongState

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from ascend_rt.stream import Stream

__all__ = ["Profile", "ProfiledRange", "ProfiledTask", "mark", "profile", "range", "read_profile"]

_LONGEST_MESSAGE = 126  # the runtime documents 127 bytes, and refuses them
_LONGEST_MARK = 155
_OUTPUT = "mindstudio_profiler_output"
_ABSENT = "N/A"
_LONGEST_SHOWN = 100
_ENCODING: Any = {"encoding": "utf-8", "errors": "backslashreplace"}  # names may have any bytes


class ProfiledTask(NamedTuple):
    """A task in a profile.

    Attributes
    ----------
    name : str
        The operator, kernel, or kind of task.
    kind : str
        The kind of task, such as ``"KERNEL"`` or ``"MEMSET"``.
    device, stream, task : int
        The runtime's numbers.
    start_us, duration_us : float
        On the clock of ``time.perf_counter()``, in microseconds.

    Examples
    --------
    >>> from ascend_rt import profile
    >>> with profile() as seen:
    ...     fill_async(Buffer(64), 0, stream)
    >>> [(task.name, task.device, task.stream == stream.id) for task in seen.tasks]
    [('MEMSET', 0, True)]
    """

    name: str
    kind: str
    device: int
    stream: int
    task: int
    start_us: float
    duration_us: float


class ProfiledRange(NamedTuple):
    """A range or a mark in a profile.

    Attributes
    ----------
    name : str
        Its message.
    kind : str
        ``"push/pop"``, ``"start/end"``, ``"marker"``, ``"marker_ex"`` for a mark of a stream, or ``"tensors"``.
    thread : int or None
        The kernel's number of the thread; None for a mark of a stream.
    stream : int or None
        The number of the stream of such a mark.
    start_us, duration_us : float
        On the clock of ``time.perf_counter()``, in microseconds; a mark takes 0.

    Examples
    --------
    >>> from ascend_rt import mark, profile
    >>> with profile() as seen:
    ...     mark("loaded")
    >>> [(part.name, part.kind, part.duration_us) for part in seen.ranges]
    [('loaded', 'marker', 0.0)]
    """

    name: str
    kind: str
    thread: int | None
    stream: int | None
    start_us: float
    duration_us: float


class Profile:
    """The contents of a profile; :func:`profile` and :func:`read_profile` return it.

    ``str()`` gives a table, the longest entries first.

    Attributes
    ----------
    tasks : list of ProfiledTask
        In the order of their ends.
    ranges : list of ProfiledRange
        In the order of their ends.
    trace : list of dict
        Events of the time line, in the format of chrome://tracing and Perfetto.

    Examples
    --------
    >>> from ascend_rt import profile, profiling
    >>> with profile() as seen, profiling.range("clear"):
    ...     fill_async(Buffer(64), 0, stream)
    >>> [task.kind for task in seen.tasks], [part.name for part in seen.ranges]
    (['MEMSET'], ['clear'])
    """

    def __init__(self) -> None:
        self.tasks: list[ProfiledTask] = []
        self.ranges: list[ProfiledRange] = []
        self.trace: list[dict[str, Any]] = []

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the time line to a file for chrome://tracing and Perfetto.

        Parameters
        ----------
        path : str or os.PathLike
            The file, which is replaced.
        """
        Path(path).write_text(json.dumps(self.trace), encoding="utf-8")

    def table(self) -> list[tuple[str, str, int, float, float, float]]:
        """Return a row for each name and kind: name, kind, number, total, mean and longest time in microseconds.

        The longest total comes first; marks take no time.
        """
        times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        entries: list[ProfiledTask | ProfiledRange] = [*self.tasks, *self.ranges]
        for entry in entries:
            times[entry.name, entry.kind].append(entry.duration_us)
        rows = [(*key, len(each), sum(each), sum(each) / len(each), max(each)) for key, each in times.items()]
        return sorted(rows, key=lambda row: -row[3])

    def __str__(self) -> str:
        rows = self.table()
        names = [_in_a_line(row[0]) for row in rows]
        width = max(map(len, names), default=4)
        head = f"{'name':<{width}}  {'kind':<14} {'number':>8} {'total us':>12} {'mean us':>12} {'longest us':>12}"
        return "\n".join(
            (
                head,
                *(
                    f"{name:<{width}}  {_in_a_line(kind):<14} {number:>8} {total:>12.3f} {mean:>12.3f} {longest:>12.3f}"
                    for name, (_, kind, number, total, mean, longest) in zip(names, rows, strict=True)
                ),
            )
        )

    def _read(self, directory: Path) -> None:
        """Add the contents of the files of one profile."""
        for row in _rows(directory, "task_time", "kernel_name"):
            self.tasks.append(
                ProfiledTask(
                    row["kernel_name"],
                    row["kernel_type"],
                    int(row["Device_id"]),
                    int(row["stream_id"]),
                    int(row["task_id"]),
                    float(row["task_start(us)"]),
                    float(row["task_time(us)"]),
                )
            )
        for row in _rows(directory, "msprof_tx", "message"):
            thread, stream = (
                None if row.get(key, _ABSENT) == _ABSENT else int(row[key]) for key in ("tid", "Stream_id")
            )
            start, end = float(row["Start_time(us)"]), float(row["End_time(us)"])
            self.ranges.append(ProfiledRange(row["message"], row["event_type"], thread, stream, start, end - start))
        for file in _files(directory, "msprof_*.json"):
            trace = json.loads(file.read_text(**_ENCODING))
            if not isinstance(trace, list) or not all(isinstance(event, dict) for event in trace):
                raise TypeError(f"{file.name} has no list of events")
            self.trace += trace


def _in_a_line(name: str) -> str:
    """Return a name for a table: without characters that move the cursor, and not too long."""
    shown = name if name.isprintable() else name.encode("unicode_escape").decode()
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1]}…"


def _files(directory: Path, pattern: str) -> list[Path]:
    return sorted(file for file in (directory / _OUTPUT).glob(pattern) if file.is_file())


def _rows(directory: Path, name: str, first: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table that has the column ``first``, even if it is empty."""
    for file in _files(directory, f"{name}_*.csv"):
        with file.open(newline="", **_ENCODING) as lines:
            rows = csv.DictReader(lines)
            if first not in (rows.fieldnames or ()):
                raise KeyError(first)
            yield from rows


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read the files of a profile, or of all profiles in a directory.

    Parameters
    ----------
    path : str or os.PathLike
        A directory ``PROF_…``, or the one that was given to :func:`profile` or ``aclprofInit``.

    Returns
    -------
    Profile

    Raises
    ------
    FileNotFoundError
        There is no profile, or only raw data of a device: run ``msprof --export=on --output=<directory>``.
    ValueError
        A file is not a file of a profile.

    Examples
    --------
    >>> import tempfile
    >>> from ascend_rt.profiling import profile, read_profile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with profile(directory) as seen:
    ...         fill_async(Buffer(64), 0, stream)
    ...     read_profile(directory).tasks == seen.tasks
    True
    """
    place = Path(path)
    return _read_all(place, [place] if (place / _OUTPUT).is_dir() else _profiles_in(place))


def _profiles_in(place: Path) -> list[Path]:
    return sorted(place.glob("PROF_*"))


def _read_all(place: Path, found: Sequence[Path]) -> Profile:
    exported = [directory for directory in found if (directory / _OUTPUT).is_dir()]
    if not exported:
        cause = "it has no directory PROF_…" if place.is_dir() else "there is no such directory"
        cure = f"run 'msprof --export=on --output={place}'" if found else cause
        raise FileNotFoundError(f"no tables of a profile in {place}: {cure}")
    contents = Profile()
    for directory in exported:
        try:
            contents._read(directory)
        except (KeyError, RecursionError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(f"a file in {directory / _OUTPUT} is not one of a profile: {error!r}") from error
    return contents


@contextmanager
def profile(
    path: str | os.PathLike[str] | None = None,
    *,
    devices: Sequence[Device] | None = None,
    calls: bool = True,
) -> Iterator[Profile]:
    """Collect times for a ``with`` block; the result is filled at its end.

    The end waits for the work of the devices, so that the profile contains it. A process takes one profile at a time:
    other profiles of the program must have ended.

    Parameters
    ----------
    path : str or os.PathLike, optional
        The directory for the files, which is created; by default they are deleted after reading.
    devices : sequence of Device, optional
        The devices whose tasks are collected; default :meth:`Device.current`.
    calls : bool, default True
        Collect the calls of C functions, for the trace.

    Yields
    ------
    Profile

    Raises
    ------
    WrongState
        Another profile is being taken.
    FileNotFoundError
        At the end, on a device: the message names the directory of the raw data; see
        :func:`~ascend_rt.profiling.read_profile`.

    Notes
    -----
    ``aclprofInit``, ``aclprofCreateConfig``, ``aclprofStart``, ``aclprofStop``, ``aclprofFinalize``. All products. API
    reference 19-01.

    Examples
    --------
    >>> from ascend_rt import profile
    >>> with profile() as seen:
    ...     fill_async(Buffer(64), 0, stream)
    >>> print(seen)  # doctest: +ELLIPSIS
    name    kind             number     total us      mean us   longest us
    MEMSET  MEMSET                1 ...
    """
    chosen = [Device.current()] if devices is None else list(devices)
    directory = Path(tempfile.mkdtemp(prefix="ascend_rt_profile_")) if path is None else Path(path).absolute()
    contents = Profile()
    is_wanted = path is not None
    try:
        earlier = set(_profiles_in(directory))
        with _collecting(directory, chosen, calls):
            yield contents
        made = [each for each in _profiles_in(directory) if each not in earlier]
        try:
            read = _read_all(directory, made)
        except FileNotFoundError:
            is_wanted = True  # for the raw data of a device
            raise
        contents.tasks, contents.ranges, contents.trace = read.tasks, read.ranges, read.trace
    finally:
        if not is_wanted:
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _collecting(directory: Path, devices: Sequence[Device], calls: bool) -> Iterator[None]:
    session = _Session()
    try:
        try:
            session.begin(directory, devices, calls)
            yield
            for device in devices:
                device.synchronize()
            call("aclprofStop", session.config)
        finally:
            session.end()
    finally:
        session.end()  # again: the handler of a signal may have interrupted the first


class _Session:
    """The time from ``aclprofInit`` to ``aclprofFinalize``."""

    def __init__(self) -> None:
        self.config = ffi.NULL
        self._code: int | None = None  # result of aclprofInit

    def begin(self, directory: Path, devices: Sequence[Device], calls: bool) -> None:
        text = os.fsencode(directory)
        ids = ffi.new("uint32_t[]", [Device._id_of(device) for device in devices])
        self._code = code = lib.aclprofInit(text, len(text))
        if is_expected(code, lib.ACL_ERROR_REPEAT_INITIALIZE):
            raise WrongState("another profile is being taken: end it before this one begins")
        check(code, "aclprofInit")
        data = lib.ACL_PROF_TASK_TIME | lib.ACL_PROF_MSPROFTX | (lib.ACL_PROF_ACL_API if calls else 0)
        self.config = lib.aclprofCreateConfig(ids, len(ids), lib.ACL_AICORE_NONE, ffi.NULL, data)
        if self.config == ffi.NULL:
            raise failure(lib.ACL_ERROR_INVALID_PARAM, "aclprofCreateConfig")
        call("aclprofStart", self.config)

    def end(self) -> None:
        if self._code == 0:
            lib.aclprofFinalize()
            self._code = None
        if self.config != ffi.NULL:
            lib.aclprofDestroyConfig(self.config)
            self.config = ffi.NULL


class range:
    """Names a part of the program in profiles; a context manager, which can be entered again.

    Ranges of one thread nest. Outside of a profile that collects them, entering costs one short call.

    Parameters
    ----------
    name : str
        At most 126 bytes in UTF-8.

    Raises
    ------
    ValueError
        The name is longer, or has a character of value 0.

    Notes
    -----
    ``aclprofCreateStamp``, ``aclprofSetStampTraceMessage``, ``aclprofPush``, ``aclprofPop``. All products. API
    reference 19-02. At most 100 ranges are open at the same time in a process; further ones are left out.

    Examples
    --------
    >>> from ascend_rt import profiling
    >>> with profiling.range("forward"):
    ...     fill_async(Buffer(64), 0, stream)
    """

    __slots__ = ("_message", "_stamps", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._message = encoded(name, _LONGEST_MESSAGE)
        self._stamps: defaultdict[int, list[tuple[Any, bool]]] = defaultdict(list)  # by thread, innermost last

    def __enter__(self) -> Self:
        stamps = self._stamps[get_ident()]
        depth, stamp, is_open = len(stamps), ffi.NULL, False
        try:
            stamp = lib.aclprofCreateStamp()
            if stamp != ffi.NULL:
                call("aclprofSetStampTraceMessage", stamp, self._message, len(self._message))
                is_open = lib.aclprofPush(stamp) == 0  # otherwise the profile has ended meanwhile
            stamps.append((stamp, is_open))
            return self
        except BaseException:  # a signal handler raised it, and no block begins
            del stamps[depth:]
            _end_range(stamp, is_open)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _end_range(*self._stamps[get_ident()].pop())


def _end_range(stamp: Any, is_open: bool) -> None:
    """Destroy the stamp of a range, if it has one."""
    try:
        if is_open:
            lib.aclprofPop()  # fails if the profile has ended in the range, which is then in no profile
    finally:
        if stamp != ffi.NULL:
            lib.aclprofDestroyStamp(stamp)


def mark(name: str, stream: Stream | None = None) -> None:
    """Mark a moment in profiles.

    Parameters
    ----------
    name : str
        At most 126 bytes in UTF-8, or 155 with a stream; not empty with a stream.
    stream : Stream, optional
        Marks the moment at which this stream reaches the mark; by default that of the call.

    Raises
    ------
    ValueError
        The name is too long, or has a character of value 0.
    AclError
        The stream is not one of the current context.

    Notes
    -----
    ``aclprofMark``, ``aclprofMarkEx``. All products. API reference 19-02. Does not block.

    Examples
    --------
    >>> from ascend_rt import mark
    >>> mark("loaded")
    >>> mark("computed", stream)
    """
    handle = None if stream is None else given_or_current(stream)._handle  # a closed stream says so
    message = encoded(name, _LONGEST_MESSAGE if stream is None else _LONGEST_MARK)
    if stream is not None and not message:
        raise ValueError("the mark of a stream needs a name")
    stamp = lib.aclprofCreateStamp()
    if stamp == ffi.NULL:  # no profile collects marks
        return
    try:
        if stream is not None:
            call("aclprofMarkEx", message, len(message), handle)
        else:
            call("aclprofSetStampTraceMessage", stamp, message, len(message))
            call("aclprofMark", stamp)
    finally:
        lib.aclprofDestroyStamp(stamp)
