# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of ``acl.prof``, and dumps of ``acl.mdl`` and ``acl.op``: arguments, results and callbacks."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kernels import VECTOR, device_object

from ascend_rt import Binary, Buffer, Stream, TaskFailed, fill_async, pyacl, sim

acl: Any = pyacl
INVALID, NO_MODEL, NOT_RUNNING = 100000, 100011, 100045
NONE = 255


@pytest.mark.simulator("internals", "the numbers of models are those of graphs")
def test_a_subscription_by_the_names_of_pyacl(lib: Any, ffi: Any, stream: Stream) -> None:
    memory = Buffer(64)
    with stream.capture() as graph:
        fill_async(memory, 1, stream)
    number = ffi.new("uint32_t *")
    assert lib.aclmdlRIGetId(ffi.cast("aclmdlRI", graph.handle), number) == 0
    reading, writing = os.pipe()
    config = acl.prof.create_subscribe_config(1, NONE, writing)
    assert config != 0
    assert acl.prof.model_subscribe(number[0], config) == 0
    graph.launch(stream)
    stream.synchronize()
    assert acl.prof.model_un_subscribe(number[0]) == 0
    assert acl.prof.model_unsubscribe(number[0]) == NO_MODEL
    assert acl.prof.destroy_subscribe_config(config) == 0
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    kept = ctypes.create_string_buffer(data, len(data))
    address, size = ctypes.addressof(kept), len(data)
    count, code = acl.prof.get_op_num(address, size)
    assert code == 0
    assert size == count * acl.prof.get_op_desc_size()[0]
    types = []
    for index in range(count):
        length, code = acl.prof.get_op_type_len(address, size, index)
        assert code == 0
        assert acl.prof.get_op_type(address, size, index, 4097) == ("", INVALID)
        types.append(acl.prof.get_op_type(address, size, index, length)[0])
        assert acl.prof.get_op_type_v2(address, size, index) == (None, INVALID)  # read already
        assert acl.prof.get_op_name_len(address, size, index)[1] == 0
        assert acl.prof.get_op_name_v2(address, size, index) == (types[-1], 0)
        assert acl.prof.get_op_name(address, size, index, 64) == ("", INVALID)
        start, end = acl.prof.get_op_start(address, size, index), acl.prof.get_op_end(address, size, index)
        assert end - start == acl.prof.get_op_duration(address, size, index)
        assert acl.prof.get_model_id(address, size, index) == number[0]
    assert "MEMSET" in types
    graph.close()


def test_wrong_arguments_have_the_texts_of_the_vendors() -> None:
    for function, text in (
        ("prof.create_subscribe_config", "acl.prof.create_subscribe_config args parse failed"),
        ("prof.model_un_subscribe", "acl.prof.model_unsubscribe args parse failed"),
        ("prof.get_op_type_v2", "acl.prof.get_op_type args parse failed"),
        ("prof.get_op_name_len", "acl.prof.get_op_type args parse failed"),
        ("prof.get_op_name_v2", "acl.prof.get_op_name args parse failed"),
        ("mdl.dump_reg_callback", "acl.mdl.dump_reg_callback args parse failed!"),
        ("op.start_dump_args", "acl.op.start_dump_args args parse failed"),
    ):
        module, name = function.split(".")
        with pytest.raises(TypeError) as caught:
            getattr(getattr(acl, module), name)("x", "y", "z", "u", "v")
        assert str(caught.value) == text
    with pytest.raises(TypeError, match="args parse failed"):
        acl.prof.create_subscribe_config(256, NONE, 1)
    assert acl.prof.create_subscribe_config(255, NONE, 1) == 0


@pytest.fixture
def dumps(tmp_path: Path, device: Any) -> Iterator[Path]:
    configuration = tmp_path / "dump.json"
    configuration.write_text(json.dumps({"dump": {"dump_scene": "lite_exception", "dump_path": str(tmp_path)}}))
    assert acl.mdl.set_dump(str(configuration)) == NOT_RUNNING
    assert acl.mdl.init_dump() == 0
    assert acl.mdl.set_dump() == INVALID
    assert acl.mdl.set_dump(str(configuration)) == 0
    yield tmp_path
    assert acl.mdl.dump_unreg_callback() is None
    assert acl.mdl.finalize_dump() == 0
    assert acl.mdl.finalize_dump() == NOT_RUNNING


def fail(stream: Stream) -> None:
    with Binary(device_object({"add_custom": VECTOR})) as binary, sim.kernel("add_custom")(lambda block, number: 1 / 0):
        binary["add_custom"].launch(stream, 1, np.uint64(5))
        with pytest.raises(TaskFailed):
            stream.synchronize()


@pytest.mark.simulator("kernels")
def test_the_callback_of_dumps_gets_dicts(stream: Stream, dumps: Path, unraisable: list[Any]) -> None:
    chunks: list[dict[str, Any]] = []
    content = bytearray()

    def receive(chunk: dict[str, Any]) -> None:
        chunks.append(chunk)
        content.extend(ctypes.string_at(chunk["data_buf"], chunk["buf_len"]))

    assert acl.mdl.dump_reg_callback(receive, 1) == 500001
    assert acl.mdl.dump_reg_callback(receive, 0) == 0
    fail(stream)
    assert content[:8] == (5).to_bytes(8, "little")
    assert content[-8:] == b"ASCDUMP1"
    assert [chunk["is_last_chunk"] for chunk in chunks] == [0] * (len(chunks) - 1) + [1]
    assert {"file_name", "data_buf", "buf_len", "is_last_chunk", "offset", "flag"} == chunks[0].keys()
    assert not list(dumps.rglob("add_custom.*"))
    assert acl.mdl.dump_unreg_callback() is None
    fail(stream)
    assert len(list(dumps.rglob("add_custom.*"))) == 1
    assert [each.exc_type for each in unraisable] == [ZeroDivisionError] * 2


@pytest.mark.simulator("kernels")
def test_a_callback_may_call_back_and_unregister_itself(stream: Stream, dumps: Path, unraisable: list[Any]) -> None:
    seen: list[tuple[int, int, int]] = []

    def receive(chunk: dict[str, Any]) -> None:
        acl.mdl.dump_unreg_callback()
        gc.collect()
        seen.append((acl.rt.set_device(0), acl.mdl.dump_reg_callback(receive, 0), chunk["is_last_chunk"]))
        if len(seen) == 1:  # not in the thread of the test, which has a device
            with Stream() as other:
                fill_async(Buffer(64), 1, other)
                other.synchronize()

    assert acl.mdl.dump_reg_callback(receive, 0) == 0
    fail(stream)
    fail(stream)
    assert len(seen) >= 4
    assert {code for *codes, _ in seen for code in codes} == {0}
    assert [last for *_, last in seen].count(1) == 2
    assert [each.exc_type for each in unraisable] == [ZeroDivisionError] * 2


@pytest.mark.simulator("kernels")
def test_callbacks_may_be_replaced_while_kernels_fail(stream: Stream, dumps: Path, unraisable: list[Any]) -> None:
    is_over = threading.Event()

    def replace() -> None:
        while not is_over.is_set():
            assert acl.mdl.dump_reg_callback(lambda chunk: None, 0) == 0
            acl.mdl.dump_unreg_callback()

    threads = [threading.Thread(target=replace) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        fail(stream)
    is_over.set()
    for thread in threads:
        thread.join()
    assert {each.exc_type for each in unraisable} == {ZeroDivisionError}


@pytest.mark.simulator("kernels")
def test_a_callback_that_raises_ends_only_its_dump(stream: Stream, dumps: Path, unraisable: list[Any]) -> None:
    def refuse(chunk: dict[str, Any]) -> None:
        raise ValueError("no more dumps")

    assert acl.mdl.dump_reg_callback(refuse, 0) == 0
    fail(stream)
    assert [str(each.exc_value) for each in unraisable].count("no more dumps") == 1


def test_records_of_operators(tmp_path: Path, device: Any) -> None:
    assert acl.op.start_dump_args(0, str(tmp_path)) == 500001
    assert acl.op.start_dump_args(1, str(tmp_path / "below")) == 0
    assert acl.op.stop_dump_args(1) == 0
    assert (tmp_path / "below").is_dir()
