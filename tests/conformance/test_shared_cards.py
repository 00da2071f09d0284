# SPDX-License-Identifier: Apache-2.0
"""The streams and the memory of a card are for all processes together (hardware_seen.md sections 2.7 and 4.4)."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import ascend_rt

pytestmark = pytest.mark.simulator("alone")

GIB = 1 << 30
FREE = "Device(0).memory_info.free"
STREAMS = "[(n := ffi.new('uint32_t *')), lib.aclrtGetStreamAvailableNum(n), n[0]][2]"
ALLOCATE = "objects.update(buffer=rt.Buffer({})) or 0"
TRY_TO_ALLOCATE = "code_of(rt.Buffer, {})"
CREATE = "objects.update(streams=[Stream() for _ in range({})]) or 0"
TRY_TO_CREATE = "code_of(Stream)"
DEVICES = 64


@pytest.fixture
def cards() -> Iterator[Callable[[], int]]:
    """Return a function for unused numbers of cards: not the usual ones, nor those of other tests.

    Killed processes of an earlier test may have left a card's file, which no process of a test without root removes.
    """
    with ExitStack() as taken:

        def next_card() -> int:
            for card in range(8, DEVICES):
                mark = taken.enter_context(socket.socket(socket.AF_UNIX))
                try:
                    mark.bind(f"\0ascend_rt-test-card-{card}")  # a name without a file, free when the socket is closed
                    for left in files_of(environment_of(card)):
                        left.unlink(missing_ok=True)
                except OSError:
                    continue
                return card
            raise AssertionError("all cards are in use")

        yield next_card


@pytest.fixture
def on_card(cards: Callable[[], int]) -> dict[str, str]:
    """Return the environment of programs that share a card, which they know as device 0."""
    return environment_of(cards())


@pytest.fixture
def start(cards: object, new_process: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a process, with more environment variables; it has device 0 when that returns.

    The processes end before their cards are free for other tests.
    """

    def start_on_device(user: int | None = None, **environment: str) -> Any:
        process = new_process(user, **environment)
        assert process("Device(0).id") == "0"
        return process

    return start_on_device


def environment_of(*visible: int) -> dict[str, str]:
    return {
        "ASCEND_RT_SIM_CARDS": "shared",
        "ASCEND_RT_SIM_DEVICES": str(DEVICES),
        "ASCEND_RT_VISIBLE_DEVICES": ",".join(map(str, visible)),
    }


def files_of(on_card: dict[str, str]) -> list[Path]:
    return list(Path("/dev/shm").glob(f"ascend_rt-card*-{on_card['ASCEND_RT_VISIBLE_DEVICES']}"))


@pytest.fixture
def for_all_users(on_card) -> dict[str, str]:
    """Return the environment of programs that share a card with those of other users."""
    return on_card | {"ASCEND_RT_SIM_CARDS": "all-users"}


def test_memory_of_another_process_is_not_free(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    before = int(second(FREE))
    assert first(ALLOCATE.format(10 * GIB)) == "0"
    assert before - int(second(FREE)) in range(10 * GIB, 10 * GIB + (4 << 20))
    assert first(FREE) == second(FREE)
    assert first("objects.clear()") == "None"
    assert int(second(FREE)) == before


def free(first: Any) -> None:
    assert first("objects.clear()") == "None"


def reset(first: Any) -> None:
    assert first("lib.aclrtResetDeviceForce(0)") == "0"


def end(first: Any) -> None:
    first.end()


def kill(first: Any) -> None:
    first.kill()


@pytest.mark.parametrize("give_back", [free, reset, end, kill])
def test_memory_comes_back(start, on_card, give_back: Callable[[Any], None]) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first(ALLOCATE.format(50 * GIB)) == "0"
    assert second(TRY_TO_ALLOCATE.format(50 * GIB)) == "207001"
    assert second(TRY_TO_ALLOCATE.format(10 * GIB)) == "0"
    give_back(first)
    assert second(TRY_TO_ALLOCATE.format(50 * GIB)) == "0"


# The child says that it is there, and waits.
FORK = (
    "[(os := __import__('os')), (up := os.pipe()),"
    " os.fork() or (os.write(up[1], b'.'), __import__('signal').pause()), os.read(up[0], 1)][2]"
)


def test_a_forked_child_does_not_keep_the_memory_of_its_killed_parent(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first(ALLOCATE.format(50 * GIB)) == "0"
    forked = int(first(FORK))
    try:
        first.kill()
        assert second(TRY_TO_ALLOCATE.format(50 * GIB)) == "0"
        os.kill(forked, 0)  # it is still there
    finally:
        os.kill(forked, signal.SIGKILL)


def test_the_end_of_a_forked_child_gives_nothing_back(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first(ALLOCATE.format(50 * GIB)) == "0"
    assert first("(os := __import__('os')).waitpid(os.fork() or os._exit(0), 0)[1]") == "0"
    assert second(TRY_TO_ALLOCATE.format(50 * GIB)) == "207001"


def test_a_refusal_says_what_other_processes_hold(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first("objects.update(buffer=rt.Buffer(60 << 30), streams=[Stream() for _ in range(1978)]) or 0") == "0"
    text = "[lib.{}, ffi.string(lib.aclGetRecentErrMsg()).decode()][1]"
    refused = second(text.format("aclrtMalloc(ffi.new('void **'), 1 << 30, 0)"))
    assert re.search(r" bytes are free on device 0; other processes hold 644\d{8} bytes$", refused), refused
    refused = second(text.format("aclrtCreateStream(ffi.new('aclrtStream *'))"))
    assert refused.endswith("; 1 are in use; other processes hold 1981 streams"), refused


def test_streams_of_all_processes_are_1984(start, on_card, child) -> None:
    first = start(**on_card)
    assert first(STREAMS) == "1981"  # two are internal, and it has one
    second = start(**on_card)
    assert (first(STREAMS), second(STREAMS)) == ("1978", "1978")
    assert first(CREATE.format(1500)) == "0"
    assert (first(STREAMS), second(STREAMS)) == ("478", "478")
    assert second(CREATE.format(478)) == "0"
    assert first(TRY_TO_CREATE) == second(TRY_TO_CREATE) == "207005"
    # The internal streams of a process are never refused, and no other is given.
    script = "reported([lib.aclrtSetDevice(0), lib.aclrtCreateStream(ffi.new('aclrtStream *'))])"
    assert child(script, **on_card) == [0, 207005]
    first.kill()
    assert second(STREAMS) == str(1984 - 2 - 479)


def test_a_context_counts_its_stream_for_all(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first("lib.aclrtCreateContext(objects.setdefault('context', ffi.new('aclrtContext *')), 0)") == "0"
    assert second(STREAMS) == "1977"
    assert first("lib.aclrtDestroyContext(objects['context'][0])") == "0"
    assert second(STREAMS) == "1978"
    assert first("lib.aclrtResetDeviceForce(0)") == "0"  # with its internal streams
    assert second(STREAMS) == "1981"


def test_a_limit_on_demand_counts_the_own_process_alone(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    assert first(ALLOCATE.format(10 * GIB)) == "0"
    assert second("__import__('ascend_rt.sim') and rt.sim.limit('memory', 1 << 30)") == "None"
    assert second(FREE) == str(GIB)
    assert first(ALLOCATE.format(1)) == "0"


def test_the_number_before_visible_devices_says_which_card_it_is(start, cards) -> None:
    low, high = cards(), cards()
    first, second = start(**environment_of(high)), start(**environment_of(low, high))
    before = second(FREE)
    assert first(ALLOCATE.format(10 * GIB)) == "0"
    assert second(FREE) == before
    assert second("Device(1).set_current()") == "None"
    assert second("Device(1).memory_info.free") == first(FREE)


def test_cards_of_different_products_are_different(start, on_card) -> None:
    first = start(**on_card, ASCEND_RT_SIM_PRODUCT="910C")
    second = start(**on_card)
    before = second(FREE), second(STREAMS)
    assert first(ALLOCATE.format(10 * GIB)) == first(CREATE.format(10)) == "0"
    assert (second(FREE), second(STREAMS)) == before


def test_separate_cards(start, on_card) -> None:
    alone = start(**on_card | {"ASCEND_RT_SIM_CARDS": "separate"})
    assert not files_of(on_card)
    before = alone(FREE), alone(STREAMS)
    sharing = start(**on_card)
    assert len(files_of(on_card)) == 1
    assert sharing(ALLOCATE.format(10 * GIB)) == sharing(CREATE.format(10)) == "0"
    assert (alone(FREE), alone(STREAMS)) == before
    assert alone(ALLOCATE.format(60 * GIB)) == "0"


@pytest.mark.simulator("internals")
def test_another_value_fails_every_call(child) -> None:
    code, message = child("reported([lib.aclrtSetDevice(0), text()])", ASCEND_RT_SIM_CARDS="both")
    assert code != 0
    assert message == "aclrtSetDevice: ASCEND_RT_SIM_CARDS=both is not one of shared, all-users, separate"


def test_the_last_process_removes_the_file(start, on_card) -> None:
    first, second = start(**on_card), start(**on_card)
    first.end()
    assert len(files_of(on_card)) == 1
    second.end()
    assert not files_of(on_card)


def test_the_file_of_killed_processes_is_removed_by_the_next_one(start, on_card) -> None:
    killed = start(**on_card)
    assert len(files_of(on_card)) == 1
    killed.kill()  # from now on any process that starts removes it
    assert start(ASCEND_RT_SIM_CARDS="separate")("Device(0).id") == "0"
    assert not files_of(on_card)


# --- several users ---------------------------------------------------------------------------------------------------


def can_others_reach(path: Path) -> bool:
    """Return True if every user may read a file, which is not so below the home directory of root."""
    return all(parent.stat().st_mode & 0o001 for parent in path.resolve().parents)


as_root = pytest.mark.skipif(
    os.geteuid() != 0 or not can_others_reach(Path(ascend_rt.__file__)),
    reason="needs root, and a package that other users can read, not below /root",
)
ONE, TWO = 65533, 65534  # users without rights


@as_root
@pytest.mark.parametrize(("owner", "user"), [(ONE, TWO), (ONE, None), (None, ONE)])
def test_users_share_a_card(start, for_all_users, owner: int | None, user: int | None) -> None:
    first, second = start(owner, **for_all_users), start(user, **for_all_users)
    assert first(ALLOCATE.format(50 * GIB)) == first(CREATE.format(1500)) == "0"
    assert first(FREE) == second(FREE)
    assert (first(STREAMS), second(STREAMS)) == ("478", "478")
    assert second(TRY_TO_ALLOCATE.format(50 * GIB)) == "207001"
    first.kill()
    assert second(STREAMS) == "1981"
    assert second(ALLOCATE.format(50 * GIB)) == "0"


@as_root
@pytest.mark.parametrize(("owner", "user"), [(ONE, TWO), (ONE, None), (None, ONE)])
@pytest.mark.parametrize("shared", ["shared", ""])
def test_users_do_not_share_a_card_that_they_are_not_asked_to(
    start, on_card, owner: int | None, user: int | None, shared: str
) -> None:
    environment = on_card | {"ASCEND_RT_SIM_CARDS": shared}
    first, second = start(owner, **environment), start(user, **environment)
    modes = {(file.stat().st_uid, file.stat().st_mode & 0o777) for file in files_of(on_card)}
    assert modes == {(owner or 0, 0o600), (user or 0, 0o600)}
    before = second(FREE), second(STREAMS)
    assert first(ALLOCATE.format(50 * GIB)) == first(CREATE.format(1500)) == "0"
    assert (second(FREE), second(STREAMS)) == before
    assert second(ALLOCATE.format(50 * GIB)) == "0"


@as_root
def test_a_file_that_outlives_its_owner_serves_others(start, for_all_users) -> None:
    on_card = for_all_users
    first, second = start(ONE, **on_card), start(TWO, **on_card)
    assert second(ALLOCATE.format(50 * GIB)) == "0"
    first.end()
    second.kill()  # may not remove it, and has left what it held
    third = start(TWO, **on_card)  # uses the file, unless a permitted user has removed it
    assert third(TRY_TO_ALLOCATE.format(60 * GIB)) == "0"
    third.end()
    start(**on_card).end()
    assert not files_of(on_card)


# --- many at once ----------------------------------------------------------------------------------------------------

# Children allocate, free, create and destroy at random, and write a byte after each step. One in four ends by itself
# after some steps, the others are killed then; which step that is does not depend on the speed of the machine.
CROWD = """
import random, signal
chance = random.Random(14)

def work(seed, commands, steps):
    mine = random.Random(seed)
    memory, streams = [], []
    assert lib.aclrtSetDevice(0) == 0
    while True:
        kind, new = mine.choice([(memory, ffi.new("void **")), (streams, ffi.new("aclrtStream *"))])
        if mine.random() < 0.6:
            make = lib.aclrtMalloc if kind is memory else lib.aclrtCreateStream
            code = make(new, mine.randrange(1, 4 << 30), 0) if kind is memory else make(new)
            assert code in (0, 207001, 207005), code
            if code == 0:
                kind.append(new[0])
        elif kind:
            free = lib.aclrtFree if kind is memory else lib.aclrtDestroyStream
            assert free(kind.pop(mine.randrange(len(kind)))) == 0
        os.write(steps, b".")
        if os.read(commands, 1) == b"e":
            sys.exit()

crowd = []
for seed in range(20):
    (commands, report), (see, steps) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(report), os.close(see)
        work(seed, commands, steps)
    os.close(commands), os.close(steps)
    crowd.append((child, report, see, seed % 4 == 0))

while crowd:
    child, report, see, ends = chance.choice(crowd)
    assert os.read(see, 1) == b"."
    if chance.random() < 0.98:
        os.write(report, b".")
        continue
    os.write(report, b"e") if ends else os.kill(child, signal.SIGKILL)
    expected = 0 if ends else -signal.SIGKILL
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == expected
    crowd.remove((child, report, see, ends))
assert lib.aclrtSetDevice(0) == 0
free, total, streams = ffi.new("size_t *"), ffi.new("size_t *"), ffi.new("uint32_t *")
assert lib.aclrtGetMemInfo(lib.ACL_HBM_MEM, free, total) == lib.aclrtGetStreamAvailableNum(streams) == 0
reported([total[0] - free[0], streams[0]])
"""


def test_a_crowd_that_is_killed_at_random_leaves_everything_free(child, on_card) -> None:
    assert child(CROWD, **on_card) == [384 << 20, 1982]
    assert not files_of(on_card)


# --- a host that shares nothing --------------------------------------------------------------------------------------

ALONE = """
said, saying = os.pipe()
os.dup2(saying, 2)
out, free, total = ffi.new("void **"), ffi.new("size_t *"), ffi.new("size_t *")
codes = [lib.aclrtSetDevice(0)]
why = text()
codes += [lib.aclrtMalloc(out, 1 << 30, 0), lib.aclrtGetMemInfo(1, free, total), lib.aclrtFree(out[0])]
os.write(2, b"end")
reported([codes, (total[0] - free[0]) >> 30, why, os.read(said, 4096).decode()])
"""


@pytest.fixture
def unshared(start, on_card) -> Iterator[dict[str, str]]:
    """Return the environment for a card whose file cannot be opened: a directory has its name."""
    process = start(**on_card)
    (file,) = files_of(on_card)
    process.end()
    file.mkdir()
    yield on_card
    if file.is_dir():  # the test may have removed it
        file.rmdir()


def test_a_host_that_shares_no_memory_leaves_each_process_its_own(unshared, child) -> None:
    codes, gib, why, said = child(ALONE, **unshared | {"ASCEND_RT_SIM_CARDS": ""})
    assert (codes, gib, why) == ([0, 0, 0, 0], 1, None)
    (directory,) = files_of(unshared)
    assert said.startswith("ascend_rt simulator: aclrtSetDevice: no shared memory for a card: ")
    assert (
        f"{directory}: it is a directory, or its size is wrong; remove it (errno {errno.EINVAL}). This process shares"
        in said
    )
    assert said.count("\n") == 1


def test_a_host_that_shares_no_memory_is_an_error_if_sharing_is_asked_for(unshared, child) -> None:
    codes, _, why, said = child(ALONE, **unshared)
    assert codes[0] == 207005
    assert "no shared memory" in why
    assert said == "end"


def test_calls_that_find_no_card_take_no_stream(unshared, child) -> None:
    script = """
    context = ffi.new("aclrtContext *")
    codes = {lib.aclrtCreateContext(context, 0) for _ in range(1984)}
    os.rmdir(sys.argv[1])
    reported([sorted(codes), lib.aclrtCreateContext(context, 0)])
    """
    (directory,) = files_of(unshared)
    assert child(script, directory, **unshared) == [[207005], 0]
