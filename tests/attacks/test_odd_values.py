# SPDX-License-Identifier: Apache-2.0
"""Every public callable with every odd value: it takes the value, or says what is wrong; nothing else comes out."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from support.effort import seeds

import ascend_rt as rt

pytestmark = [pytest.mark.simulator("internals"), pytest.mark.full]

# They change the process, wrap C functions, or are made by other objects.
_APART = {"ffi", "lib", "install_acl", "use", "PoolBuffer"}


def is_tried(name: str) -> bool:
    public = getattr(rt, name)
    is_exception = inspect.isclass(public) and issubclass(public, BaseException)
    return callable(public) and not is_exception and name not in _APART


SCRIPT = """
import decimal, fractions, inspect, pathlib

class Index:
    def __init__(self, value): self.value = value
    def __index__(self): return self.value

class Raising:
    def __index__(self): raise ValueError("an index that raises")
    def __eq__(self, other): raise ValueError("a comparison that raises")
    __hash__ = None
    def __bool__(self): raise ValueError("a truth that raises")

class Text(str):
    pass

class Number(int):
    pass

def odd_values():
    closed_stream, closed_buffer, closed_event = Stream(), Buffer(64), Event()
    for it in (closed_stream, closed_buffer, closed_event):
        it.close()
    with Device(1):
        there = [Stream(), Event(), Buffer(64)]
    bounds = [sign * 2**bits + by for bits in (31, 32, 63, 64, 200) for sign in (1, -1) for by in (-1, 0)]
    numbers = [None, True, False, 0, 1, -1, 2, 255, 4096, 0.0, 1.5, -1.0, 1e308, float("nan"), float("inf"), 1j,
               np.int64(1), np.float32(1), np.uint8(7), decimal.Decimal("1.9"), fractions.Fraction(1, 3), Number(1),
               Index(1), Index(-1), Index(2**70), Raising()]
    texts = ["", "x", "0", "k" * 2000, "\\u00e4", "\\ud800", "a\\0b", Text("0"), pathlib.Path("x"), b"", b"x"]
    memory = [bytes(64), bytearray(64), memoryview(b"abc"), memoryview(bytearray(64))[::2], np.zeros(16),
              np.zeros((4, 4)).T, np.array(3), np.zeros(0), np.array(["x"]), np.array([object()]), ffi.NULL,
              ffi.new("char[]", 64)]
    containers = [(), (1,), (1, 2, 3), [], [1], [None], [[]], {}, {"x": 1}, set(), frozenset([1]), range(3),
                  slice(None), ..., iter([1]), (it for it in ())]
    others = [object(), int, len, lambda *arguments, **more: None, ValueError("x"), type, NotImplemented, rt]
    ours = [closed_stream, closed_buffer, closed_event, Stream(), Event(), Buffer(64), PinnedBuffer(64), Notify(),
            Device(0), Device(1), *there]
    return bounds + numbers + texts + memory + containers + others + ours

# RuntimeError is numpy's for a shape of many dimensions.
CLEAN = (TypeError, ValueError, OverflowError, AscendError, BufferError, MemoryError, OSError, RuntimeError)
unclean = {}

def attempt(label, function, arguments, keywords={}):
    try:
        return function(*arguments, **keywords)
    except CLEAN as error:
        assert not isinstance(error, RecursionError)
        assert str(error) or isinstance(error, MemoryError), label
    except Exception as error:
        unclean.setdefault(f"{label}: {type(error).__name__}: {error}"[:300], repr((arguments, keywords))[:150])

def parameters(function):
    try:
        return [it.name for it in inspect.signature(function).parameters.values() if it.kind in (1, 3)]
    except (TypeError, ValueError):
        return []

def try_all(label, function):
    for value in values:
        for count in (1, 2, 3):
            attempt(label, function, [value] * count)
        attempt(label, function, [choose.choice(values) for _ in range(choose.randrange(1, 5))])
        for name in parameters(function):
            attempt(label, function, [choose.choice(values)] * choose.randrange(3), {name: value})
    device.set_current()

MAKERS = {
    "Buffer": lambda: Buffer(4096), "Stream": Stream, "Event": Event, "Notify": Notify, "CountingNotify": None,
    "PinnedBuffer": lambda: PinnedBuffer(4096), "Device": lambda: Device(0), "Context": lambda: Context(0),
    "ManagedBuffer": lambda: ManagedBuffer(4096), "MemoryPool": lambda: MemoryPool(device),
    "PhysicalMemory": lambda: PhysicalMemory(2 << 20, device), "VirtualMemory": lambda: VirtualMemory(2 << 20),
    "IpcMemory": lambda: IpcMemory(Buffer(2 << 20)), "CachingAllocator": CachingAllocator,
    "Channel": lambda: Channel("x", 2), "Queue": lambda: Queue(2),
    "RegisteredMemory": lambda: RegisteredMemory(np.zeros(8192, np.uint8)),
}
# They wait, or end what the next call needs.
LEFT_OUT = {"close", "reset", "__exit__", "__enter__", "synchronize", "end", "get", "put", "put_end", "receive", "send"}

values = odd_values()
public = getattr(rt, NAME)
try_all(NAME, public)
for name in sorted(vars(public)) if inspect.isclass(public) else ():
    if name.startswith("_") or name in LEFT_OUT:
        continue
    attribute = inspect.getattr_static(public, name)
    if isinstance(attribute, (classmethod, staticmethod)):
        try_all(f"{NAME}.{name}", getattr(public, name))
    elif callable(attribute) and MAKERS.get(NAME):
        made = MAKERS[NAME]()
        try_all(f"{NAME}().{name}", getattr(made, name))
    elif isinstance(attribute, property) and attribute.fset and MAKERS.get(NAME):
        made = MAKERS[NAME]()
        for value in values:
            attempt(f"{NAME}().{name} =", lambda value: setattr(made, name, value), [value])
for label, arguments in unclean.items():
    print(ascii(label), ascii(arguments))
sys.stdout.flush()
say_that_all_was_tried()
os._exit(0)  # what the calls have left in the streams may never be done
"""


@pytest.mark.parametrize("name", [name for name in rt.__all__ if is_tried(name)])
def test_a_public_name_says_what_is_wrong(attack: Callable[..., str], name: str) -> None:
    for seed in seeds(1):
        assert attack(f"NAME = {name!r}\n" + SCRIPT, seed) == ""
