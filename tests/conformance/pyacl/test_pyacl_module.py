# SPDX-License-Identifier: Apache-2.0
"""The module ``ascend_rt.pyacl``: its functions are complete and documented, and load the library when called."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_rt import pyacl as acl

ROOT = Path(__file__).resolve().parents[3]
SIGNATURES = json.loads((ROOT / "tests" / "data" / "pyacl" / "signatures.json").read_text(encoding="utf-8"))

_SUBSCRIPTIONS = """
    create_subscribe_config destroy_subscribe_config get_model_id get_op_duration get_op_end get_op_name get_op_name_len
    get_op_name_v2 get_op_num get_op_start get_op_type get_op_type_len get_op_type_v2 model_subscribe model_un_subscribe
    model_unsubscribe
"""
# The extension was asked for the functions of the runtime that the simulator had at the recording.
NOT_RECORDED = {
    *(f"acl.prof.{name}" for name in _SUBSCRIPTIONS.split()),
    *(
        f"acl.mdl.{name}"
        for name in ("dump_reg_callback", "dump_unreg_callback", "finalize_dump", "init_dump", "set_dump")
    ),
    *(f"acl.op.{name}" for name in ("start_dump_args", "stop_dump_args")),
    *(f"acl.media.{name}" for name in ("dvpp_free", "dvpp_malloc")),
}


@pytest.fixture(scope="session")
def table() -> Any:
    """Return the functions as the build reads them; the source tree is not on the path."""
    sys.path.append(str(ROOT))
    try:
        yield importlib.import_module("codegen.pyacl").entries()
    finally:
        sys.path.remove(str(ROOT))


def function_of(full_name: str) -> Any:
    found: Any = acl
    for part in full_name.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_is_there_with_its_number_of_parameters(name: str) -> None:
    function = function_of(name)
    letters = SIGNATURES[name].replace("|", "")

    assert type(function).__name__ == "builtin_function_or_method"
    assert len(inspect.signature(function).parameters) == len(letters)
    assert function.__doc__


def test_acl_rt_has_190_functions() -> None:
    assert len([name for name in dir(acl.rt) if not name.startswith("_")]) == 190


def test_the_formats_are_those_of_the_vendors_extension(table: Any) -> None:
    formats = {
        entry.full_name: "".join("|" * bool(value.default) + value.letter for value in entry.parameters)
        for entry in table
    }

    assert formats.keys() - SIGNATURES.keys() == NOT_RECORDED
    # k and K are the same where long has 64 bits.
    assert {name: formats[name].replace("K", "k") for name in SIGNATURES} == {
        name: text.replace("K", "k") for name, text in SIGNATURES.items()
    }


@pytest.mark.parametrize("home", ["structures", "allocators", "profiling", "dumps", "media", "conversions", "threads"])
def test_a_function_written_in_python_takes_what_the_table_says(home: str, table: Any) -> None:
    module = importlib.import_module(f"ascend_rt.pyacl._{home}")
    entries = [entry for entry in table if entry.home == home]

    assert entries
    for entry in entries:
        assert len(inspect.signature(getattr(module, entry.name)).parameters) == len(entry.parameters), entry.name


def test_the_stubs_have_every_function(table: Any) -> None:
    for module in ("__init__", "rt", "prof", "mdl", "op", "media", "util"):
        text = Path(acl.__file__).with_name(f"{module}.pyi").read_text(encoding="utf-8")
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        wanted = {entry.name for entry in table if (entry.module or "__init__") == module}
        assert defined - {"__getattr__"} == wanted


def run(script: str, directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import ascend_rt.pyacl as acl\n{script}"]
    variables = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, env=variables)


def test_import_loads_no_library_and_a_call_says_which_is_missing(tmp_path: Path) -> None:
    missing = {"ASCEND_RT_BACKEND": "cann", "ASCEND_RT_LIBRARY": str(tmp_path / "libascendcl.so")}
    imported = run("dir(acl.rt)", tmp_path, **missing)
    called = run("acl.init()", tmp_path, **missing)

    assert imported.returncode == 0, imported.stderr
    assert called.returncode != 0
    assert "LibraryError" in called.stderr
    assert str(tmp_path) in called.stderr


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: acl.rt.synchronize_stream(1.0), "acl.rt.synchronize_stream args parse failed"),
        (
            lambda: acl.rt.synchronize_stream(type("I", (), {"__index__": lambda self: 0})()),
            "acl.rt.synchronize_stream",
        ),
        (lambda: acl.rt.get_event_id("x"), "argument 1 must be int, not str"),
        (
            lambda: acl.rt.get_event_id(type("Index", (), {"__index__": lambda self: 0})()),
            "argument 1 must be int, not Index",
        ),
        (lambda: acl.rt.create_event(stream=0), "create_event() takes no keyword arguments"),
        (lambda: acl.rt.launch_callback(None, [], 1, 0), "parameter must be callable"),
        (lambda: acl.rt.cmo_async(), "acl.rt.cmo_async args parse failed!"),
        (lambda: acl.rt.malloc_for_task_scheduler(), "acl.rt.malloc_for_task_scheduler args parse failed!"),
        (lambda: acl.rt.set_op_wait_timeout(), "acl.rt.set_op_wait_timeout args parse failed!"),
        (lambda: acl.rt.host_get_device_pointer(), "acl.rt.host_get_device_pointer parse failed"),
        (lambda: acl.rt.set_sys_param_opt(), "acl.rt.set_sys_param_opt args parse faild"),
        (lambda: acl.prof.destroy_step_info(), "acl.prof.destroy_step_info args parse failed"),
    ],
)
def test_wrong_arguments_are_type_errors(call: Callable[[], object], error: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(error)
    assert str(caught.value).endswith("!") == error.endswith("!")


@pytest.mark.parametrize("kind", [1, 2, 3, 5, 77])
def test_more_than_four_reserved_values_of_an_attribute_are_refused(kind: int) -> None:
    with pytest.raises(ValueError, match=r"^The length of reserved should be no greater than 4$"):
        acl.rt.set_stream_attribute(0, kind, {"reserved": [0] * 5})


def test_reserved_values_are_checked_where_they_are_used() -> None:
    assert acl.rt.set_stream_attribute(0, 1, {"failureMode": 0, "reserved": ["unused"]}) != 100000
    with pytest.raises(TypeError):
        acl.rt.set_stream_attribute(0, 77, {"reserved": ["used"]})


def test_integers_with_an_index_are_taken_where_c_takes_an_int() -> None:
    index = type("Index", (), {"__index__": lambda self: 27})()

    assert acl.data_type_size(index) == 2


def test_bytes_are_copied_from_an_address_that_is_there() -> None:
    data = b"content"

    assert acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(data), len(data)) == data
    for pointer, size in ((0, 1), (acl.util.bytes_to_ptr(data), -1)):
        with pytest.raises(ValueError, match="convert c pointer to bytes failed"):
            acl.util.ptr_to_bytes(pointer, size)
