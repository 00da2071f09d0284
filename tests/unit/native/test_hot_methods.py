# SPDX-License-Identifier: Apache-2.0
"""The hot methods: hot methods that Python declares, and whose bodies are in C."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import GetSetDescriptorType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from support.calls import called_in_python

from ascend_rt import (
    Buffer,
    Context,
    Device,
    Event,
    MappedBuffer,
    PinnedBuffer,
    PoolBuffer,
    Stream,
    copy,
    copy_async,
    fill_async,
    sim,
)
from ascend_rt.errors import AclError, ClosedError, OutOfMemory, TaskFailed
from ascend_rt.testing import Latch

METHODS = {
    "Event.record": lambda event, stream, other: event.record(stream),
    "Event.is_done": lambda event, stream, other: event.is_done,
    "Event.synchronize": lambda event, stream, other: event.synchronize(),
    "Stream.record": lambda event, stream, other: stream.record(event),
    "Stream.wait for an event": lambda event, stream, other: stream.wait(event),
    "Stream.wait for a stream": lambda event, stream, other: stream.wait(other),
    "Stream.is_done": lambda event, stream, other: stream.is_done,
    "Stream.synchronize": lambda event, stream, other: stream.synchronize(),
    "Stream.launch_host_func": lambda event, stream, other: stream.launch_host_func(len, ()),
    "Event.close": lambda event, stream, other: event.close(),
}
Method = Callable[[Event, Stream, Stream], object]


@pytest.fixture
def event(device: Device) -> Iterator[Event]:
    with Event() as event:
        yield event


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_nothing_is_done_in_python(method: Method, event: Event, stream: Stream, other: Stream) -> None:
    for each in (stream, other):
        each.synchronize()
        each.handle  # noqa: B018  (asked once, a handle is known)
    event.record(stream)
    assert called_in_python(lambda: method(event, stream, other)) == []


def test_an_event_is_created_and_closed_without_python(device: Device) -> None:
    created: list[Event] = []
    assert called_in_python(lambda: created.append(Event())) == []
    assert called_in_python(created[0].close) == []
    assert created[0].is_closed


def test_a_buffer_is_created_and_closed_without_python_while_all_live_in_one_place(
    run: Any, under_test: dict[str, str]
) -> None:
    code = """if True:
        import sys
        from ascend_rt import Buffer, Context, Device
        Device(0).set_current()
        Buffer(64).close()  # from now on it is known where new objects live
        entered = []
        sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None)
        buffer = Buffer(64)
        buffer.close()
        sys.setprofile(None)
        assert entered == [], entered
        with Context(0) as context, Buffer(64) as inside:
            assert inside._owner.context is context
    """
    done = run("-c", code, **under_test)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sides", ["host to device", "device to host", "device to device"])
def test_a_copy_of_known_memory_does_nothing_in_python(sides: str, stream: Stream) -> None:
    places = [PinnedBuffer(64) if side == "host" else Buffer(64) for side in sides.split(" to ")]
    source, target = places
    copy(source, bytes(range(64)))
    copy_async(target, source[:64] if sides == "device to host" else source, stream)  # a view is known too
    stream.synchronize()
    assert called_in_python(lambda: copy_async(target, source, stream)) == []
    stream.synchronize()
    received = bytearray(64)
    copy(received, target)
    assert received == bytes(range(64))


@pytest.mark.parametrize("value", [0, 7, 255])
def test_a_fill_with_a_byte_does_nothing_in_python(value: int, stream: Stream) -> None:
    memory, received = Buffer(64), bytearray(64)
    fill_async(memory, 1, stream)
    assert called_in_python(lambda: fill_async(memory, value, stream)) == []
    stream.synchronize()
    copy(received, memory)
    assert received == bytes([value]) * 64


@pytest.mark.parametrize("value", [-1, 256, 1 << 100, -1 << 100])
def test_a_fill_with_no_byte_is_refused(value: int, stream: Stream) -> None:
    with Latch(stream), pytest.raises(ValueError, match="the value must be 0 to 255"):
        fill_async(Buffer(64), value, stream)


def test_a_fill_of_closed_memory_is_refused(stream: Stream) -> None:
    memory = Buffer(64)
    memory.close()
    with pytest.raises(ClosedError):
        fill_async(memory, 0, stream)


COMPLETIONS: dict[str, Callable[[Stream, Event], object]] = {
    "Stream.synchronize": lambda stream, _: stream.synchronize(),
    "Stream.is_done": lambda stream, _: stream.is_done,
    "Event.synchronize": lambda _, event: event.synchronize(),
    "Event.is_done": lambda _, event: event.is_done,
}


@pytest.mark.parametrize("complete", COMPLETIONS.values(), ids=COMPLETIONS)
def test_what_is_done_is_let_go_without_python(
    complete: Callable[[Stream, Event], object], stream: Stream, event: Event, lib: Any
) -> None:
    memory = Buffer(64)
    with Latch(stream):
        fill_async(memory, 0, stream)
        event.record(stream)
        assert not event.is_done
        assert not stream.is_done
        assert len(stream._retention) == 1
    assert lib.aclrtSynchronizeStream(stream._handle) == 0  # which the objects do not see
    assert called_in_python(lambda: complete(stream, event)) == []
    assert len(stream._retention) == 0


def test_what_many_copies_use_is_kept_once(stream: Stream, other: Stream) -> None:
    pinned, memory = PinnedBuffer(64), Buffer(64)
    with Latch(stream):
        for _ in range(10):
            copy_async(memory, pinned, stream)
        assert len(stream._retention) == 1
        stream.record()  # the next ones belong to another batch
        copy_async(memory, pinned, stream)
        assert len(stream._retention) == 2


PARTS: dict[str, Callable[[PinnedBuffer[Any]], Any]] = {
    "part": lambda whole: whole[8:40],
    "rows": lambda whole: whole.reshape(4, 16)[1:3],
    "element": lambda whole: whole[5:6],
    "no dimension": lambda whole: whole[5:6].reshape(()),
    "dimensions of one": lambda whole: whole[8:40].reshape(1, 32, 1)[:, ::1, ::-1],
    "wide elements": lambda whole: whole.view(np.complex128)[1:2],
}


@pytest.mark.parametrize("layout", PARTS.values(), ids=PARTS)
def test_a_part_of_pinned_memory_in_order_is_copied_without_python(layout: Any, stream: Stream) -> None:
    numbers = np.arange(128, dtype=np.uint8)
    source, target = layout(PinnedBuffer.from_array(numbers[:64])), layout(PinnedBuffer.from_array(numbers[64:]))
    memory = Buffer(source.nbytes)
    assert called_in_python(lambda: copy_async(memory, source, stream)) == []
    assert called_in_python(lambda: copy_async(target, memory, stream)) == []
    stream.synchronize()
    assert target.tobytes() == source.tobytes()


def test_a_copy_to_pinned_memory_that_is_read_only_is_refused(stream: Stream) -> None:
    pinned, memory = PinnedBuffer(64), Buffer(64)
    pinned.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        copy_async(pinned, memory, stream)
    copy_async(memory, pinned, stream)
    stream.synchronize()


def test_a_copy_of_pinned_memory_that_is_closed_is_refused(stream: Stream) -> None:
    pinned, memory = PinnedBuffer(64), Buffer(64)
    pinned.close()
    with pytest.raises(ClosedError):
        copy_async(memory, pinned, stream)


def test_a_launch_of_a_graph_does_nothing_in_python(stream: Stream) -> None:
    memory, pinned = Buffer(64), PinnedBuffer(64)
    with stream.capture() as graph:
        copy_async(memory, pinned, stream)  # which the graph keeps
    with graph:
        graph.launch(stream)
        assert called_in_python(lambda: graph.launch(stream)) == []
        stream.synchronize()


def test_an_exhausted_device_raises_the_error_of_the_call(device: Device) -> None:
    with pytest.raises(OutOfMemory) as failed:
        Buffer(1 << 50)
    assert failed.value.function == "aclrtMalloc"


@pytest.mark.parametrize("nbytes", [-1, 1 << 80, 2.5, "64"])
def test_a_size_that_is_none_is_refused(nbytes: Any, device: Device) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        Buffer(nbytes)


def test_a_new_buffer_knows_its_owner(device: Device) -> None:
    with Context(0) as context, Buffer(64) as inside:
        assert inside._owner.context is context
    context.close()
    with Buffer(64) as outside:
        assert outside._owner.context is None


def in_source(method: Any) -> ast.FunctionDef:
    """Return the definition of a method."""
    owner = method.__objclass__
    tree = ast.parse(Path(import_module(owner.__module__).__file__ or "").read_text(encoding="utf-8"))
    [functions] = [each.body for each in tree.body if isinstance(each, ast.ClassDef) and each.name == owner.__name__]
    [found] = [each for each in functions if isinstance(each, ast.FunctionDef) and each.name == method.__name__]
    return found


def parameters(function: Callable[..., object]) -> list[tuple[str, object, str]]:
    """Return names, defaults and kinds, without self."""
    signature = inspect.signature(function)
    return [(name, each.default, str(each.kind)) for name, each in signature.parameters.items()][1:]


@pytest.mark.parametrize("method", [Event.__init__, Event.record, Event.synchronize, Stream.record, Stream.wait])
def test_a_method_shows_the_parameters_and_the_text_of_its_source(method: Any) -> None:
    definition = in_source(method)
    text = ast.get_docstring(definition)
    assert (inspect.getdoc(method) if text is not None else method.__doc__ or None) == text
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{ast.unparse(definition)}", names)
    assert parameters(method) == parameters(names[method.__name__])


@pytest.mark.parametrize("name", ["is_done"])
@pytest.mark.parametrize("kind", [Event, Stream])
def test_a_property_shows_its_text(kind: Any, name: str) -> None:
    assert "does not block" in inspect.getdoc(getattr(kind, name))


USES_A_CLOSED_ONE = [
    ("event", lambda event, stream: event.record(stream)),
    ("stream", lambda event, stream: event.record(stream)),
    ("event", lambda event, stream: event.is_done),
    ("event", lambda event, stream: event.synchronize()),
    ("event", lambda event, stream: stream.record(event)),
    ("stream", lambda event, stream: stream.record(event)),
    ("event", lambda event, stream: stream.wait(event)),
    ("stream", lambda event, stream: stream.wait(event)),
    ("stream", lambda event, stream: Stream.default().wait(stream)),
    ("stream", lambda event, stream: stream.is_done),
    ("stream", lambda event, stream: stream.synchronize()),
    ("stream", lambda event, stream: stream.check()),
]


@pytest.mark.parametrize(("closed", "use"), USES_A_CLOSED_ONE)
def test_a_closed_object_says_so(closed: str, use: Callable[[Event, Stream], object], device: Device) -> None:
    with Event() as event, Stream() as stream:
        {"event": event, "stream": stream}[closed].close()
        with pytest.raises(ClosedError, match=f"this {closed} is closed"):
            use(event, stream)


WRONG = {
    "Event.record": lambda event, stream, wrong: event.record(wrong),
    "Stream.record": lambda event, stream, wrong: stream.record(wrong),
    "Stream.wait": lambda event, stream, wrong: stream.wait(wrong),
}


@pytest.mark.parametrize("wrong", [3, "stream", object()])
@pytest.mark.parametrize("use", WRONG.values(), ids=WRONG)
def test_what_is_no_stream_and_no_event_is_a_type_error(use: Any, wrong: object, event: Event, stream: Stream) -> None:
    with pytest.raises(TypeError, match=type(wrong).__name__):
        use(event, stream, wrong)


def test_arguments_have_names(event: Event, stream: Stream, other: Stream) -> None:
    event.record(stream=stream)
    assert stream.record(event=event) is event
    stream.wait(other=other)
    stream.wait(event, timeout=60)
    stream.synchronize(timeout=60)
    event.synchronize(timeout=60)
    with pytest.raises(TypeError, match="unexpected keyword"):
        event.record(on=stream)  # type: ignore[call-arg]


@pytest.mark.simulator("deadly")
def test_a_failed_call_raises_its_error(stream: Stream, other: Stream, lib: Any) -> None:
    gone = Event.from_handle(Event().handle)  # the other object is discarded, and the event destroyed
    for name, use in {
        "aclrtRecordEvent": lambda: gone.record(stream),
        "aclrtStreamWaitEvent": lambda: stream.wait(gone),
        "aclrtQueryEventStatus": lambda: gone.is_done,
        "aclrtSynchronizeEvent": gone.synchronize,
    }.items():
        with pytest.raises(AclError) as failed:
            use()
        assert failed.value.function == name
        assert failed.value.code != 0


def test_a_function_that_was_replaced_is_called(event: Event, stream: Stream, lib: Any) -> None:
    with lib.override("aclrtRecordEvent", lambda *handles: 507000), pytest.raises(AclError, match="507000"):
        event.record(stream)
    event.record(stream)
    assert called_in_python(lambda: event.record(stream)) == []


def test_a_derived_class_may_replace_a_method(stream: Stream) -> None:
    class Counted(Event):
        count = 0

        def record(self, stream: Stream | None = None) -> None:
            self.count += 1
            super().record(stream)

    with Counted() as event:
        stream.record(event)
        stream.wait(event)
        event.synchronize()
        assert event.count == 1
        assert event.is_done


def test_an_object_that_was_not_created_has_no_handle(stream: Stream) -> None:
    unborn = Event.__new__(Event)
    for use in (lambda: unborn.record(stream), lambda: unborn.is_done, lambda: stream.wait(unborn)):
        with pytest.raises(AttributeError, match="this event has no handle yet"):
            use()
    silent = Stream.__new__(Stream)
    for wait in (silent.synchronize, lambda: silent.is_done, silent.record, lambda: stream.wait(silent)):
        with pytest.raises(AttributeError, match="this stream has no handle yet"):
            wait()


def test_what_a_stream_uses_is_kept_behind_a_hot_method(stream: Stream, other: Stream) -> None:
    with Buffer(64) as buffer:
        fill_async(buffer, 1, stream)
        other.wait(stream)
        assert stream._retention
        other.synchronize()
        stream.synchronize()
        assert not stream._retention
        assert not other._retention


def test_a_handle_is_found_without_python(device: Device) -> None:
    # In Python another thread might close the object meanwhile: then both would destroy what they have found.
    with Stream() as stream, Event(timing=True) as event:
        assert called_in_python(lambda: event.record(stream)) == []
    event = Event()
    assert called_in_python(lambda: event._closing(repr)) == []
    assert event.is_closed


@pytest.mark.parametrize("arguments", [(1,), (1, 2)])
def test_what_is_no_function_is_refused_at_once(arguments: tuple[Any, ...], stream: Stream) -> None:
    for keywords in ({}, {"a": 1}):
        with pytest.raises(TypeError, match="not int"):
            stream.launch_host_func(*arguments, **keywords)


@pytest.mark.parametrize("wrong", ["0", None])
@pytest.mark.parametrize(("kind", "keywords"), [(Buffer, "nbytes policy"), (Stream, "flags"), (Stream, "priority")])
def test_what_is_no_number_is_refused(
    kind: Callable[..., object], keywords: str, wrong: object, device: Device
) -> None:
    *others, last = keywords.split()
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        kind(**dict.fromkeys(others, 8), **{last: wrong})


def test_the_time_to_what_is_no_event_is_a_type_error(event: Event) -> None:
    with pytest.raises(TypeError, match="expected an Event, got int"):
        event.elapsed_time(3)  # type: ignore[arg-type]


def test_a_copy_uses_the_memory_that_a_pinned_buffer_has_now(stream: Stream) -> None:
    pinned, memory = PinnedBuffer.from_array(bytes(4)), Buffer(4)
    copy_async(memory, pinned, stream)
    pinned.__setstate__((1, (4,), pinned.dtype, False, b"here"))
    copy_async(memory, pinned, stream)
    stream.synchronize()
    assert memory.to_numpy().tobytes() == b"here"


def set_attribute(name: str, value: Any) -> Callable[[Any], Any]:
    def change(pinned: Any) -> Any:
        setattr(pinned, name, value)
        return pinned

    return change


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "shape": set_attribute("shape", (4, 16)),
    "type": set_attribute("dtype", np.uint32),
    "columns first": set_attribute("strides", (1, 8)),
    "one element again and again": set_attribute("strides", (0, 0)),
    "transposed": lambda pinned: pinned.T,
    "a view with strides": lambda pinned: as_strided(pinned, (8, 8), (1, 8), subok=True),
    "swapped axes": lambda pinned: pinned.swapaxes(0, 1),
    "Fortran order": lambda pinned: pinned.reshape((8, 8), order="F"),
}


NOT_CONTIGUOUS = (BufferError, ValueError)  # the one or the other, by the version of numpy


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", LAYOUTS.values(), ids=LAYOUTS)
def test_a_copy_is_of_the_array_as_it_is_or_refused(change: Callable[[Any], Any], stream: Stream) -> None:
    pinned = PinnedBuffer.from_array(np.arange(64, dtype=np.uint8).reshape(8, 8))
    changed = change(pinned)
    for spelling in (lambda to: copy_async(to, changed, stream), lambda to: copy_async(to, changed, stream=stream)):
        memory = Buffer(64)
        if changed.flags.c_contiguous:
            spelling(memory)
            stream.synchronize()
            assert memory.to_numpy().tobytes() == changed.tobytes()
        else:
            with pytest.raises(NOT_CONTIGUOUS, match=r"the source is not C-contiguous; .*copy_2d_async"):
                spelling(memory)
            with pytest.raises(NOT_CONTIGUOUS, match=r"the target is not C-contiguous; .*copy_2d_async"):
                copy_async(changed, memory, stream)


@pytest.mark.simulator("faults")
def test_a_failure_in_whose_place_a_signal_handler_raises_is_reported_later(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(*_: object) -> None:
        raise TimeoutError("of the handler")  # where Python would call it: as soon as it runs again

    sim.fail_task(507015, stream)
    with pytest.raises(TaskFailed):
        stream.record().synchronize()
    with monkeypatch.context() as patch:
        patch.setattr(Stream, "_end_wait", handle)
        with pytest.raises(TimeoutError, match="of the handler"):
            stream.synchronize()
    with pytest.raises(TaskFailed):
        stream.synchronize()


IN_C = (MethodDescriptorType, GetSetDescriptorType)
DECLARING = ("event", "graph", "kernel", "memory", "memory_pool", "pinned_memory", "stream", "transfer")


def declared_in_c(module: ModuleType) -> Iterator[ast.FunctionDef]:
    """Yield the declarations in a module whose bodies are in C."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and inspect.isbuiltin(getattr(module, node.name)):
            yield node
        if isinstance(node, ast.ClassDef):
            members = vars(getattr(module, node.name))
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and type(members.get(each.name)) in IN_C:
                    yield each


@pytest.mark.parametrize("name", DECLARING)
def test_what_c_does_has_no_second_body_in_python(name: str) -> None:
    found = list(declared_in_c(import_module(f"ascend_rt.{name}")))
    assert found
    for each in found:
        assert all(isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in each.body), each.name


@pytest.mark.parametrize("declared", [Buffer, Event, MappedBuffer, PoolBuffer, Stream])
def test_a_class_has_the_signature_of_its_constructor(declared: Any) -> None:
    """Python 3.13 has none for a constructor in C, and raises an error."""
    own = list(inspect.signature(declared.__init__).parameters)[1:]
    assert list(inspect.signature(declared).parameters) == own


def test_a_subclass_has_the_signature_of_its_own_constructor() -> None:
    class Same(Stream):
        pass

    class Other(Stream):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.label = name

    assert inspect.signature(Same) == inspect.signature(Stream)
    assert list(inspect.signature(Other).parameters) == ["name"]
