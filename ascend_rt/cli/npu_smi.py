# SPDX-License-Identifier: Apache-2.0
"""``npu-smi`` of the simulated toolkit: answers the questions of build files about the simulated machine.

The facts are those of ``libdcmi.so``, which programs ask, too. Fields and columns are laid out as the driver's program
prints them, because programs take them apart. Facts that the simulator does not have are "NA".
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from ascend_rt import __version__
from ascend_rt.backends import sim
from ascend_rt.backends.toolkit.environment import installation

# A process sees fewer devices than the machine has, and may ask for faults.
_OF_A_PROCESS = ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_RT_SIM_FAULTS")

_NOT_SUPPORTED = -8255  # by chips of this product

_COLUMNS = (27, 15, 52)  # widths in the table


class Chip(NamedTuple):
    """A device of the machine.

    Attributes
    ----------
    npu : int
        The NPU that it is on.
    chip : int
        Its number there.
    logic : int
        Its number as a device.
    name : str
        Of the chip.
    npu_name : str
        Of the NPU, which names chips of later products, too: ``Ascend910`` and ``9391``; or an empty string.
    """

    npu: int
    chip: int
    logic: int
    name: str
    npu_name: str

    @property
    def long_name(self) -> str:
        """As in the list of chips."""
        return self.name if self.npu_name else f"Ascend {self.name}"


class _ChipInfo(ctypes.Structure):
    _fields_ = (
        *((f"chip_{field}", ctypes.c_char * 32) for field in ("type", "name", "ver")),
        ("aicore_cnt", ctypes.c_uint),
        ("npu_name", ctypes.c_char * 32),
    )


class _HbmInfo(ctypes.Structure):
    _fields_ = (
        ("memory_size", ctypes.c_ulonglong),
        ("freq", ctypes.c_uint),
        ("memory_usage", ctypes.c_ulonglong),
        ("temp", ctypes.c_int),
        ("bandwith_util_rate", ctypes.c_uint),
    )


class _DdrInfo(ctypes.Structure):
    _fields_ = (
        ("memory_size", ctypes.c_ulonglong),
        ("memory_available", ctypes.c_ulonglong),
        ("rest", ctypes.c_ubyte * 96),
    )


def main() -> int:
    """Answer the command line; return 1 for an NPU that the machine lacks, or a machine that is refused."""
    asked = parser().parse_args()
    for name in _OF_A_PROCESS:
        os.environ.pop(name, None)
    if other := installation(os.environ):
        print(f"npu-smi: describes the simulated machine; {other} is an installation of CANN", file=sys.stderr)
    try:
        answer: Callable[[list[Chip]], Iterator[str]] = asked.answer or _table
        machine = list(_machine())
        lines = list(_board(machine, asked.npu, asked.chip) if asked.kind else answer(machine))
    except LookupError as error:
        print(f"npu-smi: {error.args[0]}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the questions that are answered."""
    parser = argparse.ArgumentParser(prog="npu-smi", description=f"npu-smi of ascend_rt's simulator, {__version__}.")
    parser.add_argument("-v", "--version", action="version", version=f"npu-smi version: {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="describe the simulated machine")
    question = info.add_mutually_exclusive_group()
    question.add_argument("-l", dest="answer", action="store_const", const=_npus, help="list the NPUs")
    question.add_argument("-m", dest="answer", action="store_const", const=_chips, help="list the chips")
    question.add_argument("-t", dest="kind", choices=("board",), help="describe an NPU or a chip")
    info.add_argument("-i", dest="npu", type=int, default=0, help="the NPU")
    info.add_argument("-c", dest="chip", type=int, help="the chip of the NPU")
    return parser


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(sim.companion_directory() / "libdcmi.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return library


def _try(function: str, *arguments: Any) -> int:
    """Call a function of libdcmi and return its code, 0 or that of a fact that the machine does not have."""
    code: int = getattr(_library(), function)(*arguments)
    if code not in (0, _NOT_SUPPORTED):
        raise LookupError((_library().aclGetRecentErrMsg() or b"").decode(errors="replace"))
    return code


def _number(function: str, *arguments: Any) -> int:
    number = ctypes.c_int()
    _try(function, *arguments, ctypes.byref(number))
    return number.value


def _machine() -> Iterator[Chip]:
    _try("dcmi_init")
    cards, count = (ctypes.c_int * 64)(), ctypes.c_int()
    _try("dcmi_get_card_list", ctypes.byref(count), cards, len(cards))
    logic = 0
    for npu in cards[: count.value]:
        for chip in range(_number("dcmi_get_device_num_in_card", npu)):
            info = _ChipInfo()
            _try("dcmi_get_device_chip_info_v2", npu, chip, ctypes.byref(info))
            yield Chip(npu, chip, logic, info.chip_name.decode(), info.npu_name.decode())
            logic += 1


def _field(name: str, value: object) -> str:
    return f"\t{name:<30} : {value}"


def _npus(machine: list[Chip]) -> Iterator[str]:
    numbers = list(dict.fromkeys(chip.npu for chip in machine))
    yield _field("Total Count", len(numbers))
    for npu in numbers:
        yield ""
        yield _field("NPU ID", npu)
        yield _field("Chip Count", sum(chip.npu == npu for chip in machine))


def _chips(machine: list[Chip]) -> Iterator[str]:
    yield _row("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")
    for chip in machine:
        yield _row(chip.npu, chip.chip, chip.logic, chip.long_name)


def _row(*cells: object) -> str:
    return "\t" + "".join(f"{cell!s:<31}" for cell in cells).rstrip()


def _board(machine: list[Chip], npu: int, chip: int | None) -> Iterator[str]:
    found = [each for each in machine if each.npu == npu and chip in (None, each.chip)]
    if not found:
        raise LookupError(f"there is no NPU {npu}" + ("" if chip is None else f" with a chip {chip}"))
    yield _field("NPU ID", npu)
    if found[0].npu_name:
        yield _field("NPU Name", found[0].npu_name)
    if chip is None:
        yield _field("Chip Count", len(found))
        return
    yield _field("Chip ID", chip)
    if not found[0].npu_name:
        yield _field("Chip Type", "Ascend")
    yield _field("Chip Name", found[0].name)


def _table(machine: list[Chip]) -> Iterator[str]:
    thin, thick = ("+".join(("", *(line * width for width in _COLUMNS), "")) for line in "-=")
    whole = sum(_COLUMNS) + len(_COLUMNS) - 1
    yield f"+{'-' * whole}+"
    yield f"| {f'npu-smi {__version__}':<33}Version: {__version__}".ljust(whole + 1) + "|"
    yield thin
    yield _cells("NPU   Name", "Health", f"{'Power(W)':<12}{'Temp(C)':<18}Hugepages-Usage(page)")
    yield _cells("Chip", "Bus-Id", f"{'AICore(%)':<12}{'Memory-Usage(MB)':<18}HBM-Usage(MB)")
    yield thick
    for chip in machine:
        yield _cells(f"{chip.npu:<6}{chip.name}", "OK", f"{'NA':<12}{'NA':<18}0    / 0")
        yield _cells(f"{chip.chip:<6}", "NA", f"{0:<12}{''.join(f'{usage:<18}' for usage in _usages(chip))}")
        yield thick
    yield thin
    yield _cells("NPU     Chip", "Process id", "Process name             | Process memory(MB)")
    yield thick
    for npu in dict.fromkeys(chip.npu for chip in machine):
        yield f"| No running processes found in NPU {npu}".ljust(whole + 1) + "|"
        yield thick


def _usages(chip: Chip) -> tuple[str, str]:
    """Return the use of DDR and of HBM; a chip has one of them."""
    hbm, ddr = _HbmInfo(), _DdrInfo()
    if _try("dcmi_get_device_hbm_info", chip.npu, chip.chip, ctypes.byref(hbm)) == 0:
        return _usage(0, 0), _usage(hbm.memory_usage, hbm.memory_size)
    _try("dcmi_get_device_memory_info_v3", chip.npu, chip.chip, ctypes.byref(ddr))
    return _usage(ddr.memory_size - ddr.memory_available, ddr.memory_size), _usage(0, 0)


def _usage(used: int, total: int) -> str:
    return f"{used:<5}/ {total}"


def _cells(*texts: str) -> str:
    return "".join(f"| {text}".ljust(width + 1) for text, width in zip(texts, _COLUMNS, strict=True)) + "|"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # scripts read only the lines that they need
    sys.exit(main())
