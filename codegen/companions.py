# SPDX-License-Identifier: Apache-2.0
"""The functions of the companion libraries that answer with a refusal.

Every function of the headers has a weak definition that refuses; a library's own, where there is one, takes its place
when the library is linked. ``/* @refused CODE: REASON */`` in a header is how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from codegen import declarations
from codegen.declarations import Function

_FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus$.*?^#endif$", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^/\* @refused (\w+): (.*) \*/$", re.MULTILINE)

_PUBLIC = declarations.HEADERS.parent / "include"

_WEAK = "__attribute__((weak)) "
_CODES = ("aclError", "aclnnStatus", "int32_t", "HcclResult")

_HEAD = """\
{includes}
#include "refused.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

"""


def refusals(headers: Iterable[Path]) -> str:
    """Return the C++ text of the definitions of what the headers of a library declare."""
    texts = {_include(header): header.read_text(encoding="utf-8") for header in headers}
    reasons = {name: _reason(name, text) for name, text in texts.items()}
    functions = declarations.parse(((name, _FOR_CPLUSPLUS.sub("", text)) for name, text in texts.items()), _types())
    text = _HEAD.format(includes="\n".join(f'#include "{name}"' for name in texts))
    return text + "\n".join(_refusal(function, *reasons[function.family]) for function in functions.functions)


def _types() -> str:
    """Return what the ABI headers declare, which the headers of a library include."""
    return "".join(f"{line}\n" for line in declarations.load().cdef.splitlines() if not line.startswith("#"))


def _reason(header: str, text: str) -> tuple[str, ...]:
    match = _REFUSED.search(text)
    if match is None:
        raise SystemExit(f"{header} does not say how its functions are refused")
    return match.groups()


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
    """Return the path below the directory of the public headers, or the name of a header that is not public."""
    return str(header.resolve().relative_to(_PUBLIC)) if _PUBLIC in header.resolve().parents else header.name
