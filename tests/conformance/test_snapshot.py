# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the process: their states, their callbacks, and the calls that wait while the process is locked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.codes import INVALID_PARAM, RT_PARAM, UNSUPPORTED

LOCK, UNLOCK, BACKUP, RESTORE, CALLBACK, REGISTER = 507906, 507907, 507908, 507909, 507912, 507913

START = """
    pid = os.getpid()
    do = {
        "L": lambda: lib.aclrtSnapShotProcessLock(pid, ffi.NULL),
        "U": lambda: lib.aclrtSnapShotProcessUnlock(pid, ffi.NULL),
        "B": lambda: lib.aclrtSnapShotProcessBackup(pid, ffi.NULL),
        "R": lambda: lib.aclrtSnapShotProcessRestore(pid, ffi.NULL),
    }
    keep = []
    def callback(answer):
        function = ffi.callback("aclrtSnapShotCallBack", lambda *arguments: answer(*arguments))
        keep.append(function)
        return function
    def tag(number):
        return ffi.cast("void *", number)
    def number(pointer):
        return int(ffi.cast("intptr_t", pointer))
"""

SEQUENCES = [
    ("U", [UNLOCK]),
    ("B", [BACKUP]),
    ("R", [RESTORE]),
    ("LU", [0, 0]),
    ("LLU", [0, LOCK, 0]),
    ("LUU", [0, 0, UNLOCK]),
    ("LRU", [0, RESTORE, 0]),
    ("LBU", [0, 0, 0]),
    ("LBBU", [0, 0, BACKUP, 0]),
    ("LBLU", [0, 0, LOCK, 0]),
    ("LBRU", [0, 0, 0, 0]),
    ("LBRRU", [0, 0, 0, RESTORE, 0]),
    ("LBRBRU", [0, 0, 0, 0, 0, 0]),
    ("LBULRBU", [0, 0, 0, 0, RESTORE, 0, 0]),
]


@pytest.mark.parametrize(("calls", "codes"), SEQUENCES)
def test_states(calls: str, codes: list[int], child: Any) -> None:
    script = (
        START
        + """
    results = [[do[letter](), lib.aclrtGetLastError(0), text()] for letter in sys.argv[1]]
    reported([results, lib.aclrtSetDevice(0)])
    """
    )
    results, after = child(script, calls)
    assert [code for code, _, _ in results] == codes
    assert [remembered for _, remembered, _ in results] == codes
    assert all((text is None) == (code == 0) for code, _, text in results)
    assert after == 0


def test_wrong_arguments(child: Any) -> None:
    script = (
        START
        + """
    names = ("Lock", "Backup", "Restore", "Unlock")
    results = []
    for name in names:
        call = getattr(lib, "aclrtSnapShotProcess" + name)
        some = ffi.new("char[64]")
        some = ffi.cast(ffi.typeof(call).args[1], some)
        results.append([call(pid + 1, ffi.NULL), call(0, ffi.NULL), call(-1, ffi.NULL), call(pid, some)])
    reported([results, lib.aclrtGetLastError(0), do["L"](), do["U"]()])
    """
    )
    results, remembered, lock, unlock = child(script)
    assert results == [[INVALID_PARAM] * 4] * 4
    assert (remembered, lock, unlock) == (0, 0, 0)


REGISTERING = [
    # stage, which callback (0: NULL), register or unregister, code
    (0, 1, "+", 0),
    (0, 1, "+", REGISTER),
    (0, 2, "+", 0),
    (5, 1, "+", 0),
    (0, 0, "+", RT_PARAM),
    (0, 0, "-", RT_PARAM),
    (6, 1, "+", RT_PARAM),
    (2**32 - 1, 1, "+", RT_PARAM),
    (6, 1, "-", RT_PARAM),
    (1, 1, "-", RT_PARAM),
    (0, 1, "-", 0),
    (0, 1, "-", RT_PARAM),
    (0, 1, "+", 0),
]


def test_registering(child: Any) -> None:
    script = (
        START
        + """
    functions = [ffi.NULL, callback(lambda device, args: 0), callback(lambda device, args: 0)]
    codes = []
    for stage, which, what, _ in json.loads(sys.argv[1]):
        if what == "+":
            codes.append(lib.aclrtSnapShotCallbackRegister(stage, functions[which], ffi.NULL))
        else:
            codes.append(lib.aclrtSnapShotCallbackUnregister(stage, functions[which]))
    reported(codes)
    """
    )
    assert child(script, json.dumps(REGISTERING)) == [code for *_, code in REGISTERING]


def test_callbacks_run_per_open_device_in_the_order_of_registration(child: Any) -> None:
    script = (
        START
        + """
    calls = []
    for stage in (5, 4, 3, 2, 1, 0):
        for which in (1, 2):
            note = callback(lambda device, args, which=which: calls.append([number(args), which, device]) or 0)
            assert lib.aclrtSnapShotCallbackRegister(stage, note, tag(stage)) == 0
    assert do["L"]() == 0 and do["U"]() == 0 and calls == []  # no device is open
    context = ffi.new("aclrtContext *")
    assert lib.aclrtSetDevice(2) == 0 and lib.aclrtCreateContext(context, 0) == 0
    seen = {}
    for letter in "LBRU":
        calls.clear()
        assert do[letter]() == 0
        seen[letter] = list(calls)
    reported(seen)
    """
    )
    stages = {"L": [0], "B": [1, 2], "R": [3, 4], "U": [5]}
    expected = {
        letter: [[stage, which, device] for stage in of_letter for which in (1, 2) for device in (0, 2)]
        for letter, of_letter in stages.items()
    }
    assert child(script) == expected


@pytest.mark.parametrize(
    ("stage", "calls", "codes"),
    [
        (0, "LU", [CALLBACK, UNLOCK]),
        (1, "LBU", [0, CALLBACK, 0]),
        (2, "LBRU", [0, CALLBACK, RESTORE, 0]),
        (3, "LBRU", [0, 0, CALLBACK, 0]),
        (4, "LBRBU", [0, 0, CALLBACK, BACKUP, 0]),
        (5, "LUU", [0, CALLBACK, UNLOCK]),
    ],
)
def test_failing_callbacks(stage: int, calls: str, codes: list[int], child: Any) -> None:
    script = (
        START
        + """
    stage = int(sys.argv[2])
    counted = []
    assert lib.aclrtSetDevice(0) == 0
    assert lib.aclrtSnapShotCallbackRegister(stage, callback(lambda device, args: 7), ffi.NULL) == 0
    assert lib.aclrtSnapShotCallbackRegister(stage, callback(lambda *_: counted.append(1) or 0), ffi.NULL) == 0
    reported([[do[letter]() for letter in sys.argv[1]], lib.aclrtSetDevice(0), counted])
    """
    )
    assert child(script, calls, stage) == [codes, 0, []]


def test_callbacks_may_call_the_runtime_while_it_runs(child: Any) -> None:
    script = (
        START
        + """
    codes = []
    def work(device, args):
        stream = ffi.new("aclrtStream *")
        codes.append([lib.aclrtCreateStream(stream), lib.aclrtDestroyStream(stream[0])])
        lib.aclrtGetDevice(ffi.NULL)
        return 0
    assert lib.aclrtSetDevice(0) == 0
    for stage in (0, 5):
        assert lib.aclrtSnapShotCallbackRegister(stage, callback(work), ffi.NULL) == 0
    reported([[do[letter]() for letter in "LBU"], codes])
    """
    )
    assert child(script) == [[0, 0, 0], [[0, 0], [0, 0]]]


@pytest.mark.parametrize("states", ["L", "LB", "LBR"])
def test_calls_wait_until_the_process_is_unlocked(states: str, child: Any) -> None:
    script = (
        START
        + """
    order = []
    def work():
        started.set()
        order.append(["set", lib.aclrtSetDevice(0)])
    for letter in sys.argv[1]:
        assert do[letter]() == 0
    threads = []
    for _ in range(4):
        started = threading.Event()
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        started.wait()
    # What needs no runtime layer answers: the others have had their chance meanwhile.
    buffer = lib.aclCreateDataBuffer(ffi.NULL, 3)
    for _ in range(2000):
        assert lib.aclGetDataBufferSizeV2(buffer) == 3
        assert lib.aclInit(ffi.NULL) in (0, 100002)
    order.append("unlock")
    assert do["U"]() == 0
    for thread in threads:
        thread.join()
    reported(order)
    """
    )
    assert child(script, states) == ["unlock"] + [["set", 0]] * 4


@pytest.mark.simulator("held tasks", "only the simulator can pause a device")
def test_a_backup_waits_for_the_devices(child: Any) -> None:
    script = (
        START
        + """
    assert lib.aclrtSetDevice(0) == 0
    stream, event = ffi.new("aclrtStream *"), ffi.new("aclrtEvent *")
    assert lib.aclrtCreateStream(stream) == 0 and lib.aclrtCreateEvent(event) == 0
    lib.aclsimHold(1)
    assert lib.aclrtRecordEvent(event[0], stream[0]) == 0
    assert do["L"]() == 0
    backed_up = []
    pre = threading.Event()
    lib.aclrtSnapShotCallbackRegister(1, callback(lambda *_: pre.set() or 0), ffi.NULL)
    thread = threading.Thread(target=lambda: backed_up.append(do["B"]()))
    thread.start()
    pre.wait()
    before = list(backed_up)
    lib.aclsimHold(0)
    thread.join()
    reported([before, backed_up, do["R"](), do["U"](), lib.aclrtSynchronizeEvent(event[0])])
    """
    )
    assert child(script) == [[], [0], 0, 0, 0]


@pytest.mark.parametrize(("product", "code"), [("910B", 0), ("910C", 0), ("310B", UNSUPPORTED), ("910", UNSUPPORTED)])
@pytest.mark.simulator("products")
def test_products(product: str, code: int, child: Any) -> None:
    script = (
        START
        + """
    function = callback(lambda *_: 0)
    reported([do["L"](), do["U"](), lib.aclrtSnapShotCallbackRegister(0, function, ffi.NULL),
          lib.aclrtSnapShotProcessLock(0, ffi.NULL)])
    """
    )
    assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [code, code, code, INVALID_PARAM]
