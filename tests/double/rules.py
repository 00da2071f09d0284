# SPDX-License-Identifier: Apache-2.0
"""Rules of the double by function, as C++ code for the forwarders.

Rules that follow from types are found by the declarations: every parameter that is a handle must live, every output
that is one is given out. The others are named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# The handles that the official code follows without looking.
KINDS = {
    "aclrtEvent": "Event",
    "aclrtStream": "Stream",
    "aclrtNotify": "Notify",
    "aclrtCntNotify": "CntNotify",
    "aclrtContext": "Context",
}
INPUT = re.compile(rf"(?:const )?({'|'.join(KINDS)})")
OUTPUT = re.compile(rf"({'|'.join(KINDS)}) \*")

# Functions that create what they give out; others that have such an output look it up.
_CREATE = re.compile(r"aclrt(Create(Context|Stream\w*|Event\w*|Notify)|CntNotifyCreate|IpcOpen\w+|NotifyImport\w+)")

DESTROYED = {
    "aclrtDestroyContext": "context",
    "aclrtDestroyEvent": "event",
    "aclrtDestroyNotify": "notify",
    "aclrtDestroyStream": "stream",
    "aclrtDestroyStreamForce": "stream",
    "aclrtCntNotifyDestroy": "cntNotify",
}

# Functions that give back blocks of memory -> whether the official code follows what was never allocated. Virtual
# addresses and registered memory are looked up.
RELEASES = {
    "aclrtFree": True,
    "aclrtFreeHost": True,
    "aclrtFreeHostWithDevSync": True,
    "aclrtFreeWithDevSync": True,
    "aclrtHostUnregister": False,
    "aclrtUnmapMem": False,
}

# Functions with an argument that is an array of handles -> its length.
_ARRAYS = {"aclrtNotifyBatchReset": "num"}
# Functions that give out several handles -> the number.
_SEVERAL = {"aclmdlRIGetStreams": "*numStreams"}

_STATEMENTS: dict[str, tuple[str, str]] = {
    "aclInit": ("check_configuration(call, {0});", "note_configuration(result, {0});"),
    "aclrtDestroyContext": ("", "note_context_destroyed(result, {0});"),
    "aclrtResetDevice": ("", "note_reset(result, {0});"),
    "aclrtResetDeviceForce": ("", "note_reset(result, {0});"),
}

# Functions that another one of the double stands in for.
INSTEAD = {
    "aclrtSetExceptionInfoCallback": "set_exception_callback",
    "aclrtExceptionInfoCallbackRegister": "register_exception_callback",
    "aclrtExceptionInfoCallbackUnregister": "unregister_exception_callback",
    "aclrtGetTaskIdFromExceptionInfo": "failed_task",
    "aclrtGetStreamIdFromExceptionInfo": "failed_stream",
    "aclrtGetThreadIdFromExceptionInfo": "failed_thread",
    "aclrtGetDeviceIdFromExceptionInfo": "failed_device",
    "aclrtGetErrorCodeFromExceptionInfo": "failure_code",
    "aclrtGetArgsFromExceptionInfo": "failed_arguments",
    "aclrtGetFuncHandleFromExceptionInfo": "failed_function",
}


@dataclass
class Rules:
    """Code before and after the forwarded call."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def _handles(function: Any) -> Iterator[str]:
    for parameter in function.parameters:
        if length := _ARRAYS.get(function.name) if OUTPUT.fullmatch(parameter.type) else None:
            name = parameter.name
            yield f'if ({name} != nullptr) {{ require_all_live(call, "{name}", {name}, {length}); }}'
        elif INPUT.fullmatch(parameter.type):
            yield f'require_live(call, "{parameter.name}", {parameter.name});'


def _given_out(function: Any) -> Iterator[str]:
    how = "created" if _CREATE.fullmatch(function.name) else "found"
    for parameter in function.parameters:
        match = OUTPUT.fullmatch(parameter.type)
        if not match or function.name in _ARRAYS:
            continue
        kind = f"Kind::{KINDS[match[1]]}"
        if number := _SEVERAL.get(function.name):
            yield f"note_all_found({kind}, {parameter.name}, {number});"
        else:
            yield f"note_{how}({kind}, *{parameter.name});"


def rules_of(function: Any) -> Rules:
    """Return the rules of a function, a declaration of ``backends.abi.declarations``."""
    rules = Rules()
    rules.before += _handles(function)
    names = [parameter.name for parameter in function.parameters]
    before, after = (text.format(*names) for text in _STATEMENTS.get(function.name, ("", "")))
    rules.before += [before] if before else []
    if function.name in DESTROYED:
        rules.before.append(f"Destruction destruction(call, {DESTROYED[function.name]});")
        rules.after.append("destruction.end(result);")
    if function.name in RELEASES:
        must_be_live = str(RELEASES[function.name]).lower()
        rules.before.append(f"Release release(call, {names[0]}, {must_be_live});")
        rules.after.append("release.end();")
    rules.after += [after] if after else []
    if given_out := list(_given_out(function)):
        rules.after.append(f"if (result == ACL_SUCCESS) {{ {' '.join(given_out)} }}")
    return rules
