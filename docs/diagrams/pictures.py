# SPDX-License-Identifier: Apache-2.0
"""The diagrams of the guide, one function each."""

from __future__ import annotations

from svg import LINE, Drawing


def all_of_them() -> dict[str, str]:
    """Return the text of each file by its name without the suffix."""
    return {draw.__name__: draw().svg() for draw in PICTURES}


def record_wait() -> Drawing:
    """Draw two streams, ordered by an event."""
    d = Drawing(760, 270, "Stream b waits for the record of stream a; the host does not wait")
    host, a, b = d.lanes(["host", "stream a", "stream b"], 90, 60, 735, 75)
    calls = [(105, "copy_async(…, a)"), (243, "ready = a.record()"), (395, "b.wait(ready)"), (512, "copy_async(…, b)")]
    for x, call in calls:
        d.box(x, host - 14, 20 + 7.0 * len(call), 28, f"`{call}`")
    d.text(735, 24, "the host continues at once", "note", "end")
    d.arrow((165, host + 14), (165, a - 16), dashed=True)
    d.box(150, a - 16, 290, 32, "copy in", "blue")
    d.diamond(455, a)
    d.text(472, a - 16, "record of “ready”", "note")
    d.box(105, b - 16, 180, 32, "earlier work", "green")
    d.box(295, b - 16, 160, 32, "waits", "plain")
    d.arrow((455, a + 9), (455, b - 16))
    d.box(465, b - 16, 180, 32, "copy out", "blue")
    d.text(412, 250, "b continues here, when a has reached the record", "note", "middle")
    return d


def architecture() -> Drawing:
    """Draw a call from Python to a task and back, by the numbers of architecture.md."""
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


def binding() -> Drawing:
    """Draw an event that is recorded twice, and the record that each wait is bound to."""
    d = Drawing(760, 300, "Each wait is bound to the newest record at the time of its call")
    a, b, c = d.lanes(["stream a", "stream b", "stream c"], 90, 80, 735, 80)
    d.text(90, 26, "One event, recorded twice. The numbers are the order of the calls.", "note")
    d.box(105, a - 16, 130, 32, "work", "blue")
    d.diamond(260, a)
    d.text(260, a - 24, "1  record", "", "middle")
    d.box(290, a - 16, 250, 32, "more work", "blue")
    d.diamond(565, a)
    d.text(565, a - 24, "3  record", "", "middle")
    d.box(105, b - 16, 145, 32, "2  wait", "plain")
    d.box(270, b - 16, 150, 32, "continues", "green")
    d.arrow((260, a + 9), (260, b - 16))
    d.box(105, c - 16, 450, 32, "4  wait", "plain")
    d.box(575, c - 16, 120, 32, "continues", "green")
    d.arrow((565, a + 9), (565, c - 16))
    d.text(272, (a + b) / 2, "bound to the first record", "note")
    d.text(577, (a + b) / 2, "bound to the second", "note")
    d.text(412, 280, "The second record does not change the wait of stream b.", "note", "middle")
    return d


def double_buffering() -> Drawing:
    """Draw two slots: the host fills one while the device reads the other."""
    d = Drawing(760, 250, "The host fills one slot while the device reads the other")
    host, device = d.lanes(["host", "device"], 90, 60, 735, 90)
    for part in range(4):
        slot, kind = "AB"[part % 2], ("blue", "green")[part % 2]
        left = 105 + 120 * part
        d.box(left, host - 18, 90, 36, f"fill {slot}\npart {part}", kind)
        d.box(left + 120, device - 18, 90, 36, f"read {slot}\npart {part}", kind)
        d.arrow((left + 90, host), (left + 105, host), (left + 105, device), (left + 120, device))
        if part < 2:
            d.arrow(
                (left + 195, device - 18), (left + 195, host + 42), (left + 255, host + 42), (left + 255, host + 18)
            )
        d.diamond(left + 195, device - 18)
    d.text(
        412, 205, "A diamond is the record of the slot's event, after the device has read the slot.", "note", "middle"
    )
    d.text(412, 224, "The host waits for it before it fills the same slot again.", "note", "middle")
    return d


def ipc() -> Drawing:
    """Draw the steps of the exporter and of the other process, in their order."""
    d = Drawing(
        760, 390, "The exporter creates and exports; the other process opens and closes; the exporter closes last"
    )
    d.box(20, 20, 300, 320, "", "plain")
    d.box(440, 20, 300, 320, "", "plain")
    d.text(170, 40, "exporter", "title", "middle")
    d.text(590, 40, "the other process", "title", "middle")
    steps = [
        (30, 60, "`buffer = Buffer(n)`\n`shared = IpcMemory(buffer)`", "blue"),
        (30, 120, "`event = Event(ipc=True)`\n`key = event.export()`", "amber"),
        (450, 160, "`there = IpcMemory.open(key, n)`\n`event = Event.open(key)`", "blue"),
        (30, 210, "copy, then\n`event.record(stream)`", "amber"),
        (450, 220, "`stream.wait(event)`\nthen copy", "amber"),
        (450, 280, "`event.close()`\n`there.close()`", "red"),
        (30, 285, "`shared.close()`\n`buffer.close()`", "red"),
    ]
    for x, y, text, kind in steps:
        d.box(x, y, 280, 46, text, kind)
    d.arrow((310, 143), (380, 143), (380, 183), (450, 183))
    d.text(380, 130, "keys", "note", "middle")
    d.arrow((310, 233), (450, 233))
    d.text(380, 221, "recorded", "note", "middle")
    d.arrow((450, 303), (310, 303))
    d.text(380, 291, "closed", "note", "middle")
    d.text(
        380, 362, "The program sends the keys and both messages through a pipe, a socket or a file.", "note", "middle"
    )
    return d


def library_choice() -> Drawing:
    """Draw the choice of a library, from the first call on."""
    d = Drawing(760, 500, "Which library is chosen")
    d.box(60, 20, 240, 36, "the first call", "amber")
    questions = [
        (110, "`ASCEND_RT_BACKEND`\nor use() says “sim”?", "yes", "simulator", "green"),
        (210, "a vendor's library is in\nthe process already?", "yes", "that one; an error if it is broken", "blue"),
        (310, "`ASCEND_RT_LIBRARY`\nis set?", "yes", "that one; an error if it cannot be used", "blue"),
        (
            410,
            "CANN is found, by variables,\nknown places, the loader?",
            "yes",
            "the first usable; an error if all are broken",
            "blue",
        ),
    ]
    top = 56
    for y, question, answer, result, kind in questions:
        d.arrow((180, top), (180, y - 36))
        d.box(60, y - 36, 240, 66, question, "plain")
        d.arrow((300, y - 3), (400, y - 3))
        d.text(350, y - 14, answer, "note", "middle")
        d.box(400, y - 24, 330, 42, result, kind)
        top = y + 30
    d.text(192, 155, "no", "note")
    d.text(192, 255, "no", "note")
    d.text(192, 355, "no", "note")
    d.line((180, 440), (180, 467))
    d.arrow((180, 467), (400, 467))
    d.text(192, 455, "no", "note")
    d.box(400, 446, 330, 42, "auto: simulator, with a warning\ncann: an error with every place", "green")
    return d


def memory() -> Drawing:
    """Draw the kinds of memory, and the sides that can read them."""
    d = Drawing(760, 400, "Kinds of memory: of the host, of both, and of the device")
    d.box(20, 20, 225, 330, "", "plain")
    d.box(265, 20, 225, 330, "", "plain")
    d.box(510, 20, 230, 330, "", "plain")
    columns = [
        (132, "host", ["ordinary\n`numpy, bytes`", "pinned\n`PinnedBuffer`"], "blue"),
        (377, "host and device", ["registered\n`RegisteredMemory`", "managed\n`ManagedBuffer`"], "amber"),
        (625, "device", ["allocated\n`Buffer`", "pool, by stream\n`MemoryPool`", "mapped\n`VirtualMemory`"], "green"),
    ]
    for x, title, kinds, kind in columns:
        d.text(x, 40, title, "title", "middle")
        for number, name in enumerate(kinds):
            d.box(x - 95, 60 + 70 * number, 190, 52, name, kind)
    d.box(530, 270, 190, 52, "physical\n`PhysicalMemory`", "green")
    d.arrow((625, 270), (625, 252))
    notes = ["an asynchronous copy", "waits for its stream", "with ordinary memory, and", "returns at once with pinned"]
    for number, line in enumerate(notes):
        d.text(132, 222 + LINE * number, line, "note", "middle")
    notes = [
        "registered: memory of the",
        "program, seen by the device",
        "managed: pages move to",
        "the side that uses them",
    ]
    for number, line in enumerate(notes):
        d.text(377, 222 + LINE * number, line, "note", "middle")
    d.text(
        380,
        376,
        "Buffers are shared with other processes by IpcMemory, physical memory by its own export().",
        "note",
        "middle",
    )
    return d


def capture() -> Drawing:
    """Draw a capture that forks to a second stream and joins it."""
    d = Drawing(760, 310, "A capture takes a second stream in by a wait, and must join it before the end")
    a, b = d.lanes(["stream a", "stream b"], 90, 80, 735, 90)
    d.line((105, 46), (105, 200), dashed=True)
    d.line((680, 46), (680, 200), dashed=True)
    d.text(110, 34, "with a.capture() as graph:", "code")
    d.text(680, 34, "end of the block", "note", "middle")
    d.box(120, a - 16, 110, 32, "copy 1", "blue")
    d.diamond(252, a)
    d.box(275, a - 16, 190, 32, "copy 2", "blue")
    d.box(565, a - 16, 100, 32, "function", "green")
    d.arrow((252, a + 9), (252, b), (275, b))
    d.text(262, (a + b) / 2 - 8, "fork: b.wait(a)", "note")
    d.box(275, b - 16, 235, 32, "copy 3", "blue")
    d.diamond(532, b)
    d.arrow((532, b - 9), (532, a), (565, a))
    d.text(522, (a + b) / 2 - 8, "join: a.wait(b)", "note", "end")
    d.text(90, 240, "the graph", "title", "end")
    for x, text, kind in ((120, "copy 1", "blue"), (565, "function", "green")):
        d.box(x, 240, 110, 30, text, kind)
    d.box(330, 220, 135, 30, "copy 2", "blue")
    d.box(330, 265, 135, 30, "copy 3", "blue")
    d.line((230, 255), (280, 255))
    d.arrow((280, 255), (280, 235), (330, 235))
    d.arrow((280, 255), (280, 280), (330, 280))
    d.line((465, 235), (515, 235), (515, 280), (465, 280))
    d.arrow((515, 255), (565, 255))
    return d


def failure() -> Drawing:
    """Draw the life of a failure, from the task to the exception."""
    d = Drawing(760, 420, "A failed task is reported at the next wait for its stream")
    host, stream = d.lanes(["host", "stream"], 80, 60, 735, 110)
    d.box(95, host - 18, 130, 36, "`kernel.launch()`", "plain")
    d.text(160, host - 30, "returns", "note", "middle")
    d.arrow((160, host + 18), (160, stream - 18), dashed=True)
    d.box(145, stream - 18, 150, 36, "the task fails", "red")
    d.box(315, stream - 18, 150, 36, "later tasks run", "green")
    d.text(390, stream + 32, "in STOP mode: they are dropped", "note", "middle")
    d.box(380, host - 18, 165, 36, "`stream.synchronize()`", "plain")
    d.arrow((465, stream), (505, stream), (505, host + 18))
    d.arrow((545, host), (600, host))
    d.box(600, host - 18, 120, 36, "`TaskFailed`", "red")
    d.line((220, stream + 18), (220, 250))
    d.arrow((220, 250), (220, 270))
    d.box(80, 270, 290, 60, "#on_task_failed\nthe runtime's callback, at once,\non another thread", "amber")
    d.arrow((660, host + 18), (660, 270))
    d.box(420, 270, 310, 60, "#one exception\ncode, name, cause, hint,\ntask and stream", "red")
    d.text(
        380,
        360,
        "A synchronization reports a failure once. Until then check(), is_done and events report it without waiting.",
        "note",
        "middle",
    )
    d.text(
        380,
        380,
        "stream.close() and the end of “with stream” raise a failure that no synchronization has reported.",
        "note",
        "middle",
    )
    return d


def missing_order(d: Drawing, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw the order that a program lacks, from the end of one access to the beginning of another."""
    (x, y), (to, end_y) = start, end
    middle = (y + end_y) / 2
    d.arrow(start, (x, middle), (to, middle), end, dashed=True)
    d.box((x + to) / 2 - 34, middle - 12, 68, 24, "missing", "red")


def late_record() -> Drawing:
    """Draw the first example of check.md: a wait that is bound to a record before the copy."""
    d = Drawing(760, 310, "The record precedes the copy that it should cover, so the other stream reads too early")
    host, loads, stores = d.lanes(["host", "loads", "stores"], 90, 65, 735, 90)
    d.text(90, 24, "Numbers are lines of the program.", "note")
    calls = [(105, 110, "11 record"), (235, 135, "12 copy_async"), (390, 90, "13 wait"), (500, 135, "14 copy_async")]
    for x, width, call in calls:
        d.box(x, host - 16, width, 32, f"`{call}`")
    d.diamond(160, loads)
    d.text(160, loads - 22, "11 record", "note", "middle")
    d.box(235, loads - 18, 220, 36, "12 writes the buffer", "red")
    d.box(345, stores - 18, 90, 36, "13 wait", "plain")
    d.arrow((160, loads + 9), (160, (loads + stores) / 2), (370, (loads + stores) / 2), (370, stores - 18))
    d.text(172, (loads + stores) / 2 + 14, "bound to this record", "note")
    d.box(530, stores - 18, 180, 36, "14 reads the buffer", "red")
    missing_order(d, (435, loads + 18), (620, stores - 18))
    d.text(412, 288, "The record belongs behind line 12: then the arrow begins after the write.", "note", "middle")
    return d


def host_write() -> Drawing:
    """Draw the second example of check.md: the host fills memory that a copy still reads."""
    d = Drawing(760, 240, "The host writes the next batch while the copy of the last one may still read the memory")
    host, stream = d.lanes(["host", "stream"], 90, 70, 735, 105)
    d.text(90, 24, "Numbers are lines of the program.", "note")
    d.box(105, host - 18, 130, 36, "`7 batch[:] = 0`", "plain")
    d.box(250, host - 18, 130, 36, "`8 copy_async`", "plain")
    d.arrow((275, host + 18), (275, stream - 18))
    d.text(287, (host + stream) / 2, "submits", "note")
    d.box(255, stream - 18, 220, 36, "8 reads the batch", "red")
    d.box(550, host - 18, 160, 36, "`7 batch[:] = 1`", "red")
    missing_order(d, (455, stream - 18), (630, host + 18))
    d.text(412, 222, "copy_async returns at once; the copy may run at any time after it.", "note", "middle")
    return d


def early_free() -> Drawing:
    """Draw the third example of check.md: a free in the order of one stream while another one reads."""
    d = Drawing(760, 265, "The block is freed in the order of one stream while another stream may still read it")
    compute, copies = d.lanes(["compute", "copies"], 90, 85, 735, 105)
    d.text(90, 24, "Numbers are lines of the program.", "note")
    d.box(105, compute - 18, 95, 36, "8 allocate", "green")
    d.box(210, compute - 18, 65, 36, "9 fill", "blue")
    d.diamond(300, compute)
    d.text(312, compute - 12, "10 record", "note")
    d.box(260, copies - 18, 80, 36, "10 wait", "plain")
    d.arrow((300, compute + 9), (300, copies - 18))
    d.box(355, copies - 18, 165, 36, "11 reads the block", "red")
    d.box(535, compute - 18, 80, 36, "12 free", "red")
    d.box(625, compute - 18, 95, 36, "next user", "plain")
    missing_order(d, (420, copies - 18), (575, compute + 18))
    d.text(412, 243, "After the free, the pool gives the block to the next allocation on compute.", "note", "middle")
    return d


def ranks() -> Drawing:
    """Draw the ranks of a communicator, on two hosts."""
    d = Drawing(760, 330, "Three ranks on two hosts: processes of one host read each other's memory")
    places = [(60, "rank 0", "device 0"), (285, "rank 1", "device 1"), (540, "rank 2", "device 0")]
    d.box(30, 30, 440, 220, "", "plain")
    d.box(510, 30, 220, 220, "", "plain")
    d.text(250, 50, "host A", "title", "middle")
    d.text(620, 50, "host B", "title", "middle")
    for x, name, device in places:
        d.box(x, 66, 160, 50, f"#{name}: a process\ntorch_npu, its program", "blue")
        d.arrow((x + 80, 116), (x + 80, 136))
        d.box(x, 136, 160, 44, "`libhccl.so`\na task of a stream", "amber")
        d.arrow((x + 80, 180), (x + 80, 196))
        d.box(x, 196, 160, 40, f"memory of {device}", "green")
    d.arrow((285, 216), (220, 216))
    d.text(252, 204, "reads", "note", "middle")
    d.line((365, 236), (365, 276), (620, 276), (620, 236))
    d.line((140, 236), (140, 276), (365, 276))
    d.text(412, 296, "TCP: addresses, agreement, small messages; all data between hosts", "note", "middle")
    return d


PICTURES = (
    record_wait,
    architecture,
    binding,
    double_buffering,
    ipc,
    library_choice,
    memory,
    capture,
    failure,
    late_record,
    host_write,
    early_free,
    ranks,
)
