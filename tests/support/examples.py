# SPDX-License-Identifier: Apache-2.0
"""Programs that make the runtime calls of the examples of CANN's runtime repository, in their order.

``python -m support.examples NAME KERNELS`` runs one and prints what it computed; ``KERNELS`` is the shared object of
:data:`SOURCE`, in place of the examples' device binaries and operators. A call that fails ends the program.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from support.models import ACTIVATED, HEAD, PERSISTENT

from ascend_rt._runtime.driver import address, ffi, lib

SOURCE = """
enum { kBlocks = 8 };

/* out = x + y * scale */
typedef struct { const float *x, *y; float *out; float scale; uint32_t count; } AddArguments;
ACLSIM_KERNEL(add) {
    const AddArguments *a = (const AddArguments *)arguments;
    for (uint32_t i = 0; i < a->count; ++i) a->out[i] = a->x[i] + a->y[i] * a->scale;
}

typedef struct { const float *x, *y; float *out; uint32_t count; } MultiplyArguments;
ACLSIM_KERNEL(multiply) {
    const MultiplyArguments *a = (const MultiplyArguments *)arguments;
    for (uint32_t i = 0; i < a->count; ++i) a->out[i] = a->x[i] * a->y[i];
}

/* Each block has its part of the elements, which are two bytes long. */
static void add_part(const uint16_t *x, const uint16_t *y, uint16_t *sum, uint32_t count, uint32_t block) {
    const uint32_t part = count / kBlocks;
    for (uint32_t i = part * block; i < part * (block + 1); ++i) sum[i] = (uint16_t)(x[i] + y[i]);
}

typedef struct { const uint16_t *x, *y; uint16_t *sum; } SumArguments;
ACLSIM_KERNEL(add_custom) {
    const SumArguments *a = (const SumArguments *)arguments;
    add_part(a->x, a->y, a->sum, 8 * 2048, block_index);
}

typedef struct { SumArguments sum; const int32_t *count, *tiles; } TiledArguments;
ACLSIM_KERNEL(add_tiled) {
    const TiledArguments *a = (const TiledArguments *)arguments;
    if (*a->tiles == 8) add_part(a->sum.x, a->sum.y, a->sum.sum, (uint32_t)*a->count, block_index);
}

ACLSIM_KERNEL(count_blocks) { __atomic_add_fetch(*(uint32_t **)arguments, 1, __ATOMIC_SEQ_CST); }
"""

H2H, H2D, D2H, D2D = range(4)
HUGE_FIRST = 0
OUT = object()  # the place of the output in a call
COUNT = 8  # elements of the operators' arrays
ELEMENTS = 8 * 2048  # the kernels' arrays
SUM_BYTES = 2 * ELEMENTS


def ok(code: int) -> None:
    """Stop at a call that fails."""
    if code:
        text = lib.aclGetRecentErrMsg()
        raise RuntimeError(f"{code}: {ffi.string(text).decode() if text else ''}")


def made(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Return what a call puts where :data:`OUT` is."""
    out = ffi.new(f"{kind} *")
    ok(function(*(out if argument is OUT else argument for argument in arguments)))
    return out[0]


@contextmanager
def device(*, context: bool = True) -> Iterator[None]:
    """Initialise, set device 0, and make a context; afterwards the reverse."""
    ok(lib.aclInit(ffi.NULL))
    ok(lib.aclrtSetDevice(0))
    own = made("aclrtContext", lib.aclrtCreateContext, OUT, 0) if context else None
    yield
    if own is not None:
        ok(lib.aclrtDestroyContext(own))
    ok(lib.aclrtResetDeviceForce(0))
    ok(lib.aclFinalize())


def stream(*config: int) -> Any:
    create = lib.aclrtCreateStreamWithConfig if config else lib.aclrtCreateStream
    return made("aclrtStream", create, OUT, *config)


def memory(size: int) -> Any:
    return made("void *", lib.aclrtMalloc, OUT, size, HUGE_FIRST)


def host_memory(size: int) -> Any:
    return made("void *", lib.aclrtMallocHost, OUT, size)


def view(pointer: Any, size: int, dtype: Any) -> Any:
    """Return an array of memory that the host can use."""
    return np.frombuffer(ffi.buffer(pointer, size), dtype)


def write(to: Any, values: Any, dtype: Any = np.float32) -> None:
    data = np.asarray(values, dtype).tobytes()
    ok(lib.aclrtMemcpy(to, len(data), ffi.from_buffer(data), len(data), H2D))


def read(source: Any, count: int = COUNT, dtype: Any = np.float32) -> list[Any]:
    data = bytearray(count * np.dtype(dtype).itemsize)
    ok(lib.aclrtMemcpy(ffi.from_buffer(data), len(data), source, len(data), D2H))
    return list(np.frombuffer(data, dtype).tolist())


def array(values: Any = None) -> Any:
    """Return device memory for an operator's array."""
    made = memory(4 * COUNT)
    if values is not None:
        write(made, values)
    return made


class Kernels:
    """The loaded binary, and launches from it that take a block of arguments."""

    def __init__(self) -> None:
        self.binary = made("aclrtBinHandle", lib.aclrtBinaryLoadFromFile, sys.argv[2].encode(), ffi.NULL, OUT)

    def function(self, name: str) -> Any:
        return made("aclrtFuncHandle", lib.aclrtBinaryGetFunction, self.binary, name.encode(), OUT)

    def launch(self, name: str, on: Any, block: bytes, blocks: int = 1) -> None:
        memory = ffi.from_buffer(bytearray(block))
        arguments = (blocks, on, ffi.NULL, memory, len(block), ffi.NULL, 0)
        ok(lib.aclrtLaunchKernelWithHostArgs(self.function(name), *arguments))

    def add(self, on: Any, x: Any, y: Any, out: Any, scale: float) -> None:
        """Launch out = x + y * scale."""
        self.launch("add", on, struct.pack("<QQQfI", *map(address, (x, y, out)), scale, COUNT))

    def multiply(self, on: Any, x: Any, y: Any, out: Any) -> None:
        """Launch out = x * y."""
        self.launch("multiply", on, struct.pack("<QQQI", *map(address, (x, y, out)), COUNT))

    def unload(self) -> None:
        ok(lib.aclrtBinaryUnLoad(self.binary))


def append(arguments: Any, pointers: list[Any]) -> None:
    for pointer in pointers:
        made("aclrtParamHandle", lib.aclrtKernelArgsAppend, arguments, ffi.new("void **", pointer), 8, OUT)


def launch_sum(kernels: Kernels, name: str, on: Any, pointers: list[Any], numbers: tuple[int, ...] = ()) -> None:
    """Launch with a list of arguments, in which each number is a placeholder, and wait."""
    function = kernels.function(name)
    arguments = made("aclrtArgsHandle", lib.aclrtKernelArgsInit, function, OUT)
    append(arguments, pointers)
    holders = [made("aclrtParamHandle", lib.aclrtKernelArgsAppendPlaceHolder, arguments, OUT) for _ in numbers]
    places = [made("void *", lib.aclrtKernelArgsGetPlaceHolderBuffer, arguments, holder, 4, OUT) for holder in holders]
    for place, number in zip(places, numbers, strict=True):
        ffi.cast("int32_t *", place)[0] = number
    ok(lib.aclrtKernelArgsFinalize(arguments))
    ok(lib.aclrtLaunchKernelWithConfig(function, 8, on, ffi.NULL, arguments, ffi.NULL))
    ok(lib.aclrtSynchronizeStream(on))


# --- kernel ----------------------------------------------------------------------------------------------------------


def _launch_kernel(name: str, numbers: tuple[int, ...]) -> Any:
    with device(context=False):
        on = stream()
        host = [host_memory(SUM_BYTES) for _ in range(3)]
        own = [memory(SUM_BYTES) for _ in range(3)]
        for i in range(2):
            view(host[i], SUM_BYTES, np.uint16)[:] = np.arange(ELEMENTS) % (i + 7)
            ok(lib.aclrtMemcpy(own[i], SUM_BYTES, host[i], SUM_BYTES, H2D))
        kernels = Kernels()
        launch_sum(kernels, name, on, own, numbers)
        ok(lib.aclrtMemcpy(host[2], SUM_BYTES, own[2], SUM_BYTES, D2H))
        x, y, total = (view(each, SUM_BYTES, np.uint16) for each in host)
        is_sum = bool((total == x + y).all())
        kernels.unload()
        for pointer in own:
            ok(lib.aclrtFree(pointer))
        for pointer in host:
            ok(lib.aclrtFreeHost(pointer))
        ok(lib.aclrtDestroyStreamForce(on))
    return is_sum


def launch_kernel_simple() -> Any:
    return _launch_kernel("add_custom", ())


def launch_kernel_placeholder() -> Any:
    return _launch_kernel("add_tiled", (ELEMENTS, 8))


def launch_kernel_with_reslimit() -> Any:
    with device(context=False):
        on = stream()
        ok(lib.aclrtSetDeviceResLimit(0, lib.ACL_RT_DEV_RES_CUBE_CORE, 8))
        cores = made("uint32_t", lib.aclrtGetDeviceResLimit, 0, lib.ACL_RT_DEV_RES_CUBE_CORE, OUT)
        counter = memory(4)
        write(counter, [0], np.uint32)
        Kernels().launch("count_blocks", on, struct.pack("<Q", address(counter)), cores)
        ok(lib.aclrtSynchronizeStream(on))
        ran = read(counter, 1, np.uint32)
        ok(lib.aclrtDestroyStreamForce(on))
    return [cores, *ran]


# --- label -----------------------------------------------------------------------------------------------------------


def simple_label() -> Any:
    with device():
        labelled, executing = stream(0, PERSISTENT), stream()
        model = made("aclmdlRI", lib.aclmdlRIBuildBegin, OUT, 0)
        ok(lib.aclmdlRIBindStream(model, labelled, HEAD))
        index = memory(4)
        write(index, [1], np.uint32)
        labels = ffi.new("aclrtLabel[]", [made("aclrtLabel", lib.aclrtCreateLabel, OUT) for _ in range(2)])
        listed = made("aclrtLabelList", lib.aclrtCreateLabelList, labels, 2, OUT)
        ok(lib.aclrtSwitchLabelByIndex(index, 2, listed, labelled))
        for label in labels:
            ok(lib.aclrtSetLabel(label, labelled))
        ok(lib.aclmdlRIEndTask(model, labelled))
        ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))
        ok(lib.aclmdlRIExecuteAsync(model, executing))
        ok(lib.aclrtSynchronizeStream(executing))

        ok(lib.aclmdlRIUnbindStream(model, labelled))
        ok(lib.aclmdlRIDestroy(model))
        ok(lib.aclrtDestroyLabelList(listed))
        for label in reversed(list(labels)):
            ok(lib.aclrtDestroyLabel(label))
        ok(lib.aclrtFree(index))
        ok(lib.aclrtDestroyStream(executing))
        ok(lib.aclrtDestroyStream(labelled))
    return "done"


# --- model_ri --------------------------------------------------------------------------------------------------------


def simple_model() -> Any:
    """out = (x + y * 1.1) * y, with the copy of x in the graph and that of y made while it is captured."""
    results = []
    x_values, y_values = np.arange(1, 9, dtype=np.float32), np.full(8, 2, np.float32)
    with device():
        x, y, out, between = (array() for _ in range(4))
        kernels = Kernels()
        on = stream()
        pinned = host_memory(x_values.nbytes)
        ok(lib.aclrtMemcpy(pinned, x_values.nbytes, ffi.from_buffer(x_values), x_values.nbytes, H2H))

        ok(lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_GLOBAL))
        ok(lib.aclrtMemcpyAsync(x, x_values.nbytes, pinned, x_values.nbytes, H2D, on))
        mode = ffi.new("aclmdlRICaptureMode *", lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        ok(lib.aclmdlRICaptureThreadExchangeMode(mode))
        write(y, y_values)
        ok(lib.aclmdlRICaptureThreadExchangeMode(mode))
        kernels.add(on, x, y, between, 1.1)
        kernels.multiply(on, between, y, out)
        model = made("aclmdlRI", lib.aclmdlRICaptureEnd, on, OUT)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.json"
            ok(lib.aclmdlRIDebugJsonPrint(model, bytes(path), 0))
            is_printed = bool(json.loads(path.read_text(encoding="utf-8")))
        for _ in range(4):
            ok(lib.aclmdlRIExecuteAsync(model, on))
            ok(lib.aclrtSynchronizeStream(on))
            results.append(read(out))

        ok(lib.aclmdlRIDestroy(model))
        ok(lib.aclrtDestroyStreamForce(on))
        for pointer in (x, y, out, between):
            ok(lib.aclrtFree(pointer))
    return [is_printed, *results]


def model_update() -> Any:
    """out = (x + y * 1.1) + y * scale; the second operator is updated, and waits until it is."""
    results = []
    with device():
        x, y, out, between = (array() for _ in range(4))
        kernels = Kernels()
        on = stream()
        updated = made("aclrtEvent", lib.aclrtCreateEventWithFlag, OUT, lib.ACL_EVENT_EXTERNAL)
        ok(lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED))
        write(x, range(1, 9))
        write(y, [2] * 8)
        kernels.add(on, x, y, between, 1.1)
        ok(lib.aclrtStreamWaitEvent(on, updated))
        ok(lib.aclrtResetEvent(updated, on))
        ok(lib.aclmdlRICaptureTaskGrpBegin(on))
        kernels.add(on, between, y, out, 1.1)
        group = made("aclrtTaskGrp", lib.aclmdlRICaptureTaskGrpEnd, on, OUT)
        model = made("aclmdlRI", lib.aclmdlRICaptureEnd, on, OUT)

        updating = stream()
        for is_second in (False, True):
            ok(lib.aclmdlRIExecuteAsync(model, on))
            if is_second:
                ok(lib.aclmdlRICaptureTaskUpdateBegin(updating, group))
                kernels.add(updating, between, y, out, 2.2)
                ok(lib.aclmdlRICaptureTaskUpdateEnd(updating))
            ok(lib.aclrtRecordEvent(updated, updating))
            ok(lib.aclrtSynchronizeStream(updating))
            ok(lib.aclrtSynchronizeStream(on))
            results.append(read(out))

        ok(lib.aclmdlRIDestroy(model))
        ok(lib.aclrtDestroyStream(on))
        ok(lib.aclrtDestroyStream(updating))
        for pointer in (x, y, out, between):
            ok(lib.aclrtFree(pointer))
    return results


def model_switch() -> Any:
    """Of five streams the first one chooses by a number in memory which of the others run."""
    results = []
    with device():
        operands = [[array() for _ in range(3)] for _ in range(3)]  # x, y and out of three operators
        for _, _, out in operands:
            write(out, [0] * 8)
        one, two, chosen, source = (memory(4) for _ in range(4))
        for pointer, number in ((one, 1), (two, 2), (chosen, 0), (source, 1)):
            write(pointer, [number], np.int32)
        kernels = Kernels()
        first, second, third, fourth, last = bound = [stream(0, PERSISTENT) for _ in range(5)]
        copying = stream()
        model = made("aclmdlRI", lib.aclmdlRIBuildBegin, OUT, 0)
        for each in bound:
            ok(lib.aclmdlRIBindStream(model, each, HEAD if each == first else ACTIVATED))
        for i, (on, (x, y, _)) in enumerate(zip((first, second, third), operands, strict=True)):
            for to, number in ((x, i + 1), (y, 2)):
                values = np.full(8, number, np.float32)
                ok(lib.aclrtMemcpyAsync(to, values.nbytes, ffi.from_buffer(values), values.nbytes, H2D, on))
        kernels.add(first, *operands[0], 1.2)
        ok(lib.aclrtMemcpyAsync(chosen, 4, source, 4, D2D, first))
        kernels.add(second, *operands[1], 1.2)
        ok(lib.aclrtActiveStream(last, second))
        kernels.add(third, *operands[2], 1.2)
        ok(lib.aclrtActiveStream(last, third))
        for right, to in ((one, third), (two, fourth)):
            kind = (lib.ACL_RT_EQUAL, right, lib.ACL_RT_SWITCH_INT32)
            ok(lib.aclrtSwitchStream(chosen, *kind, to, ffi.NULL, first))
        ok(lib.aclrtActiveStream(second, fourth))
        ok(lib.aclmdlRIEndTask(model, last))
        ok(lib.aclmdlRIBuildEnd(model, ffi.NULL))

        executing = stream()
        for choice in (1, 2):
            number = ffi.new("int32_t *", choice)
            ok(lib.aclrtMemcpyAsync(source, 4, number, 4, H2D, copying))
            ok(lib.aclrtSynchronizeStream(copying))
            ok(lib.aclmdlRIExecuteAsync(model, executing))
            ok(lib.aclrtSynchronizeStream(executing))
            outs = [np.zeros(8, np.float32) for _ in operands]
            for values, (_, _, out) in zip(outs, operands, strict=True):
                ok(lib.aclrtMemcpyAsync(ffi.from_buffer(values), values.nbytes, out, values.nbytes, D2H, copying))
            ok(lib.aclrtSynchronizeStream(copying))
            results.append([values.tolist() for values in outs])
        for each in bound:
            ok(lib.aclmdlRIUnbindStream(model, each))
        ok(lib.aclmdlRIDestroy(model))
        for each in (copying, executing, *bound):
            ok(lib.aclrtDestroyStream(each))
        for pointer in (chosen, source, one, two, *chain(*operands)):
            ok(lib.aclrtFree(pointer))
    return results


class Conditional:
    """A graph with a conditional task, whose bodies are captured one by one; out = x + y * scale.

    The examples ask for the default, 0, in each execution, so that what they write into the condition does not count.
    """

    def __init__(self, kind: int, bodies: int, flag: int) -> None:
        self.x, self.y = array(range(1, 9)), array(np.arange(1, 9) / 2)
        self.out = array([0] * 8)
        self.kernels = Kernels()
        self.origin, self.inner, self.executing = (stream() for _ in range(3))
        ok(lib.aclmdlRICaptureBegin(self.origin, lib.ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL))
        self.graph = self._captured()
        condition = made("aclmdlRICondHandle", lib.aclmdlRICondHandleCreate, self.graph, 0, flag, OUT)
        self.value = made("uint64_t *", lib.aclmdlRICondHandleGetCondPtr, condition, OUT)
        self.bodies = ffi.new("aclmdlRI[]", bodies)
        parameters = {"handle": condition, "type": kind, "size": bodies, "modelRIArray": self.bodies}
        ok(lib.aclmdlRIAddCondTask(parameters, self.origin, 0))

    def _captured(self) -> Any:
        status, graph = ffi.new("aclmdlRICaptureStatus *"), ffi.new("aclmdlRI *")
        ok(lib.aclmdlRICaptureGetInfo(self.origin, status, graph))
        assert status[0] == lib.ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
        return graph[0]

    def body(self, number: int, scale: float, then: Callable[[], None] = lambda: None) -> None:
        mode = lib.ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
        ok(lib.aclmdlRICaptureToModelRIBegin(self.inner, self.bodies[number], mode))
        self.kernels.add(self.inner, self.x, self.y, self.out, scale)
        then()
        ok(lib.aclmdlRICaptureEnd(self.inner, self.bodies + number))

    def end(self) -> None:
        self.graph = made("aclmdlRI", lib.aclmdlRICaptureEnd, self.origin, OUT)

    def run(self, value: int) -> list[Any]:
        write(self.value, [value], np.uint64)
        ok(lib.aclmdlRIExecuteAsync(self.graph, self.executing))
        ok(lib.aclrtSynchronizeStream(self.executing))
        return read(self.out)

    def destroy(self) -> None:
        ok(lib.aclmdlRIDestroy(self.graph))
        for each in (self.inner, self.origin, self.executing):
            ok(lib.aclrtDestroyStream(each))
        for pointer in (self.x, self.y, self.out):
            ok(lib.aclrtFree(pointer))


FLAGS = (lib.ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, 0)


def _conditional(kind: int, scales: tuple[float, ...], values: tuple[int, ...]) -> Any:
    """Return the results with the default as the examples have it, and with the written values."""
    results = []
    for flag in FLAGS:
        with device():
            graph = Conditional(kind, len(scales), flag)
            for i, scale in enumerate(scales):
                graph.body(i, scale)
            graph.end()
            results.append([graph.run(value) for value in values])
            graph.destroy()
    return results


def cond_if() -> Any:
    return _conditional(lib.ACL_MODEL_RI_COND_TYPE_IF, (2.0, 0.5), (1, 0))


def cond_switch() -> Any:
    return _conditional(lib.ACL_MODEL_RI_COND_TYPE_SWITCH, (1.0, 2.0, 0.5), (0, 1, 2))


def cond_while() -> Any:
    """The same; the body ends the loop itself: it copies 0 into the condition."""
    results = []
    for flag in FLAGS:
        with device():
            zero = memory(8)
            write(zero, [0], np.uint64)
            graph = Conditional(lib.ACL_MODEL_RI_COND_TYPE_WHILE, 1, flag)
            copy = partial(lib.aclrtMemcpyAsync, graph.value, 8, zero, 8, D2D, graph.inner)
            graph.body(0, 1.0, lambda copy=copy: ok(copy()))
            graph.end()
            results.append([graph.run(1)])
            graph.destroy()
            ok(lib.aclrtFree(zero))
    return results


def _copy(to: Any, source: Any, on: Any) -> None:
    ok(lib.aclrtMemcpyAsync(to, 4 * COUNT, source, 4 * COUNT, D2D, on))


@contextmanager
def _capture(on: Any, graphs: list[Any]) -> Iterator[None]:
    ok(lib.aclmdlRICaptureBegin(on, lib.ACL_MODEL_RI_CAPTURE_MODE_RELAXED))
    yield
    graphs.append(made("aclmdlRI", lib.aclmdlRICaptureEnd, on, OUT))


def _sync_external(scenario: Callable[[list[Any], Any, Any, Any, list[Any]], Any]) -> Any:
    """Run a scenario with two streams, an event and three arrays; the first one has the numbers from 1 to 8."""
    with device():
        streams, arrays = [stream(), stream()], [array(), array(), array()]
        event = made("aclrtEvent", lib.aclrtCreateEventExWithFlag, OUT, lib.ACL_EVENT_SYNC)
        write(arrays[0], range(1, 9), np.int32)
        graphs: list[Any] = []
        result = scenario(graphs, event, *streams, arrays)
        for graph in graphs:
            ok(lib.aclmdlRIDestroy(graph))
        ok(lib.aclrtDestroyEvent(event))
        for pointer in arrays:
            ok(lib.aclrtFree(pointer))
        for each in streams:
            ok(lib.aclrtDestroyStream(each))
    return result


def stream_record_graph_wait() -> Any:
    def scenario(graphs: list[Any], event: Any, on: Any, outside: Any, arrays: list[Any]) -> Any:
        with _capture(on, graphs):
            ok(lib.aclrtStreamWaitEventWithFlag(on, event, 0, lib.ACL_EVENT_WAIT_EXTERNAL))
            _copy(arrays[2], arrays[0], on)
        ok(lib.aclrtRecordEvent(event, outside))
        ok(lib.aclmdlRIExecuteAsync(graphs[0], on))
        ok(lib.aclrtSynchronizeStream(on))
        return read(arrays[2], dtype=np.int32)

    return _sync_external(scenario)


def graph_record_stream_wait() -> Any:
    def scenario(graphs: list[Any], event: Any, on: Any, outside: Any, arrays: list[Any]) -> Any:
        with _capture(on, graphs):
            _copy(arrays[2], arrays[0], on)
            ok(lib.aclrtRecordEventWithFlag(event, on, lib.ACL_EVENT_RECORD_EXTERNAL))
        ok(lib.aclmdlRIExecuteAsync(graphs[0], on))
        ok(lib.aclrtStreamWaitEvent(outside, event))
        values = np.zeros(COUNT, np.int32)
        ok(lib.aclrtMemcpyAsync(ffi.from_buffer(values), values.nbytes, arrays[2], values.nbytes, D2H, outside))
        ok(lib.aclrtSynchronizeStream(outside))
        return values.tolist()

    return _sync_external(scenario)


def graph_record_graph_wait() -> Any:
    def scenario(graphs: list[Any], event: Any, first: Any, second: Any, arrays: list[Any]) -> Any:
        with _capture(first, graphs):
            _copy(arrays[1], arrays[0], first)
            ok(lib.aclrtRecordEventWithFlag(event, first, lib.ACL_EVENT_RECORD_EXTERNAL))
        with _capture(second, graphs):
            ok(lib.aclrtStreamWaitEventWithFlag(second, event, 0, lib.ACL_EVENT_WAIT_EXTERNAL))
            _copy(arrays[2], arrays[1], second)
        ok(lib.aclmdlRIExecuteAsync(graphs[0], first))
        ok(lib.aclmdlRIExecuteAsync(graphs[1], second))
        ok(lib.aclrtSynchronizeStream(second))
        return read(arrays[2], dtype=np.int32)

    return _sync_external(scenario)


# --- host_register and managed_memory --------------------------------------------------------------------------------


def simple_zero_copy() -> Any:
    with device(context=False):
        on = stream()
        host = [host_memory(SUM_BYTES) for _ in range(3)]
        mapped = []
        for pointer, number in zip(host, (1, 2, 0), strict=True):
            ok(lib.aclrtHostRegisterV2(pointer, SUM_BYTES, lib.ACL_HOST_REG_MAPPED))
            mapped.append(made("void *", lib.aclrtHostGetDevicePointer, pointer, OUT, 0))
            view(pointer, SUM_BYTES, np.uint16)[:] = number
        kernels = Kernels()
        launch_sum(kernels, "add_custom", on, mapped)
        found = np.unique(view(host[2], SUM_BYTES, np.uint16)).tolist()
        kernels.unload()
        for pointer in reversed(host):
            ok(lib.aclrtHostUnregister(pointer))
            ok(lib.aclrtFreeHost(pointer))
        ok(lib.aclrtDestroyStream(on))
    return found


def uvm_allocate() -> Any:
    """None on a product that has no managed memory."""
    with device(context=False):
        on = stream()
        out = ffi.new("void **")
        code = lib.aclrtMemAllocManaged(out, SUM_BYTES, lib.ACL_RT_MEM_ATTACH_GLOBAL)
        is_there = code != lib.ACL_ERROR_RT_FEATURE_NOT_SUPPORT
        is_sum = None
        if is_there:
            ok(code)
            more = (SUM_BYTES, lib.ACL_RT_MEM_ATTACH_GLOBAL)
            managed = [out[0], *(made("void *", lib.aclrtMemAllocManaged, OUT, *more) for _ in range(2))]
            x, y, total = (view(pointer, SUM_BYTES, np.uint16) for pointer in managed)
            x[:], y[:] = np.arange(ELEMENTS), np.arange(ELEMENTS) % 7
            kernels = Kernels()
            launch_sum(kernels, "add_custom", on, managed)
            is_sum = bool((total == x + y).all())
            kernels.unload()
            for pointer in reversed(managed):
                ok(lib.aclrtFree(pointer))
        ok(lib.aclrtDestroyStreamForce(on))
    return is_sum


# --- built_in_task ---------------------------------------------------------------------------------------------------


def reduce_task() -> Any:
    with device(context=False):
        on = stream()
        source, total = memory(16), memory(16)
        for pointer in (source, total):
            write(pointer, [1, 2, 3, 4])
        kind = lib.ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM
        ok(lib.aclrtReduceAsync(total, source, 16, kind, lib.ACL_FLOAT, on, ffi.NULL))
        ok(lib.aclrtSynchronizeStream(on))
        result = read(total, 4)
        for pointer in (source, total):
            ok(lib.aclrtFree(pointer))
        ok(lib.aclrtDestroyStream(on))
    return result


NUMBERS = 128


def random_num_task() -> Any:
    """Five kinds of numbers one after the other; elements that the tasks do not set are undefined."""
    results = []
    with device(context=False):
        on = stream()
        out, counter = memory(8 * NUMBERS), memory(16)
        ok(lib.aclrtMemset(counter, 16, 0, 16))

        def set_value(place: Any, data: bytes) -> None:
            place.isAddr, place.size = 0, len(data)
            ffi.buffer(place.valueOrAddr)[: len(data)] = data

        def draw(function: int, kind: int, names: tuple[str, ...], parameters: tuple[bytes, ...]) -> bytes:
            task = ffi.new("aclrtRandomNumTaskInfo *")
            ffi.buffer(task)[:] = b"\xa5" * ffi.sizeof("aclrtRandomNumTaskInfo")
            task.dataType, task.randomNumFuncParaInfo.funcType = kind, function
            task.randomParaAddr, task.randomCounterAddr, task.randomResultAddr = ffi.NULL, counter, out
            info = getattr(task.randomNumFuncParaInfo.paramInfo, names[0])
            for name, data in zip(names[1:], parameters, strict=True):
                set_value(getattr(info, name), data)
            set_value(task.randomSeed, struct.pack("<Q", 0))
            set_value(task.randomNum, struct.pack("<Q", NUMBERS))
            ok(lib.aclrtRandomNumAsync(task, on, ffi.NULL))
            ok(lib.aclrtSynchronizeStream(on))
            return bytes(read(out, 8 * NUMBERS, np.uint8))

        normal, uniform = ("normalDisInfo", "mean", "stddev"), ("uniformDisInfo", "min", "max")
        halves = struct.pack("<e", 1), struct.pack("<e", 2)
        bfloats = b"\x80\x3f", b"\x00\x40"  # 1 and 2
        drawn = draw(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, lib.ACL_FLOAT, normal, struct_floats(3, 2))
        results.append(np.frombuffer(drawn, np.float32)[:NUMBERS].tolist())
        drawn = draw(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS, lib.ACL_BF16, normal, bfloats)
        words = np.frombuffer(drawn, np.uint16)[:NUMBERS]
        results.append((words.astype(np.uint32) << 16).view(np.float32).tolist())
        drawn = draw(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, lib.ACL_FLOAT16, uniform, halves)
        results.append(np.frombuffer(drawn, np.float16)[:NUMBERS].tolist())
        integers = struct.pack("<i", 1), struct.pack("<i", 100)
        drawn = draw(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, lib.ACL_INT32, uniform, integers)
        results.append(np.frombuffer(drawn, np.int32)[:NUMBERS].tolist())
        mask = ("dropoutBitmaskInfo", "dropoutRation")
        drawn = draw(lib.ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK, lib.ACL_FLOAT, mask, struct_floats(0.4))
        results.append(list(drawn[: NUMBERS // 8]))
        ok(lib.aclrtFree(out))
        ok(lib.aclrtFree(counter))
        ok(lib.aclrtDestroyStream(on))
    return results


@contextmanager
def sent_floats(values: list[float]) -> Iterator[Any]:
    """Make a dataset of one tensor, and destroy both afterwards."""
    data, shape = ffi.new("float[]", values), ffi.new("int64_t[2]", [1, len(values)])
    tensor = lib.ACL_TENSOR_DATA_TENSOR
    item = lib.acltdtCreateDataItem(tensor, shape, 2, lib.ACL_FLOAT, data, ffi.sizeof(data))
    dataset = lib.acltdtCreateDataset()
    ok(lib.acltdtAddDataItem(dataset, item))
    yield dataset
    for index in range(lib.acltdtGetDatasetSize(dataset)):
        ok(lib.acltdtDestroyDataItem(lib.acltdtGetDataItem(dataset, index)))
    ok(lib.acltdtDestroyDataset(dataset))


@contextmanager
def channel(name: bytes) -> Iterator[Any]:
    created = lib.acltdtCreateChannelWithCapacity(0, name, 2)
    if created == ffi.NULL:
        raise RuntimeError(name.decode())
    yield created
    ok(lib.acltdtCleanChannel(created))
    ok(lib.acltdtStopChannel(created))
    ok(lib.acltdtDestroyChannel(created))


def described(dataset: Any) -> list[Any]:
    """Return what the examples print of the first item."""
    item = lib.acltdtGetDataItem(dataset, 0)
    count = lib.acltdtGetDimNumFromItem(item)
    shape = ffi.new("int64_t[]", count)
    ok(lib.acltdtGetDimsFromItem(item, shape, count))
    types = lib.acltdtGetTensorTypeFromItem(item), lib.acltdtGetDataTypeFromItem(item)
    values = ffi.cast("float *", lib.acltdtGetDataAddrFromItem(item))
    return [lib.acltdtGetDatasetSize(dataset), *types, lib.acltdtGetDataSizeFromItem(item), list(shape), values[0]]


def size_of(channel: Any) -> int:
    return int(made("size_t", lib.acltdtQueryChannelSize, channel, OUT))


def simple_channel() -> list[Any]:
    with device(context=False), channel(b"simple_tdt_channel") as to, sent_floats([1, 2, 3, 4]) as sent:
        received = lib.acltdtCreateDataset()
        results = [described(sent)]
        ok(lib.acltdtSendTensor(to, sent, 1000))
        results.append(size_of(to))
        ok(lib.acltdtReceiveTensor(to, received, 1000))
        results += [described(received), size_of(to)]
        ok(lib.acltdtDestroyDataset(received))
    return results


def channel_capacity() -> list[Any]:
    with device(context=False), channel(b"capacity_tdt_channel") as to, sent_floats([10, 20]) as first:
        number, index = ffi.new("size_t *"), ffi.new("size_t *")
        item = lib.acltdtGetDataItem(first, 0)
        ok(lib.acltdtGetSliceInfoFromItem(item, number, index))
        name = ffi.string(lib.acltdtGetDatasetName(first)).decode()
        results = [number[0], index[0], lib.acltdtGetTensorTypeFromItem(item), name]
        ok(lib.acltdtSendTensor(to, first, 1000))
        results.append(size_of(to))
        with sent_floats([30, 40]) as second, sent_floats([50, 60]) as third:
            ok(lib.acltdtSendTensor(to, second, 0))
            results += [size_of(to), lib.acltdtSendTensor(to, third, 0)]
    return results


def _queue(name: bytes) -> Any:
    attributes, depth = lib.acltdtCreateQueueAttr(), ffi.new("uint32_t *", 4)
    text, length, number = ffi.new("char[]", name), ffi.new("size_t *"), ffi.new("uint32_t *")
    ok(lib.acltdtSetQueueAttr(attributes, lib.ACL_TDT_QUEUE_NAME_PTR, 8, ffi.new("char *[1]", [text])))
    ok(lib.acltdtSetQueueAttr(attributes, lib.ACL_TDT_QUEUE_DEPTH_UINT32, 4, depth))
    given, deep = ffi.new("char **"), ffi.new("uint32_t *")
    ok(lib.acltdtGetQueueAttr(attributes, lib.ACL_TDT_QUEUE_NAME_PTR, 8, length, given))
    ok(lib.acltdtGetQueueAttr(attributes, lib.ACL_TDT_QUEUE_DEPTH_UINT32, 4, length, deep))
    described = [ffi.string(given[0]).decode(), deep[0]]
    ok(lib.acltdtCreateQueue(attributes, number))
    ok(lib.acltdtDestroyQueueAttr(attributes))
    return number[0], described


def simple_queue() -> Any:
    with device(context=False):
        number, described = _queue(b"simple_queue")
        ok(lib.acltdtDestroyQueue(number))
    return described


def queue_route() -> Any:
    with device(context=False):
        ends = [_queue(name)[0] for name in (b"route_src_queue", b"route_dst_queue")]
        route, bound, found = lib.acltdtCreateQueueRoute(*ends), *(lib.acltdtCreateQueueRouteList() for _ in range(2))
        ok(lib.acltdtAddQueueRoute(bound, route))
        ok(lib.acltdtBindQueueRoutes(bound))
        query = lib.acltdtCreateQueueRouteQueryInfo()
        for kind, value in enumerate([lib.ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST, *ends]):
            ok(lib.acltdtSetQueueRouteQueryInfo(query, kind, 4, ffi.new("uint32_t *", value)))
        ok(lib.acltdtQueryQueueRoutes(query, found))
        count, view = lib.acltdtGetQueueRouteNum(found), lib.acltdtCreateQueueRoute(*ends)
        ok(lib.acltdtGetQueueRoute(found, 0, view))
        size, values = ffi.new("size_t *"), ffi.new("int32_t[3]")
        for kind in range(3):
            ok(lib.acltdtGetQueueRouteParam(view, kind, 4, size, values + kind))
        ok(lib.acltdtDestroyQueueRoute(view))
        ok(lib.acltdtUnbindQueueRoutes(bound))
        for routes in (found, bound):
            ok(lib.acltdtDestroyQueueRouteList(routes))
        ok(lib.acltdtDestroyQueueRouteQueryInfo(query))
        ok(lib.acltdtDestroyQueueRoute(route))
        for end in reversed(ends):
            ok(lib.acltdtDestroyQueue(end))
    return [count, list(values) == [*ends, lib.ACL_TDT_QUEUE_ROUTE_BIND]]


def struct_floats(*values: float) -> tuple[bytes, ...]:
    return tuple(struct.pack("<f", value) for value in values)


# --- profiling -------------------------------------------------------------------------------------------------------


def _configured(path: bytes, data: int) -> Any:
    ok(lib.aclprofInit(path, len(path)))
    config = lib.aclprofCreateConfig(ffi.new("uint32_t *"), 1, lib.ACL_AICORE_ARITHMETIC_UTILIZATION, ffi.NULL, data)
    assert config != ffi.NULL
    ok(lib.aclprofSetConfig(lib.ACL_PROF_SYS_HARDWARE_MEM_FREQ, b"15", 2))
    ok(lib.aclprofStart(config))
    return config


def _concluded(config: Any) -> None:
    ok(lib.aclprofStop(config))
    ok(lib.aclprofDestroyConfig(config))
    ok(lib.aclprofFinalize())


def create_config() -> Any:
    with device(context=False), tempfile.TemporaryDirectory() as directory:
        data = (
            lib.ACL_PROF_ACL_API
            | lib.ACL_PROF_TASK_TIME
            | lib.ACL_PROF_AICORE_METRICS
            | lib.ACL_PROF_AICPU
            | lib.ACL_PROF_L2CACHE
            | lib.ACL_PROF_HCCL_TRACE
            | lib.ACL_PROF_MSPROFTX
            | lib.ACL_PROF_RUNTIME_API
        )
        _concluded(_configured(directory.encode(), data))
        return len(list(Path(directory).glob("PROF_*")))


def msproftx() -> Any:
    """Return the ranges and marks by name, and the number of steps."""

    def stamp(message: bytes) -> Any:
        made = lib.aclprofCreateStamp()
        assert made != ffi.NULL
        ok(lib.aclprofSetStampTraceMessage(made, message, len(message)))
        return made

    with device(context=False), tempfile.TemporaryDirectory() as directory:
        on = stream()
        config = _configured(directory.encode(), lib.ACL_PROF_ACL_API | lib.ACL_PROF_TASK_TIME | lib.ACL_PROF_MSPROFTX)
        step = lib.aclprofCreateStepInfo()
        ok(lib.aclprofGetStepTimestamp(step, lib.ACL_STEP_START, on))
        names = (
            b"model_load_mark",
            b"forward_pass_push",
            b"operator_dispatch_push",
            b"preprocess_range",
            b"model_exec_mark",
        )
        load, outer, inner, preprocess, execute = stamps = [stamp(name) for name in names]
        number = ffi.new("uint32_t *")
        ok(lib.aclprofMark(load))
        ok(lib.aclprofPush(outer))
        ok(lib.aclprofRangeStart(preprocess, number))
        ok(lib.aclprofRangeStop(number[0]))
        ok(lib.aclprofPush(inner))
        ok(lib.aclprofPop())
        ok(lib.aclprofMark(execute))
        ok(lib.aclprofPop())
        ok(lib.aclprofGetStepTimestamp(step, lib.ACL_STEP_END, on))
        lib.aclprofDestroyStepInfo(step)
        for each in stamps:
            lib.aclprofDestroyStamp(each)
        _concluded(config)
        ok(lib.aclrtDestroyStream(on))
        (table,) = Path(directory).glob("PROF_*/*/msprof_tx_*.csv")
        (steps,) = Path(directory).glob("PROF_*/*/step_trace_*.csv")
        rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
        return [{row[5]: row[2] for row in rows}, len(steps.read_text().splitlines()) - 1]


# --- adump -----------------------------------------------------------------------------------------------------------


def save_exception_info() -> Any:
    """Return the beginning of the saved tensors, and whether the path of aclInit's configuration was used."""
    with tempfile.TemporaryDirectory() as directory:
        configuration = Path(directory, "acl.json")
        configuration.write_text(json.dumps({"dump": {"dump_path": directory, "dump_scene": "aic_err_brief_dump"}}))
        ok(lib.aclInit(str(configuration).encode()))
        ok(lib.aclrtSetDevice(0))
        path = ffi.new("char[]", lib.ACL_DUMP_MAX_FILE_PATH_LENGTH)
        ok(lib.acldumpGetExceptionInfoPath(path, lib.ACL_DUMP_MAX_FILE_PATH_LENGTH))
        tensors, kept = ffi.new("acldumpTensorInfo[]", 3), [memory(32) for _ in range(3)]
        for number, (tensor, pointer) in enumerate(zip(tensors, kept, strict=True)):
            write(pointer, range(number, number + 8))
            tensor.type = lib.ACL_DUMP_TENSOR_OUTPUT if number == 2 else lib.ACL_DUMP_TENSOR_INPUT
            tensor.tensorSize, tensor.format, tensor.dataType = 32, lib.ACL_FORMAT_ND, lib.ACL_FLOAT
            tensor.tensorAddr = ffi.cast("int64_t *", pointer)
            tensor.addrType, tensor.placement = lib.ACL_DUMP_ADDR_RAW, lib.ACL_DUMP_PLACEMENT_DEVICE
            tensor.shapeNum = tensor.originShapeNum = 2
            tensor.shape[0:2] = tensor.originShape[0:2] = [4, 2]
        ok(lib.acldumpSaveExceptionInfo(b"save_exception_info", b"component=demo", tensors, 3))
        (file,) = Path(ffi.string(path).decode()).glob("save_exception_info.custom.*")
        values = np.frombuffer(file.read_bytes()[:96], np.float32)
        for pointer in kept:
            ok(lib.aclrtFree(pointer))
        ok(lib.aclrtResetDeviceForce(0))
        ok(lib.aclFinalize())
        return [values.tolist(), file.is_relative_to(directory)]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(globals()[sys.argv[1]]()))
