# SPDX-License-Identifier: Apache-2.0
"""The cffi module ``ascend_rt._aclrt``: its declarations, and the C source that precedes what cffi writes.

Every declared function becomes a slot in one table of function pointers. A macro with the function's name makes the
wrappers that cffi writes call through the slot, so a call costs one indirect call and no test. Until a library is
opened, and for each symbol that the library lacks, the slot points to a default that reports "not supported", with the
function's own type: 207000, NULL, 0 or nothing. When no call may reach a library any more, all slots point to the
defaults, and their code is a reserved one.

Aborts are counted (:data:`ABORTS`): their slots lead to functions that count and call the library's, which have a table
of the same kind for themselves. So no caller of the table is missed, be it the facade, raw code or pyACL's names.

Python formats its own texts, so a variadic function is declared to Python without its ``...``, and its format is passed
on as text: a stray ``%`` does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from string import Template

from cffi import FFI

from codegen import declarations
from codegen.declarations import Declarations, Function

_SOURCE = Path(__file__).resolve().with_name("aclrt.c.in")
SUPPORT_HEADER = Path(__file__).resolve().parents[1] / "ascend_rt" / "_native" / "aclrt_support.h"

# Functions that drop work, or end what it runs in.
ABORTS = (
    "aclmdlRIAbort",
    "aclrtDestroyContext",
    "aclrtDestroyStreamForce",
    "aclrtDeviceTaskAbort",
    "aclrtPersistentTaskClean",
    "aclrtResetDevice",
    "aclrtResetDeviceForce",
    "aclrtStreamAbort",
    "aclrtStreamStop",
)

# Types that the support header names.
_SUPPORT_TYPES = """\
typedef int aclError;
typedef void *aclrtHostFunc;
typedef void *aclrtAllocatorAllocFunc;
typedef void *aclrtAllocatorAllocAdviseFunc;
typedef void *aclrtAllocatorFreeFunc;
typedef void *aclrtAllocatorGetAddrFromBlockFunc;
typedef void *aclrtExceptionInfoCallback;
typedef void *aclsimCaptureFrames;
typedef void *aclsimNameFrame;
typedef void *aclsimInterruptCheck;
typedef void *aclsimKernelFunction;
typedef void *aclsimReleaseFunction;
typedef void *aclsimThreadDescriber;
typedef void *aclsimThreadProvider;
typedef void *aclrtCallback;
"""

_DEFAULT_RESULT = {"aclError": "return ascend_rt_refusal;", "void": ""}


def _support_text() -> str:
    return SUPPORT_HEADER.read_text(encoding="utf-8")


def support() -> Declarations:
    """Return what the hand-written part of the module declares for Python."""
    _, _, text = _support_text().partition("/* For Python. */")
    return declarations.parse([("support", text)], types=_SUPPORT_TYPES)


def python_entries() -> str:
    """Return the functions from C into Python; "+C" because the callback gate, which calls them, is compiled alone."""
    prototypes = re.findall(r"^\w[^\n]*\bascend_rt_python_\w+\(.*\);$", _support_text(), re.MULTILINE)
    return 'extern "Python+C" {\n' + "\n".join(prototypes) + "\n}\n"


def _default(function: Function) -> str:
    result = _DEFAULT_RESULT.get(function.returns, "return 0;")
    prototype = function.prototype.replace(function.name, f"default_{function.name}", 1)
    return f"static {prototype} {{ {result} }}"


def _slot(function: Function) -> str:
    parameters = " ".join(parameter.name for parameter in function.parameters)
    table = "aborts" if function.name in ABORTS else "table"
    places = f"&table.{function.name}, &{table}.{function.name}"
    return f'    {{"{function.name}", "{parameters}", {places}, (void (*)(void))default_{function.name}, NULL, false}},'


def _in_table(function: Function) -> str:
    return f"text_{function.name}" if function.is_variadic else f"table.{function.name}"


def _with_text(function: Function) -> str:
    """Return a function that hands the format, which is the last named parameter, on as text."""
    *first, text = (parameter.name for parameter in function.parameters)
    prototype = function.prototype.replace(f"{function.name}(", f"text_{function.name}(", 1).replace(", ...", "")
    result = "" if function.returns == "void" else "return "
    return f'static {prototype} {{ {result}table.{function.name}({", ".join(first)}, "%s", {text}); }}'


def _counted(function: Function) -> str:
    prototype = function.prototype.replace(f"{function.name}(", f"counted_{function.name}(", 1)
    arguments = ", ".join(parameter.name for parameter in function.parameters)
    return f"""\
static {prototype} {{
    atomic_fetch_add(&ascend_rt_aborts.begun, 1);
    const aclError code = aborts.{function.name}({arguments});
    atomic_fetch_add(&ascend_rt_aborts.ended, 1);
    return code;
}}"""


def _members(names: Iterable[str]) -> str:
    return "\n".join(f"    __typeof__({name}) *{name};" for name in names)


def source(functions: tuple[Function, ...]) -> str:
    """Return the C text that precedes the wrappers written by cffi."""
    names = [function.name for function in functions]
    first = {name: f"{'counted' if name in ABORTS else 'default'}_{name}" for name in names}
    return Template(_SOURCE.read_text(encoding="utf-8")).substitute(
        defaults="\n".join(map(_default, functions)),
        abort_members=_members(ABORTS),
        abort_defaults="\n".join(f"    .{name} = default_{name}," for name in ABORTS),
        counted="\n\n".join(_counted(function) for function in functions if function.name in ABORTS),
        members=_members(names),
        initial="\n".join(f"    .{name} = {value}," for name, value in first.items()),
        slots="\n".join(map(_slot, functions)),
        variadic="\n".join(_with_text(function) for function in functions if function.is_variadic),
        names="\n".join(f"#define {function.name} {_in_table(function)}" for function in functions),
    )


def builder() -> FFI:
    """Return the definition of the module."""
    declared = declarations.load()
    ffi = FFI()
    ffi.cdef(declared.cdef.replace(", ...)", ")"))
    ffi.cdef(support().cdef)
    ffi.cdef(python_entries())
    ffi.set_source("ascend_rt._aclrt", source(declared.functions), py_limited_api=True)
    return ffi
