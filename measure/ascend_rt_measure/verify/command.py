# SPDX-License-Identifier: Apache-2.0
"""``ascend-rt verify`` and ``ascend-rt verify --compare``: their options, output and exit status."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ascend_rt.cli import terminal
from ascend_rt.cli.parser import suggestion
from ascend_rt_measure.verify import card_profile, comparison, session
from ascend_rt_measure.verify.cases import groups
from ascend_rt_measure.verify.report import Played, Report, load, read, write_json

DEFAULT_OUTPUT = "ascend_rt-report.json"
_NOT_SUPPORTED = 207000  # the answer of a product that lacks a function; expected, so not printed
_LINES = 40  # surprises that a run prints; the report has all of them


DESCRIPTION = (
    "Make recorded calls on a device, each group in a separate process, measure latencies and limits, and write a "
    "report that can be compared with the simulator. The page 'Verify your card' of the guide lists what runs and what "
    "it may disturb."
)
EXAMPLES = (
    "ascend-rt verify --device 0,1",
    "ascend-rt verify --compare ascend_rt-report.json --profile card.json",
    "ASCEND_RT_SIM_PROFILE=card.json ascend-rt run --backend sim train.py",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    terminal.add_backend(parser)
    parser.add_argument(
        "--device",
        type=_numbers,
        metavar="N[,M]",
        help="the device to use, and a second one for groups that need two; required with a real library",
    )
    parser.add_argument(
        "--output", default=DEFAULT_OUTPUT, metavar="FILE", help=f"the report (default: {DEFAULT_OUTPUT})"
    )
    parser.add_argument("--allow-reset", action="store_true", help="also run groups that reset the device by force")
    parser.add_argument(
        "--allow-garbage",
        action="store_true",
        help="also run groups that pass invalid handles: on a card their processes crash, and may leave core files",
    )
    parser.add_argument(
        "--only",
        type=_names,
        default=frozenset(session.SECTIONS),
        metavar="NAME,...",
        help=f"only these sections ({', '.join(session.SECTIONS)}) or groups",
    )
    parser.add_argument(
        "--time-limit", type=_seconds, default=60.0, metavar="SECONDS", help="the limit of a group (default: 60)"
    )
    parser.add_argument("--smoke", action="store_true", help="measure a few calls, as a test; the times mean nothing")
    parser.add_argument(
        "--compare", metavar="FILE", help="show how the card of that report differs from the simulator instead"
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        help="with --compare: write a profile for ASCEND_RT_SIM_PROFILE; FILE may be the report itself",
    )


@terminal.argument("device numbers in ascending order, such as 0 or 0,1")
def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if sorted(set(numbers)) != list(numbers) or numbers[0] < 0:
        raise ValueError
    return numbers


def _names(text: str) -> frozenset[str]:
    names = frozenset(text.split(","))
    known = {*session.SECTIONS, *groups()}
    for name in sorted(names - known):
        raise argparse.ArgumentTypeError(f"expects sections or groups, got '{name}'{suggestion(name, known)}")
    return names


@terminal.argument("more than 0 and at most 86400 seconds")
def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 86400:
        raise ValueError
    return seconds


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 0: all answers are the known ones, or the simulator's, 1: some are not."""
    # These signals end it as Ctrl-C does; otherwise the processes of groups would outlive this one.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    if arguments.compare:
        return _compare(arguments)
    if arguments.profile:
        raise terminal.UsageError("--profile is made from a report: name it with --compare")
    return _verify(arguments)


# --- a run -----------------------------------------------------------------------------------------------------------


def _verify(arguments: argparse.Namespace) -> int:
    environment = dict(os.environ)
    if arguments.backend:
        environment["ASCEND_RT_BACKEND"] = arguments.backend
    about = session.about(environment)
    plan = session.Plan(
        devices=_devices(arguments.device, about, environment),
        allow_reset=arguments.allow_reset,
        allow_garbage=arguments.allow_garbage,
        seconds=arguments.time_limit,
        chosen=arguments.only,
        smoke=arguments.smoke,
        environment=environment,
    )
    report = Report(about, len(plan.devices), plan.allow_reset)
    _save(report, arguments.output)  # now, because a failure at the end would cost the whole run
    terminal.print_facts(_about(report))
    try:
        is_as_known = _run(plan, report)
    except KeyboardInterrupt:
        print(f"ascend-rt: interrupted; {arguments.output} has the results so far", file=sys.stderr)
        return 128 + signal.SIGINT
    finally:  # also after a broken pipe; the results are printed already, so a failure here does not lose them
        _save(report, arguments.output)
    print(f"\n{arguments.output} has all answers and figures. It contains no names of hosts, paths or users.")
    return 0 if is_as_known else 1


def _save(report: Report, path: str) -> None:
    with terminal.explained(f"write {path}"):
        report.save(path)


def _run(plan: session.Plan, report: Report) -> bool:
    """Play, measure, and print the results; return whether all answers are the known ones."""
    with terminal.Progress() as progress:
        session.run(plan, report, progress.show)
    surprises = list(_surprises(report))
    _print_sections(report)
    _print_first(line for line in surprises if line not in progress.faults)
    _print_limits(report)
    _print_latencies(report)
    return not surprises


def _devices(asked: tuple[int, ...] | None, about: dict[str, Any], environment: Mapping[str, str]) -> tuple[int, ...]:
    count = about["devices"]
    if not count:
        raise ValueError(f"the library finds no device; it reports: {session.refusal(environment) or 'nothing'}")
    if asked is None and about["backend"] == "sim":
        return tuple(range(min(2, count)))
    if asked is None:
        raise terminal.UsageError("name the device to use: --device 0, or two for all groups: --device 0,1")
    if asked[-1] >= count:
        raise terminal.UsageError(f"--device expects numbers below {count}, the number of devices, got {asked[-1]}")
    return asked


def _about(report: Report) -> Iterator[tuple[str, str]]:
    library = report.library
    yield "library", "simulator" if library["backend"] == "sim" else "CANN"
    for label, key in (("release", "cann"), ("API version", "api"), ("driver", "driver"), ("chip", "soc")):
        if library.get(key):
            yield label, str(library[key])
    if library["backend"] == "cann" and library["missing"]:
        yield "missing", f"{len(library['missing'])} functions: {', '.join(library['missing'])}"


def _surprises(report: Report) -> Iterator[str]:
    """Yield a line for each answer that is not the known one."""
    yield from (f"{name}: the library does not have it" for name in report.missed())
    for group, played in report.played():
        for call, (code, outputs) in report.surprises(group, played):
            answers = f"answers {_answer(code, outputs)}, expected {_answer(call.code, call.outputs or [])}"
            yield f"{group.name}: {call.function} [{call.case}] {answers}"
    yield from _ended_early(report)
    for measures in (report.limits, report.latencies):
        for name, found in measures.items():
            fault = found.get("error", {})
            if fault and fault.get("code") != _NOT_SUPPORTED:
                yield f"{name}: {' '.join(map(str, fault.values())).rstrip()}"


def _ended_early(report: Report) -> Iterator[str]:
    return (text for group, played in report.played() if (text := played.ended_early(group.name)))


def _answer(code: Any, outputs: list[Any]) -> str:
    return f"{code} {outputs}" if outputs else str(code)


def _print_sections(report: Report) -> None:
    head = ("", "groups", "skipped", "calls", "expected", "different", "unknown", "ended early")
    rows = []
    for section in ("recordings", "facts"):
        counts: Counter[str] = Counter()
        for name, played in report.groups.items():
            if groups()[name].section == section:
                _count(counts, report, name, played)
        if counts:
            rows.append((section, counts))
    if rows:
        total = sum((counts for _, counts in rows), Counter())
        lines = [(label, *(str(counts[column]) for column in head[1:])) for label, counts in [*rows, ("total", total)]]
        terminal.print_table(head, lines)
    skipped = Counter(played.detail for played in report.groups.values() if played.state == "skipped")
    if skipped:
        texts = (f"{count} {'group' if count == 1 else 'groups'}: {reason}" for reason, count in skipped.items())
        terminal.print_facts(("skipped", text) for text in texts)


def _count(counts: Counter[str], report: Report, name: str, played: Played) -> None:
    group = groups()[name]
    counts["skipped" if played.state == "skipped" else "groups"] += 1
    counts["ended early"] += played.state in ("crashed", "hung", "failed")
    counts["calls"] += len(played.answers)
    known = [call for call, _ in zip(group.calls, played.answers) if call.code is not None]  # noqa: B905
    different = len(report.surprises(group, played))
    counts["different"] += different
    if report.is_known(group):
        counts["expected"] += len(known) - different
        counts["unknown"] += len(played.answers) - len(known)
    else:
        counts["unknown"] += len(played.answers)


def _print_limits(report: Report) -> None:
    """Print the limits that were found by trial; the others are in the report."""
    tried = {name: it for name, it in report.limits.items() if it.get("by") in ("created", "submitted")}
    rows = [(name, f"{'at least ' if it['ended'] == 'bound' else ''}{it['value']}") for name, it in tried.items()]
    if rows:
        print()
        terminal.print_columns(("limit", "number"), rows)


def _print_latencies(report: Report) -> None:
    rows = [
        (name, *(_microseconds(found.get(side), each) for side in ("host", "device") for each in ("p50", "p99")))
        for name, found in report.latencies.items()
        if "error" not in found
    ]
    if rows:
        print()
        terminal.print_columns(("latency, µs", "host p50", "p99", "device p50", "p99"), rows)


def _microseconds(found: dict[str, float] | None, which: str) -> str:
    return f"{found[which] / 1000:.2f}" if found else ""


def _print_first(lines: Iterable[str]) -> None:
    lines = list(lines)
    for line in lines[:_LINES]:
        print(line)
    if len(lines) > _LINES:
        print(f"… and {len(lines) - _LINES} more")


# --- a comparison ----------------------------------------------------------------------------------------------------


def _compare(arguments: argparse.Namespace) -> int:
    with terminal.explained(f"read {arguments.compare}, a report of 'ascend-rt verify'"):
        report = load(arguments.compare)
    with terminal.Progress() as progress:
        simulated = comparison.simulate(report, progress.show)
    lines = list(_differences(report, simulated))
    terminal.print_facts(_about(report))
    release, instead = report.library.get("cann"), simulated.library["cann"]
    if release and release != instead:
        print(f"The simulator has no release {release}; it answers as {instead}.")
    for line in lines:
        print(line)
    print(f"{len(lines)} differences from the simulator" if lines else "no difference from the simulator")
    if arguments.profile:
        _write_profile(arguments, report, simulated)
    return 1 if lines else 0


def _write_profile(arguments: argparse.Namespace, report: Report, simulated: Report) -> None:
    """Write a file with the profile alone; into the report itself, beside what is in it."""
    is_report = os.path.realpath(arguments.profile) == os.path.realpath(arguments.compare)
    others = read(arguments.compare) if is_report else {}
    profile, refusals = card_profile.accepted(card_profile.made_of(report, simulated), others)
    with terminal.explained(f"write {arguments.profile}"):
        write_json(arguments.profile, others | {"profile": profile})
    for text in refusals:
        print(f"not in the profile: {text}")
    without = card_profile.codes(report, simulated)[1]
    if without:
        print(f"a profile cannot express the answers of {', '.join(without)}")


def _differences(report: Report, simulated: Report) -> Iterator[str]:
    """Yield a line for each difference: missing functions, early ends, answers by function and group, limits."""
    yield from (f"{name}: the card's library does not have it" for name in report.missed())
    yield from _ended_early(report)
    found = sorted(comparison.differences(report, simulated), key=lambda it: (it.function, it.group))
    for it in found:
        card, simulator = (_answer(*side) if side else "nothing" for side in (it.card, it.simulator))
        yield f"{it.function}: {it.group} [{it.case}]: the card answers {card}, the simulator {simulator}"
    for name, card, simulator in comparison.limits(report, simulated):
        yield f"limit {name}: {card} on the card, {simulator} in the simulator"
    unknown = [name for name, played in report.groups.items() if played.state != "skipped"]
    for name in sorted(set(unknown) - {group.name for group, _ in report.played()}):
        yield f"{name}: played by another version of ascend_rt, not compared"
