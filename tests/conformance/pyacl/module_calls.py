# SPDX-License-Identifier: Apache-2.0
"""Calls of the module: its names, configuration, the top level, bytes and numpy, profiles, and the end of a program."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from objects import host, ready, stream_of
from recorder import Recorder, group


@group("topic:module")
def _(acl: Recorder) -> None:
    m = acl.module
    for sub in ("rt", "mdl", "media", "op", "blas", "util", "prof", "himpi", "fv"):
        s = getattr(m, sub, None)
        acl.note(f"type of acl.{sub}", type(s).__name__)
        acl.note(f"name of acl.{sub}", getattr(s, "__name__", None))
    acl.note("acl.rt in sys.modules", f"{m.__name__}.rt" in sys.modules)
    acl.note("integer constants in acl", [n for n in dir(m) if isinstance(getattr(m, n), int)])
    acl.note("integer constants in acl.rt", [n for n in dir(m.rt) if isinstance(getattr(m.rt, n), int)])
    acl.note(
        "functions of acl",
        sorted(n for n in dir(m) if callable(getattr(m, n)) and not n.startswith("_") and "tensor" not in n),
    )
    acl.note(
        "functions of acl.rt", sorted(n for n in dir(m.rt) if callable(getattr(m.rt, n)) and not n.startswith("_"))
    )
    acl.note(
        "functions of acl.util",
        sorted(n for n in dir(m.util) if callable(getattr(m.util, n)) and not n.startswith("_")),
    )
    acl.note("type of a function", type(m.rt.malloc).__name__)
    acl.note("__name__ of a function", m.rt.malloc.__name__)
    acl.note("__module__ of a function", m.rt.malloc.__module__)


@group("topic:configuration files")
def _(acl: Recorder) -> None:
    acl("init", "/no/such/file.json")
    acl("get_recent_err_msg", loose=True)
    with tempfile.TemporaryDirectory() as directory:
        for i, text in enumerate(("{}", "", "[", '{"err_msg_mode": "1"}')):
            path = Path(directory, f"{i}.json")
            path.write_text(text)
            acl("init", str(path), note=repr(text))
            acl("finalize")


@group("topic:top level")
def _(acl: Recorder) -> None:
    acl("get_soc_name")
    acl("get_version")
    for t in (-1, 0, 1, 2, 3, 6, 9, 11, 12, 27, 1000):
        acl("data_type_size", t)
    for v in (0.0, 1.0, -2.5, 65504.0, 1e9, float("inf"), float("nan"), 1):
        acl("float_to_float16", v)
    for v in (0, 15360, 31744, 65535, 65536, -1):
        acl("float16_to_float", v)
    a = host()
    d = acl("create_data_buffer", a, 64)
    acl("get_data_buffer_addr", d)
    acl("get_data_buffer_size", d)
    acl("get_data_buffer_size_v2", d)
    acl("update_data_buffer", d, a, 2**33 + 5)
    acl("get_data_buffer_size", d, note="32 bits")
    acl("get_data_buffer_size_v2", d)
    acl("destroy_data_buffer", d)
    acl("create_data_buffer", 0, 0)
    acl("app_log", 1, "text %s %d")
    acl("app_log", 9, "text")
    acl("app_log", 0, "umlaut ü")
    for p in ("runtime", "", "no-such"):
        acl("get_version_str", p)
    for p in (0, 1, 99):
        acl("get_cann_version", p)
    acl("get_cann_attribute_list")
    for i in (0, 1, 2, 3):
        acl("get_device_capability", 0, i)
    acl("get_device_capability", 7, 0)
    acl("init")
    acl("get_device_capability", 0, 0)


@group("topic:bytes and numpy")
def _(acl: Recorder) -> None:
    b = b"0123456789"
    p = acl("util.bytes_to_ptr", b)
    acl("util.ptr_to_bytes", p, 4)
    acl("util.ptr_to_bytes", p, 0)
    acl("util.ptr_to_bytes", p, -1)
    for v in (bytearray(b"x"), memoryview(b"x"), "x", None, 5, numpy.zeros(3)):
        acl("util.bytes_to_ptr", v)
    acl("util.bytes_to_ptr", b"")
    a = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    p = acl("util.numpy_to_ptr", a)
    acl.note("is the array's address", p == a.ctypes.data)
    acl("util.numpy_to_ptr", a[:, ::2], note="not contiguous")
    acl("util.numpy_to_ptr", [1, 2])
    acl("util.numpy_to_ptr", numpy.int32(5))
    r = acl("util.numpy_contiguous_to_ptr", a[:, ::2])
    acl.note("copy is contiguous", bool(r and r[1].flags.c_contiguous))
    r = acl("util.numpy_contiguous_to_ptr", a)
    acl.note("same array", bool(r and r[1] is a))
    for args in (
        (a.ctypes.data, (2, 3), 5),
        (a.ctypes.data, (6,), 5),
        (a.ctypes.data, (), 5),
        (a.ctypes.data, [6], 5),
        (a.ctypes.data, ("x",), 5),
        (a.ctypes.data, (1.5,), 5),
        (0, (1,), 5),
    ):
        v = acl("util.ptr_to_numpy", *args)
        if v is not None and args[0]:
            acl.note(
                "array", (str(v.dtype), v.shape, v.flags.writeable, v.flags.owndata, v.tolist() if v.size < 10 else 0)
            )
    v = acl.module.util.ptr_to_numpy(a.ctypes.data, (6,), 5)
    v[0] = 99
    acl.note("writes through", int(a[0, 0]))


@group("topic:profiling")
def _(acl: Recorder) -> None:
    ready(acl)
    acl("prof.init", "/tmp")
    acl("prof.init", "")
    for v in ([], [0], (0,), ["x"], [1.5], [-1], None):
        acl("prof.create_config", v, 0, 0, 0)
    acl("prof.create_config", [0], 1, 0, 3)
    acl("prof.create_stamp")
    acl("prof.create_step_info")
    acl("prof.set_config", 1, "x")
    acl("prof.set_config", 99, "")
    acl("prof.finalize")


@group("exit:nothing initialised")
def _(acl: Recorder) -> None:
    pass


@group("exit:left initialised")
def _(acl: Recorder) -> None:
    ready(acl)
    stream_of(acl)
    acl("rt.create_event")
    acl("rt.malloc", 64, 0)


@group("topic:whole interpreter")
def _(acl: Recorder) -> None:
    """Exit status of a program that leaves things behind."""
    for text in (
        "pass",
        "acl.init()",
        "acl.init(); acl.rt.set_device(0); s = acl.rt.create_stream()[0]",
        "acl.init(); acl.rt.set_device(0); import threading; s = acl.rt.create_stream()[0]; "
        "acl.rt.subscribe_report(threading.get_ident(), s); acl.rt.launch_callback(print, [], 1, s)",
        "acl.init(); acl.rt.set_device(0); acl.rt.set_exception_info_callback(print)",
    ):
        code = f"import importlib; acl = importlib.import_module({acl.module.__name__!r}); {text}"
        try:
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
            acl.note(text, (out.returncode, out.stdout, out.stderr[-60:]))
        except subprocess.TimeoutExpired:
            acl.note(text, "hangs")
