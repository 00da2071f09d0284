# SPDX-License-Identifier: Apache-2.0
"""``ASCEND_RT_SIM_CHECK=races``: what brings order and what does not, what counts as an access, and the reports.

The programs of the rules are in support/race_rules.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.race_check import RACE, READ, WRITE, findings_of, races_of, word_at
from support.race_rules import (
    AWAIT_MANUAL,
    GRAPH_WITHOUT_EDGE,
    MANUAL,
    ORDERED,
    PARTS,
    RACES,
    RECORD_A,
    TOUCH,
    check_names_of_parts,
)

pytestmark = pytest.mark.simulator("race check")


@pytest.mark.parametrize("program", ORDERED.values(), ids=ORDERED)
def test_nothing_is_reported(program: str) -> None:
    assert races_of(program) == []


@pytest.mark.parametrize(("program", "races"), RACES.values(), ids=RACES)
def test_races_are_reported(program: str, races: list[str]) -> None:
    assert races_of(program) == races


def test_a_wait_for_room_in_a_queue_is_no_synchronization(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"profile": {"format": 1, "limits": {"queue_depth": 8}}}), encoding="utf-8")
    # A pipe, because a lock would bring order from the host function.
    program = (
        "opens, open_ = os.pipe()\nbegun = []\n"
        + "def open_gate():\n    while len(begun) < 8: pass\n    os.write(open_, b'o')\n"
        + WRITE
        + "a.launch_host_func(lambda: os.read(opens, 1))\nthreading.Thread(target=open_gate).start()\n"
        + "for i in range(12):\n    begun.append(i)\n    fill_async(z, 1, a)\n"
        + READ
    )
    assert races_of(program, {"ASCEND_RT_SIM_PROFILE": str(profile)}) == RACE


def test_the_reason_names_the_record_that_an_event_keeps_until_its_reset() -> None:
    rounds = f"for i in range(2):\n    {WRITE}    {RECORD_A}    {AWAIT_MANUAL}    {READ}"
    (report,) = (it for it in findings_of(MANUAL + rounds + "    a.wait(b)\n") if it["kind"] == "race")
    assert report["why"]["case"] == "not_reset"
    assert [word_at(MANUAL + rounds, report[side]["frames"]) for side in ("first", "second")] == ["write", "read"]


def test_a_graph_is_named_by_its_launch_and_a_batch_by_its_parts() -> None:
    captures = (
        "with a.capture() as fills:\n    copy_async(x, p, a)\nwith b.capture() as reads:\n    copy_async(y, x, b)\n"
    )
    (report,) = (it for it in findings_of(f"{captures}fills.launch(a)  # one\nreads.launch(b)  # two\n") if "fix" in it)
    places = [report["first"]["launched"], report["fix"]["record_after"], report["fix"]["wait_before"]]
    assert [word_at(captures + "fills.launch(a)  # one\nreads.launch(b)  # two\n", it) for it in places] == [
        "one",
        "one",
        "two",
    ]
    (within,) = (it for it in findings_of(GRAPH_WITHOUT_EDGE) if "fix" in it)
    assert within["fix"]["case"] == "edge"
    for call in ("copy_batch_async([{}], stream=a)", "copy_batch([{}])"):
        overlap = call.format("(x[:64], p[:64]), (x[32:96], q[:64])")
        (parts,) = (it for it in findings_of(overlap) if "fix" in it)
        assert (parts["fix"]["case"], parts["why"]["case"]) == ("batch", "no_wait")


def test_no_wait_is_named_between_executions_of_a_graph() -> None:
    launches = "with c.capture() as g:\n    copy_async(x, p, c)\ng.launch(a)\ng.launch(b)\nfill_async(x, 1, a)\n"
    (report,) = (it for it in findings_of(launches) if it["kind"] == "race")
    assert report["why"] == {"case": "no_wait"}


@pytest.mark.parametrize(
    ("size", "elements"), [(256, ":"), (4096, ":"), (5000, ":"), (4096, "100"), (9000, "4000:4500"), (64, "7")]
)
def test_an_access_of_numpy_counts_once(size: int, elements: str) -> None:
    program = (
        f"m, d = PinnedBuffer({size}), Buffer({size})\n"
        f"for i in range(3):\n    m[{elements}] = i\n    copy_async(d, m, a)\n"
    )
    findings = findings_of(program)
    (report,) = (it for it in findings if it["kind"] == "race")
    counts = [it["count"] for it in findings if it["kind"] == "count" and it["id"] == report["id"]]
    assert counts[-1:] == [2]


def test_an_access_of_c_code_to_several_pages_counts_once() -> None:
    program = (
        "import ctypes\n"
        "m, d = PinnedBuffer(3 * 4096), Buffer(3 * 4096)\n"
        "for _ in range(2):\n"
        "    copy_async(m, d, a)\n"
        "    a.synchronize()\n"
        "    copy_async(m[:4096], d[:4096], a)\n"
        "    copy_async(m[4096:], d[4096:], a)\n"
        "    ctypes.string_at(int(m.ctypes.data), 3 * 4096)\n"
    )
    findings = findings_of(program)
    races = [it for it in findings if it["kind"] == "race"]
    counts = {it["id"]: it["count"] for it in findings if it["kind"] == "count"}
    assert [counts[it["id"]] for it in races] == [2, 2]  # one for each copy


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("gate", ["notify", "event"])
def test_a_fix_of_a_reader_that_waits_for_the_next_write_is_no_wait_for_itself(slots: int, gate: str) -> None:
    """The newest record behind the read is one of a read that waits for the write."""
    opened = {
        "notify": ("n.wait(b)", "n.record(a)"),
        "event": ("b.wait(g)", "g.record(a); a.synchronize(); g.reset(a)"),
    }
    wait, record = opened[gate]
    program = (
        "n, k, g, m = Notify(), Notify(), Event(manual_reset=True), [x, z]\nfor i in range(4):\n"
        f"    {wait}\n    copy_async(y, m[i % {slots}], b)  # read\n    AFTER_READ\n    BEFORE_WRITE\n"
        f"    fill_async(m[i % {slots}], i, a)  # write\n    {record}\n"
    )
    present = program.replace("AFTER_READ", "pass").replace("BEFORE_WRITE", "pass")
    (report,) = (it for it in findings_of(present) if it["kind"] == "race")
    fix = report["fix"]
    assert fix["case"] == "notify"
    assert [word_at(program, fix[end]) for end in ("record_after", "wait_before")] == ["read", "write"]
    fixed = program.replace("AFTER_READ", "k.record(b)").replace("BEFORE_WRITE", "if i: k.wait(a)")
    assert races_of(fixed) == []


@pytest.mark.parametrize(("product", "case"), [("310P", "synchronize"), ("910B", "event")])
def test_a_fix_between_devices_is_one_that_the_product_heeds(product: str, case: str) -> None:
    changes = {
        "": "",
        "event": "device.set_current()\ne.record(a)\nfar.set_current()\nd.wait(e)\n",
        "synchronize": "device.set_current()\na.synchronize()\nfar.set_current()\n",
    }
    found = {}
    for name, change in changes.items():
        program = (
            "copy_async(p, x, a)  # write\nfar = Device(1)\nfar.set_current()\nd, m = Stream(), Buffer(4096)\n"
            f"{change}copy_async(m, p, d)\nd.synchronize()\ndevice.set_current()\n"
        )
        found[name] = [it for it in findings_of(program, {"ASCEND_RT_SIM_PRODUCT": product}) if it["kind"] == "race"]
    (report,) = found[""]
    assert report["fix"]["case"] == case
    assert found[case] == found["synchronize"] == []
    assert bool(found["event"]) == (product == "310P")


def test_a_report_counts_and_names_both_places() -> None:
    program = "for i in range(5):\n    e.record(a)\n    " + WRITE + "    b.wait(e)\n    " + READ
    found = findings_of(program)
    report, opposite = (it for it in found if it["kind"] == "race")
    assert word_at(program, report["first"]["frames"]) == word_at(program, opposite["second"]["frames"]) == "write"
    assert (report["bytes"], report["offset"]) == (4096, 0)
    assert (report["memory"]["kind"], report["memory"]["number"]) == ("device", 1)
    assert report["why"]["case"] == "late_record"
    counts = {it["id"]: it["count"] for it in found if it["kind"] == "count"}  # the last ones
    assert (counts[report["id"]], counts[opposite["id"]]) == (5, 4)
    assert found[-1]["kind"] == "end"


@pytest.mark.parametrize(
    ("rows", "copies", "note"),
    [
        (1 << 16, 8, "an allocation was accessed in more than 1000000 different pieces"),
        ((1 << 16) + 1, 1, "an access of more than 65536 separate pieces was left out"),
        (1 << 16, 1, ""),
    ],
)
def test_a_report_says_what_was_in_too_many_pieces(rows: int, copies: int, note: str) -> None:
    program = (
        f"m, n = Buffer({2 * rows * copies}), Buffer({rows})\nfor i in range({copies}):\n"
        f"    ok(lib.aclrtMemcpy2dAsync(address(m) + i * {2 * rows}, 2, address(n), 1, 1, {rows}, "
        "lib.ACL_MEMCPY_DEVICE_TO_DEVICE, raw(a)))\n"
    )
    notes = [it["text"] for it in findings_of(program) if it["kind"] == "note"]
    assert [it[: len(note)] for it in notes] == ([note] if note else [])


def test_a_part_that_an_allocator_has_given_out_has_a_name_and_a_place() -> None:
    check_names_of_parts(findings_of(PARTS))


def test_a_part_may_get_its_name_after_its_first_use() -> None:
    naming = "ok(lib.aclsimNamePart(address_of, first))\n"
    program = PARTS.replace(naming, "").replace("ok(lib.aclsimNoteGivenOut(address_of, 128))  # again\n", naming)
    (race,) = (it for it in findings_of(program) if it["kind"] == "race")
    assert race["memory"]["name"] == "float32[64]"


@pytest.mark.parametrize(
    ("program", "hints"),
    [
        (WRITE + "e.record(a); b.wait(e)\nb.wait(e)  # again\n" + READ, {"redundant_wait": "again"}),
        ("b.wait(e)  # wait\n" + READ, {"wait_without_record": "wait"}),
        (WRITE + "a.synchronize()  # wait\n" + READ, {"host_wait": "wait"}),
        (WRITE + "a.synchronize()\ncopy(bytearray(4096), x)\n" + READ, {}),
        (WRITE + "e.record(a); b.wait(e)\n" + READ, {}),
        (WRITE + "a.synchronize()\n" + TOUCH + READ, {}),
        (
            WRITE + "e.record(a); b.wait(e); fill_async(z, 1, b); b.synchronize()\n" + TOUCH + "copy_async(y, z, c)\n",
            {},
        ),
        (
            "e, f = Event(timing=True), Event(timing=True)\ne.record(a)\n"
            + WRITE
            + "f.record(a); f.synchronize(); e.elapsed_time(f)\n"
            + READ,
            {},
        ),
        (WRITE + "while not a.is_done: pass\n" + READ, {}),
        (WRITE + "a.close(); a = Stream()\n" + READ, {}),
    ],
)
def test_hints(program: str, hints: dict[str, str]) -> None:
    found = [it for it in findings_of(program) if it["kind"] == "hint"]
    assert {it["hint"]: word_at(program, it["frames"]) for it in found} == hints


@pytest.mark.parametrize("is_held", [False, True])
def test_hints_are_the_same_whether_or_not_the_last_waits_need_tasks(is_held: bool) -> None:
    gate = "go = threading.Event()\na.launch_host_func(go.wait)\n" + ("" if is_held else "go.set(); a.synchronize()\n")
    program = gate + "e.record(a)\nb.wait(e)\nb.wait(e)\ngo.set()\n"
    assert not [it for it in findings_of(program) if it["kind"] == "hint" and it["hint"] == "redundant_wait"]


def test_a_hint_names_the_stream_that_waits_unless_the_host_does() -> None:
    hints = [it for it in findings_of("b.wait(e)\n" + WRITE + "a.synchronize()\n" + READ) if it["kind"] == "hint"]
    assert {it["hint"]: it["stream"] for it in hints} == {"wait_without_record": 3, "host_wait": None}


def test_no_event_is_hinted_at_where_the_product_ignores_it() -> None:
    program = (
        "copy_async(p, x, a)\na.synchronize()\nfar = Device(1)\nfar.set_current()\nd, m = Stream(), Buffer(4096)\n"
        "copy_async(m, p, d)\nd.synchronize()\ndevice.set_current()\n"
    )
    for product, count in (("910B", 1), ("310B", 0)):
        found = findings_of(program, {"ASCEND_RT_SIM_PRODUCT": product})
        assert sum(it["kind"] == "hint" for it in found) == count, found


def reports_of(program: str) -> list[dict[str, Any]]:
    return [it for it in findings_of(program) if it["kind"] == "race"]


def test_streams_that_have_the_same_race_are_written_with_its_count() -> None:
    program = (
        "for i, s in enumerate((a, b)):\n    copy_async(x[64 * i : 64 * (i + 1)], p[:64], s)\n"
        "for _ in range(2):\n    copy_async(q, x, c)\n    c.synchronize()\n"
    )
    found = findings_of(program)
    lines = [it for it in found if it["kind"] in ("race", "count")]
    assert [it["fix"]["record_stream"] if "fix" in it else None for it in lines] == [2, 3, None, None]
    assert lines[-1]["count"] == 4


def test_the_reason_is_the_newest_wait() -> None:
    # The first wait finds no record, as in most pipelines; the race is due to the second.
    late = "b.wait(e)\ne.record(a)\n" + WRITE + "b.wait(e)  # wait\n" + READ
    (report,) = reports_of(late)
    assert report["why"]["case"] == "late_record"
    assert word_at(late, report["why"]["wait"]) == "wait"
    (report,) = reports_of(WRITE + "f.record(c); b.wait(f)\nb.wait(e)  # wait\n" + READ)
    assert report["why"]["case"] == "unbound_wait"


@pytest.mark.parametrize("is_held", [False, True])
def test_the_newest_wait_is_the_same_whether_or_not_it_needed_a_task(is_held: bool) -> None:
    gate = "go = threading.Event()\nc.launch_host_func(go.wait)\n" + ("" if is_held else "go.set(); c.synchronize()\n")
    program = gate + WRITE + "f.record(c)\nb.wait(e)\nb.wait(f)\n" + READ + "go.set()\n"
    assert [report["why"]["case"] for report in reports_of(program)] == ["no_wait"]


def test_a_wait_counts_whether_or_not_it_needed_a_task() -> None:
    complete = "e.record(c)\nc.synchronize()\nb.wait(e)\n" + WRITE + READ
    held = "go = threading.Event()\nc.launch_host_func(go.wait)\ne.record(c)\nb.wait(e)\n" + WRITE + READ + "go.set()\n"
    assert [it["second"]["task"] for program in (complete, held) for it in reports_of(program)] == [2, 2]


def test_the_same_findings_in_every_run() -> None:
    program = (
        "for i in range(20):\n    e.record(a)\n    copy_async(x, p, a)  # write\n    b.wait(e)\n"
        "    copy_async(y, x, b)  # read\n"
        "    copy_async(x, z, c)  # again\n    f.record(b)\n    a.wait(f)\n" + TOUCH
    )

    def comparable(finding: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in finding.items() if key != "pid"}
        return {**kept, "frames": word_at(program, finding.get("frames", []))}

    def shown(text: object) -> str:
        return re.sub(r"/\S*program\.py", "program.py", repr(text))

    runs = {
        shown([comparable(it) for it in findings_of(program, {"ASCEND_RT_SIM_WORKERS": str(1 + run % 3)})])
        for run in range(10)
    }
    assert len(runs) == 1
    assert "read after write" in runs.pop()
