# SPDX-License-Identifier: Apache-2.0
"""Write the generated sources of the double: the simulator's table, and a forwarder for each function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codegen.declarations import Function

# Functions that another one of the double replaces.
_INSTEAD = {
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

_TABLE = """\
#pragma once

#include <cstddef>

#include "abi/acl.h"

namespace unforgiving {{

struct Engine {{
{members}
}};

constexpr const char *kEngineNames[] = {{
{names}
}};
constexpr std::size_t kEngineSize = sizeof kEngineNames / sizeof kEngineNames[0];
static_assert(sizeof(Engine) == sizeof kEngineNames);

}}  // namespace unforgiving
"""

_FORWARDERS = """\
#include <cstdarg>
#include <cstdio>

#include "call.h"
#include "control.h"
#include "engine.h"
#include "exceptions.h"

using namespace unforgiving;

extern "C" {{

{definitions}

}}  // extern "C"
"""

_FORMAT = (
    "char text[1024]; va_list rest; va_start(rest, {last}); std::vsnprintf(text, sizeof text, {last}, rest); "
    "va_end(rest);"
)


def table(functions: Iterable[Function]) -> str:
    """Return the C++ text of the table of the simulator's functions."""
    functions = list(functions)
    return _TABLE.format(
        members="\n".join(f"    decltype(&::{function.name}) {function.name};" for function in functions),
        names="\n".join(f'    "{function.name}",' for function in functions),
    )


def _definition(function: Function) -> str:
    arguments = [parameter.name for parameter in function.parameters]
    lines = [f'static Site site("{function.name}");', "const aclError failure = begin_call(site);"]
    if function.returns == "aclError":
        lines.append("if (failure != ACL_SUCCESS) { return failure; }")
    else:
        lines.append("static_cast<void>(failure);")
    if function.is_variadic:
        # C cannot pass on arguments of unknown number, so the text is made here.
        lines.append(_FORMAT.format(last=arguments[-1]))
        arguments[-1:] = ['"%s"', "text"]
    target = _INSTEAD.get(function.name, f"engine().{function.name}")
    forwarded = f"{target}({', '.join(arguments)});"
    if function.family == "aclsim":
        lines.append("require_control(site);")
    lines.append(forwarded if function.returns == "void" else f"return {forwarded}")
    body = "\n    ".join(lines)
    return f"{function.prototype} {{\n    {body}\n}}"


def forwarders(functions: Iterable[Function]) -> str:
    """Return the C++ text of a library that has these functions."""
    return _FORWARDERS.format(definitions="\n\n".join(map(_definition, functions)))
