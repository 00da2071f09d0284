# SPDX-License-Identifier: Apache-2.0
"""Findings of a program, read from the files of its processes: each appends lines of JSON to one file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ascend_rt._check import process_races
from ascend_rt._check.findings import Finding, Findings, Hint, merge, with_lines
from ascend_rt._check.lines import READERS, Line, counted

# Lines that are compared with those of other processes.
_ABOUT_SHARING = frozenset({"sharing", "shared_access", "shared_record", "shared_wait", "shared_host"})


def lines_of(file: Path) -> Iterator[Line]:
    """Yield the lines of a process; one that was cut off becomes a note.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    for text in file.read_bytes().splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        cut_off = _note(f"a line of process {file.stem} was cut off: perhaps the disk is full")
        yield line if isinstance(line, dict) else cut_off


def _note(text: str) -> Line:
    return {"kind": "note", "text": text}


class _Process:
    """The lines of one program in a process, in the order in which they were written."""

    def __init__(self, into: Findings, pid: int) -> None:
        self.into, self.pid = into, pid
        self.found: dict[object, Finding] = {}
        self.about_sharing: list[Line] = []
        self.has_ended = False

    def read(self, line: Line) -> None:
        kind = line.get("kind")
        if kind in READERS:
            key = line.get("id", object())
            self.found[key] = replace(READERS[kind](line), pid=self.pid, count=line.get("count", 1))
            if "order" in line:  # another process may know of it
                self.about_sharing.append(line)
        elif kind == "count" and line["id"] in self.found:
            self.found[line["id"]] = counted(self.found[line["id"]], line)
        elif kind in ("process", "checked"):
            self.into.checks.update(line.get("checks", ()))
        elif kind == "files":
            self.into.files.update(line["files"])
        elif kind in ("note", "unseen"):
            texts = self.into.notes if kind == "note" else self.into.unseen
            texts.extend([line["text"]] if line["text"] not in texts else [])
        elif kind in _ABOUT_SHARING:
            self.about_sharing.append(line)
        elif kind == "end":
            self.has_ended = True


def read_file(file: Path) -> list[Finding]:
    """Return what one process has found, and hints.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    return [each for program in _read_file(file, Findings()) for each in program.found.values()]


def _read_file(file: Path, into: Findings) -> list[_Process]:
    """Add what a process has written beside its findings to those of all processes.

    Each program that it has executed, one in place of the other, numbers its findings anew.
    """
    pid = int(file.stem) if file.stem.isdecimal() else 0
    programs = [_Process(into, pid)]
    has_used_runtime = has_begun = False
    for line in lines_of(file):
        kind = line.get("kind")
        if kind == "process" and has_begun:
            programs.append(_Process(into, pid))
        has_begun |= kind == "process"
        has_used_runtime |= kind != "files"
        try:
            programs[-1].read(line)
        except (AttributeError, KeyError, TypeError):
            programs[-1].read(_note(f"a line of process {file.stem} has another form than this release knows"))
    into.processes += has_used_runtime
    into.unfinished += has_used_runtime and not programs[-1].has_ended
    return programs


def read(directory: Path) -> Findings:
    """Return what all processes of a program have written.

    Raises
    ------
    OSError
        A file cannot be read.
    """
    into = Findings()
    files = sorted(directory.glob("*.jsonl"), key=lambda file: (len(file.stem), file.stem))
    processes = [program for file in files for program in _read_file(file, into)]
    between: list[Finding] = []
    try:
        sharing = [process for process in processes if process.about_sharing]
        together = process_races.Together([process.about_sharing for process in sharing])
        for place, number in together.ordered():
            del sharing[place].found[number]
        between += together.races()
    except (KeyError, StopIteration, TypeError):
        into.notes.append("what processes wrote about memory that they share has another form than this release knows")
    merged = merge(with_lines([*(each for process in processes for each in process.found.values()), *between]))
    into.findings = [each for each in merged if not isinstance(each, Hint)]
    into.hints = [each for each in merged if isinstance(each, Hint)]
    return into
