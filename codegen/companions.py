# SPDX-License-Identifier: Apache-2.0
"""The functions of the companion libraries that answer with a refusal.

Every function of the headers has a weak definition that refuses; a library's own, where there is one, takes its place
when the library is linked. ``/* @refused CODE: REASON */`` in a header is how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from codegen import declarations
from codegen.declarations import Function

_FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus$.*?^#endif$", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^/\* @refused (\w+): (.*) \*/$", re.MULTILINE)

# Types of the ABI headers that the headers use.
_TYPES = (
    "".join(
        f"typedef int {name};\n"
        for name in ("aclError", "aclDataType", "aclFormat", "aclMemType", "aclrtDrvMemHandle", "aclrtStream")
    )
    + "typedef struct aclDataBuffer aclDataBuffer;\n"
)

_WEAK = "__attribute__((weak)) "
_CODES = ("aclError", "int32_t", "HcclResult")

_HEAD = """\
{includes}
#include "refused.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

"""


def refusals(headers: Iterable[Path]) -> str:
    """Return the C++ text of the definitions of what the headers of a library declare."""
    headers = list(headers)
    text = _HEAD.format(includes="\n".join(f'#include "{_include(header)}"' for header in headers))
    return text + "\n".join(definition for header in headers for definition in _refusals(header))


def _refusals(header: Path) -> Iterator[str]:
    text = header.read_text(encoding="utf-8")
    match = _REFUSED.search(text)
    if match is None:
        raise SystemExit(f"{header} does not say how its functions are refused")
    for function in declarations.parse([(header.stem, _FOR_CPLUSPLUS.sub("", text))], _TYPES).functions:
        yield _refusal(function, *match.groups())


def _refusal(function: Function, code: str, reason: str) -> str:
    names = [parameter.name for parameter in function.parameters]
    subject = [name for name in ("opType", "numInputs", "inputDesc") if name in names]
    about_operator = subject[:1] == ["opType"]
    helper = "refused_operator" if about_operator else "refused"
    arguments = ", ".join([f'"{function.name}"', code, f'"{reason}"', *(subject if about_operator else [])])
    call = f"companions::{helper}({arguments});"
    body = f"{call} return {{}};"
    if function.returns in _CODES:
        body = f"return static_cast<{function.returns}>({call.removesuffix(';')});"
    if function.returns == "void":
        body = call
    return f"{_WEAK}{function.prototype} {{ {body} }}\n"


def _include(header: Path) -> str:
    return f"{header.parent.name}/{header.name}" if header.parent.name in ("acl", "hccl") else header.name
