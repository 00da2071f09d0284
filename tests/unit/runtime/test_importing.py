# SPDX-License-Identifier: Apache-2.0
"""The modules that importing the package imports, and the names that it has."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import ascend_rt
from ascend_rt.backends import sim

pytestmark = pytest.mark.simulator("independent")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the process's map of libraries")
def test_importing_the_package_opens_no_library(interpreter) -> None:
    result = interpreter("-c", "import ascend_rt; print(*open('/proc/self/maps'))")
    assert "_aclrt" in result.stdout
    assert "libascendcl" not in result.stdout
    assert "libacl_rt" not in result.stdout


def test_everything_is_found_from_the_package(interpreter) -> None:
    script = """
import sys
import ascend_rt
print(ascend_rt.sim.__name__, ascend_rt.enums.MemcpyKind.__name__, ascend_rt.testing.Latch.__name__)
print(hasattr(ascend_rt, "nothing"), ascend_rt.errors.Timeout is ascend_rt.Timeout)
from ascend_rt import *
"""
    result = interpreter("-c", script, ASCEND_RT_BACKEND="sim")
    assert result.stdout.splitlines() == ["ascend_rt.sim MemcpyKind Latch", "False True"], result.stderr


def test_type_checkers_know_the_names_that_are_imported_later() -> None:
    source = ast.parse(Path(ascend_rt.__file__).read_text(encoding="utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))  # if TYPE_CHECKING
    reported = {
        (node.module.removeprefix("ascend_rt").lstrip("."), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ascend_rt")
        for alias in node.names
    }
    found = {(module, name) for module, names in ascend_rt._NAMES.items() for name in names.split()}
    assert found == {(module, name) for module, name in reported if module}
    assert {name for _, name in found} | {"__version__"} == set(ascend_rt.__all__)


IMPORTED = """
import sys
before = set(sys.modules)
import ascend_rt
{use}
print(*sorted(set(sys.modules) - before))
"""


def test_importing_the_package_imports_little_else(interpreter) -> None:
    result = interpreter("-c", IMPORTED.format(use=""))
    imported = set(result.stdout.split())
    ours = {name for name in imported if name.startswith("ascend_rt")}
    startup = {"ascend_rt._startup", "ascend_rt._startup.source_tree"}
    assert ours - {"ascend_rt._aclrt.lib"} == {"ascend_rt", "ascend_rt._aclrt", *startup}, result.stderr
    assert not {"typing", "enum", "logging", "threading"} & imported


def test_raw_calls_need_no_facade(interpreter) -> None:
    result = interpreter("-c", IMPORTED.format(use="ascend_rt.lib.aclrtGetDeviceCount"), ASCEND_RT_BACKEND="sim")
    imported = set(result.stdout.split())
    assert "ascend_rt._runtime.driver" in imported, result.stderr
    assert not {"ascend_rt.stream", "ascend_rt.memory", "ascend_rt.enums", "dataclasses", "logging"} & imported


def test_the_first_use_of_the_simulator_imports_little_else(interpreter) -> None:
    if not Path(sim.__file__).with_name("lib").is_dir():
        pytest.skip("in an editable install the library has to be looked for, with much of the standard library")
    use = "ascend_rt.use('sim'); ascend_rt.lib.aclInit(ascend_rt.ffi.NULL); ascend_rt.lib.aclrtSetDevice(0)"
    result = interpreter("-c", f"import cffi\n{IMPORTED.format(use=use)}")
    imported = set(result.stdout.split())
    assert "ascend_rt._runtime.selection" in imported, result.stderr
    assert not {"collections", "contextlib", "dataclasses", "enum", "functools", "logging", "operator"} & imported
    assert not {"pathlib", "re", "threading", "typing"} & imported
    assert not {"ascend_rt._generated.error_table", "ascend_rt._generated.functions"} & imported


def test_the_first_stream_needs_no_dataclasses(interpreter) -> None:
    use = "ascend_rt.Device(0).set_current(); ascend_rt.Stream().record(ascend_rt.Event())"
    result = interpreter("-c", IMPORTED.format(use=use), ASCEND_RT_BACKEND="sim")
    imported = set(result.stdout.split())
    assert "ascend_rt.stream" in imported, result.stderr
    assert not {"ascend_rt.enums", "ascend_rt.graph", "dataclasses", "inspect", "logging", "numpy"} & imported


def test_every_module_can_be_the_first_to_be_imported(interpreter) -> None:
    script = """
import importlib, os, pkgutil
import ascend_rt
for module in pkgutil.iter_modules(ascend_rt.__path__, "ascend_rt."):
    if module.name in ("ascend_rt.__main__", "ascend_rt.torch"):  # which runs, and which needs torch_npu
        continue
    child = os.fork()
    if child == 0:
        importlib.import_module(module.name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, module.name
print("all")
"""
    result = interpreter("-c", script)
    assert result.stdout == "all\n", result.stderr


def test_numpy_is_imported_with_the_first_name_that_needs_it(interpreter) -> None:
    script = """
import sys
import ascend_rt
import ascend_rt.sim
from ascend_rt import Buffer, Device, copy, copy_2d
from ascend_rt.__main__ import main
main(["info"])
Device(0).set_current()
copy(Buffer(8), b"contents")
copy_2d(Buffer(8), b"contents", width=4, height=2)
print("numpy" in sys.modules, {"Binary", "Kernel", "PinnedBuffer"} <= set(dir(ascend_rt)))
print(isinstance(ascend_rt.PinnedBuffer(8), ascend_rt.PinnedBuffer), "numpy" in sys.modules)
"""
    result = interpreter("-c", script, ASCEND_RT_BACKEND="sim")
    assert result.stdout.splitlines()[-2:] == ["False True", "True True"], result.stderr
