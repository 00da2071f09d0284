# SPDX-License-Identifier: Apache-2.0
"""``npu-smi`` of the simulated toolkit: answers the questions of build files about the simulated machine.

Fields and columns are laid out as the driver's program prints them, because programs take them apart. Facts that the
simulator does not have are "NA".
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ascend_rt import Device, __version__
from ascend_rt import sim as control
from ascend_rt._runtime import driver
from ascend_rt.backends.toolkit.environment import installation
from ascend_rt.errors import AclError

# A process sees fewer devices than the machine has, and may ask for faults.
_OF_A_PROCESS = ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_RT_SIM_FAULTS")

_CHIPS_OF_AN_NPU = {"910C": 2}  # by product; others have one
_WITHOUT_HBM = ("310B", "310P")

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
        Of the chip, as ``aclrtGetSocName`` has it.
    """

    npu: int
    chip: int
    logic: int
    name: str

    @property
    def parts(self) -> tuple[str, str]:
        """Name of the chip and of the NPU: chips of later products are named by both, ``Ascend910_9391``."""
        chip, _, npu = self.name.partition("_")
        return chip, npu

    @property
    def short_name(self) -> str:
        """As in the table."""
        chip, npu = self.parts
        return chip if npu else chip.removeprefix("Ascend")

    @property
    def long_name(self) -> str:
        """As in the list of chips."""
        chip, npu = self.parts
        return chip if npu else f"Ascend {self.short_name}"


def main() -> int:
    """Answer the command line; return 1 for an NPU that the machine lacks, or a machine that is refused."""
    asked = parser().parse_args()
    for name in _OF_A_PROCESS:
        os.environ.pop(name, None)
    driver.use("sim")
    if other := installation(os.environ):
        print(f"npu-smi: describes the simulated machine; {other} is an installation of CANN", file=sys.stderr)
    try:
        answer: Callable[[list[Chip]], Iterator[str]] = asked.answer or _table
        machine = list(_machine())
        lines = list(_board(machine, asked.npu, asked.chip) if asked.kind else answer(machine))
    except (AclError, LookupError) as error:
        print(f"npu-smi: {error.args[0] if isinstance(error, LookupError) else error}", file=sys.stderr)
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


def _machine() -> Iterator[Chip]:
    per_npu = _CHIPS_OF_AN_NPU.get(control.info().product, 1)
    for logic in range(Device.count()):
        yield Chip(*divmod(logic, per_npu), logic, Device(logic).name)


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
    chip_name, npu_name = found[0].parts
    yield _field("NPU ID", npu)
    if npu_name:
        yield _field("NPU Name", npu_name)
    if chip is None:
        yield _field("Chip Count", len(found))
        return
    yield _field("Chip ID", chip)
    if not npu_name:
        yield _field("Chip Type", "Ascend")
    yield _field("Chip Name", chip_name if npu_name else found[0].short_name)


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
        yield _cells(f"{chip.npu:<6}{chip.short_name}", "OK", f"{'NA':<12}{'NA':<18}0    / 0")
        yield _cells(f"{chip.chip:<6}", "NA", f"{0:<12}{''.join(f'{usage:<18}' for usage in _usages(chip))}")
        yield thick
    yield thin
    yield _cells("NPU     Chip", "Process id", "Process name             | Process memory(MB)")
    yield thick
    for npu in dict.fromkeys(chip.npu for chip in machine):
        yield f"| No running processes found in NPU {npu}".ljust(whole + 1) + "|"
        yield thick


def _usages(chip: Chip) -> tuple[str, str]:
    free, total = (size >> 20 for size in Device(chip.logic).memory_info)
    used, none = f"{total - free:<5}/ {total}", f"{0:<5}/ 0"
    return (used, none) if control.info().product in _WITHOUT_HBM else (none, used)


def _cells(*texts: str) -> str:
    return "".join(f"| {text}".ljust(width + 1) for text, width in zip(texts, _COLUMNS, strict=True)) + "|"


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # scripts read only the lines that they need
    sys.exit(main())
