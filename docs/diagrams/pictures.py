# SPDX-License-Identifier: Apache-2.0
"""The diagrams of the guide, one function each."""

from __future__ import annotations

from svg import Drawing


def all_of_them() -> dict[str, str]:
    """Return the text of each file by its name without the suffix."""
    return {draw.__name__: draw().svg() for draw in PICTURES}


def record_wait() -> Drawing:
    """Two streams, ordered by an event."""
    d = Drawing(760, 270, "Stream b waits for the record of stream a; the host does not wait")
    host, a, b = d.lanes(["host", "stream a", "stream b"], 90, 60, 735, 75)
    calls = [(105, "copy_async(…, a)"), (243, "ready = a.record()"), (395, "b.wait(ready)"), (512, "copy_async(…, b)")]
    for x, call in calls:
        d.box(x, host - 14, 20 + 7.0 * len(call), 28, f"`{call}`")
    d.text(735, 24, "the host goes on at once", "note", "end")
    d.arrow((165, host + 14), (165, a - 16), dashed=True)
    d.box(150, a - 16, 290, 32, "copy in", "blue")
    d.diamond(455, a)
    d.text(472, a - 16, "record of “ready”", "note")
    d.box(105, b - 16, 180, 32, "earlier work", "green")
    d.box(295, b - 16, 160, 32, "waits", "plain")
    d.arrow((455, a + 9), (455, b - 16))
    d.box(465, b - 16, 180, 32, "copy out", "blue")
    d.text(412, 250, "b goes on here, when a has reached the record", "note", "middle")
    return d


def architecture() -> Drawing:
    """A call from Python to a task and back, by the numbers of architecture.md."""
    d = Drawing(760, 520, "The path of event.record(stream) from Python to a card or to the simulator")
    d.box(40, 24, 440, 40, "`event.record(stream)`", "amber")
    d.arrow((260, 64), (260, 84))
    layers = [
        ("1  facade: ascend_rt", "arguments, current stream, exceptions", "blue"),
        ("2  seam: _runtime/driver.py", "chooses and loads the library at the first call", "blue"),
        ("3  extension module (cffi)", "releases the GIL, calls through a table of functions", "blue"),
    ]
    for number, (name, does, kind) in enumerate(layers):
        top = 84 + 70 * number
        d.box(40, top, 440, 50, f"#{name}\n{does}", kind)
        if number < 2:
            d.arrow((260, top + 50), (260, top + 70))
    d.text(260, 294, "one C ABI: libascendcl.so", "note", "middle")
    d.line((260, 274), (260, 284))
    d.line((260, 304), (260, 314), (620, 314))
    d.arrow((260, 314), (260, 334))
    d.arrow((620, 314), (620, 334))
    d.box(520, 334, 200, 64, "#the vendor's library\nCANN", "plain")
    d.arrow((620, 398), (620, 440))
    d.box(520, 440, 200, 56, "#Ascend NPU", "green")
    d.box(40, 334, 440, 162, "", "plain")
    d.text(260, 352, "simulator", "title", "middle")
    parts = ["4  entry point\nlock, handles, checks", "5  task\na record and its signal"]
    parts += ["6  core\nqueues, order", "7  threads\ncopies, kernels"]
    for number, part in enumerate(parts):
        left, top = 60 + 205 * (number % 2), 370 + 62 * (number // 2)
        d.box(left, top, 195, 50, "#" + part, "green")
    d.arrow((255, 395), (265, 395))
    d.arrow((362, 420), (362, 426), (158, 426), (158, 432))
    d.arrow((255, 457), (265, 457))
    d.arrow((480, 350), (500, 350), (500, 44), (480, 44), dashed=True)
    d.text(512, 110, "8  back: the code is returned,", "note")
    d.text(512, 128, "the GIL is taken again, the facade", "note")
    d.text(512, 146, "returns or raises an exception", "note")
    return d


PICTURES = (record_wait, architecture)
