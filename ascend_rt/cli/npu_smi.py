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
_LINK_COLUMN = 11  # width in the matrix of links

_NOT_KNOWN = "NA"

_HEALTH = ("OK", "Warning", "Alarm", "Critical")  # by the numbers of libdcmi

# Utilization, by the numbers of libdcmi.
_AICORE, _AICPU, _VECTORCORE = 2, 3, 12

# Kinds of links, by the bits of aclrtGetDevicesTopo, with the texts of the legend.
_LINKS = {
    0x01: ("HCCS", "HCCS, between processors and NPUs"),
    0x02: ("PIX", "one PCIe switch"),
    0x08: ("PHB", "PCIe and the host bridge of a processor"),
    0x10: ("SYS", "PCIe and the connection of NUMA nodes"),
    0x20: ("SIO", "the connection of two chips of an NPU"),
    0x40: ("HCCS_SW", "a switch of HCCS"),
}


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
    cores : int
        Of the AI core.
    """

    npu: int
    chip: int
    logic: int
    name: str
    npu_name: str
    cores: int

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
        lines = list(_answer(asked, list(_machine())))
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
    question.add_argument("-t", dest="kind", choices=(*_KINDS, "topo"), help="describe an NPU, a chip, or their links")
    info.add_argument("-i", dest="npu", type=int, default=0, help="the NPU")
    info.add_argument("-c", dest="chip", type=int, help="the chip of the NPU")
    return parser


def _answer(asked: argparse.Namespace, machine: list[Chip]) -> Iterator[str]:
    if asked.kind == "topo":
        return _topology(machine)
    if asked.kind:
        return _KINDS[asked.kind](_chips_of(machine, asked.npu, asked.chip), asked.chip is not None)
    answer: Callable[[list[Chip]], Iterator[str]] = asked.answer or _table
    return answer(machine)


def _chips_of(machine: list[Chip], npu: int, chip: int | None) -> list[Chip]:
    found = [each for each in machine if each.npu == npu and chip in (None, each.chip)]
    if not found:
        raise LookupError(f"there is no NPU {npu}" + ("" if chip is None else f" with a chip {chip}"))
    return found


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
            yield Chip(npu, chip, logic, info.chip_name.decode(), info.npu_name.decode(), info.aicore_cnt)
            logic += 1


def _field(name: str, value: object, width: int = 30) -> str:
    return f"\t{name:<{width}} : {value}"


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


# --- of an NPU or a chip ---------------------------------------------------------------------------------------------


def _head(chips: list[Chip], width: int = 30) -> Iterator[str]:
    yield _field("NPU ID", chips[0].npu, width)
    yield _field("Chip Count", len(chips), width)


def _board(chips: list[Chip], is_chip: bool) -> Iterator[str]:
    first = chips[0]
    yield _field("NPU ID", first.npu)
    if first.npu_name:
        yield _field("NPU Name", first.npu_name)
    if not is_chip:
        yield _field("Chip Count", len(chips))
        return
    yield _field("Chip ID", first.chip)
    if not first.npu_name:
        yield _field("Chip Type", "Ascend")
    yield _field("Chip Name", first.name)


def _usages(chips: list[Chip], is_chip: bool) -> Iterator[str]:
    yield from _head(chips)
    for chip in chips:
        yield ""
        for kind, (used, total) in _memory(chip).items():
            yield _field(f"{kind} Capacity(MB)", total)
            yield _field(f"{kind} Usage Rate(%)", _percent(used, total))
            if kind == "DDR":
                yield _field("DDR Hugepages Total(page)", 0)
                yield _field("DDR Hugepages Usage Rate(%)", 0)
        yield _field("Aicore Usage Rate(%)", _rate(chip, _AICORE))
        yield _field("Aivector Usage Rate(%)", _rate(chip, _VECTORCORE))
        yield _field("Aicpu Usage Rate(%)", _rate(chip, _AICPU))
        for name in ("Ctrlcpu", "DDR Bandwidth", "HBM Bandwidth"):
            yield _field(f"{name} Usage Rate(%)", _NOT_KNOWN)
        yield _field("Chip ID", chip.chip)


def _common(chips: list[Chip], is_chip: bool) -> Iterator[str]:
    yield from _head(chips)
    for chip in chips:
        memory = _memory(chip)
        yield ""
        yield _field("Chip ID", chip.chip)
        yield _field("Memory Usage Rate(%)", _percent(*memory["DDR"]))
        yield _field("HBM Usage Rate(%)", _percent(*memory["HBM"]))
        yield _field("Aicore Usage Rate(%)", _rate(chip, _AICORE))
        yield _field("Aicore Freq(MHZ)", _NOT_KNOWN)
        yield _field("Aicore curFreq(MHZ)", _NOT_KNOWN)
        yield _field("Aicore Count", chip.cores)
        yield _field("Temperature(C)", _NOT_KNOWN)
        yield _field("NPU Real-time Power(W)", _NOT_KNOWN)


def _health(chips: list[Chip], is_chip: bool) -> Iterator[str]:
    if is_chip:
        yield _field("Health Status", _health_of(chips[0]))
        yield _field("Error Code", _NOT_KNOWN)
        yield _field("Error Information", _NOT_KNOWN)
        return
    yield from _head(chips)
    for chip in chips:
        yield ""
        yield _field("Health", _health_of(chip))
        yield _field("Chip ID", chip.chip)


def _errors(chips: list[Chip], is_chip: bool) -> Iterator[str]:
    """Return the numbers of errors of the memory, which is memory of the host and has none that are counted."""
    width = 40
    yield from _head(chips, width)
    for chip in chips:
        yield ""
        for memory in (kind for kind, (_, total) in _memory(chip).items() if total):
            for count in ("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count"):
                for bits in ("Single", "Double"):
                    yield _field(f"{memory} {bits} Bit {count}", 0, width)
        yield _field("Chip ID", chip.chip, width)


# Answers to -t. The functions take the chips, and True if one is asked for by -c.
_KINDS: dict[str, Callable[[list[Chip], bool], Iterator[str]]] = {
    "board": _board,
    "common": _common,
    "ecc": _errors,
    "health": _health,
    "usages": _usages,
}


def _memory(chip: Chip) -> dict[str, tuple[int, int]]:
    """Return the used and the whole memory of each kind in MB; a chip has one of them."""
    hbm, ddr = _HbmInfo(), _DdrInfo()
    if _try("dcmi_get_device_hbm_info", chip.npu, chip.chip, ctypes.byref(hbm)) == 0:
        return {"DDR": (0, 0), "HBM": (hbm.memory_usage, hbm.memory_size)}
    _try("dcmi_get_device_memory_info_v3", chip.npu, chip.chip, ctypes.byref(ddr))
    return {"DDR": (ddr.memory_size - ddr.memory_available, ddr.memory_size), "HBM": (0, 0)}


def _percent(used: int, total: int) -> int:
    return used * 100 // total if total else 0


def _rate(chip: Chip, kind: int) -> int | str:
    rate = ctypes.c_uint()
    code = _try("dcmi_get_device_utilization_rate", chip.npu, chip.chip, kind, ctypes.byref(rate))
    return _NOT_KNOWN if code == _NOT_SUPPORTED else rate.value


def _health_of(chip: Chip) -> str:
    return _HEALTH[_number("dcmi_get_device_health", chip.npu, chip.chip)]


# --- of the machine --------------------------------------------------------------------------------------------------


def _topology(machine: list[Chip]) -> Iterator[str]:
    """Return the matrix of links. Chips that share an NPU are named by their numbers as devices."""
    names = [f"Phy-ID{chip.logic}" if chip.npu_name else f"NPU{chip.npu}" for chip in machine]
    affinity = _ranges(sorted(os.sched_getaffinity(0)))
    yield _link_row("", names, "CPU Affinity")
    seen: set[str] = set()
    for name, chip in zip(names, machine, strict=True):
        links = [_link(chip, other) for other in machine]
        seen.update(links)
        yield _link_row(name, links, affinity)
    yield from ("", "Legend:", "", "  X       = the chip itself")
    yield from (f"  {name:<7} = {text}" for name, text in _LINKS.values() if name in seen)


def _link_row(name: str, cells: list[str], end: str) -> str:
    return "".join(f"{cell:<{_LINK_COLUMN}}" for cell in (name, *cells)) + end


def _link(chip: Chip, other: Chip) -> str:
    if chip.logic == other.logic:
        return "X"
    bits = ctypes.c_uint64()
    _try("aclrtGetDevicesTopo", chip.logic, other.logic, ctypes.byref(bits))
    return next((name for bit, (name, _) in _LINKS.items() if bits.value & bit), _NOT_KNOWN)


def _ranges(numbers: list[int]) -> str:
    """Return the text for sorted numbers that lists their ranges, as in ``0-3,8``."""
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    return ",".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))


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
        usages = "".join(f"{f'{used:<5}/ {total}':<18}" for used, total in _memory(chip).values())
        yield _cells(f"{chip.npu:<6}{chip.name}", _health_of(chip), f"{'NA':<12}{'NA':<18}0    / 0")
        yield _cells(f"{chip.chip:<6}", "NA", f"{_rate(chip, _AICORE):<12}{usages}")
        yield thick
    yield thin
    yield _cells("NPU     Chip", "Process id", "Process name             | Process memory(MB)")
    yield thick
    for npu in dict.fromkeys(chip.npu for chip in machine):
        yield f"| No running processes found in NPU {npu}".ljust(whole + 1) + "|"
        yield thick


def _cells(*texts: str) -> str:
    return "".join(f"| {text}".ljust(width + 1) for text, width in zip(texts, _COLUMNS, strict=True)) + "|"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # scripts read only the lines that they need
    sys.exit(main())
