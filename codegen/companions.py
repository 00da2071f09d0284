# SPDX-License-Identifier: Apache-2.0
"""The functions of the companion libraries that answer with a refusal.

Every function of the headers has a weak definition that refuses; a library's own, where there is one, takes its place
when the library is linked. ``/* @refused CODE: REASON */`` in a header is how. A list (``.txt``) names operators, each
of which has two functions. They are not declared: calls pass what the operator takes, and a refusal reads none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from codegen import declarations
from codegen.declarations import Function

_FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus$.*?^#endif$", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^(?:/\*|#) @refused (\w+): (.*?)(?: \*/)?$", re.MULTILINE)

_PUBLIC = declarations.HEADERS.parent / "include"

_WEAK = "__attribute__((weak)) "
_CODES = ("aclError", "aclnnStatus", "int32_t", "int", "HcclResult", "drvError_t", "DVresult")

_HEAD = """\
{includes}
#include "refused.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

// Stack unwinders expect a library to contain a function.
__attribute__((visibility("hidden"), used)) void a_function() {{}}

"""

_OPERATORS = """
namespace {{
__attribute__((noinline)) aclError refused_operator(const char *name) {{
    return companions::refused(name, {code}, "{reason}");
}}
}}  // namespace

#define REFUSED(name) \\
    extern "C" __attribute__((visibility("default"))) aclError name() {{ return refused_operator(#name); }}
#define OPERATOR(name) REFUSED(name##GetWorkspaceSize) REFUSED(name)

{operators}
#undef REFUSED
#undef OPERATOR
"""


def refusals(files: Iterable[Path]) -> str:
    """Return the C++ text of the definitions of what the headers of a library declare, and its lists name."""
    files = list(files)
    lists = [file.read_text(encoding="utf-8") for file in files if file.suffix == ".txt"]
    texts = {_include(file): file.read_text(encoding="utf-8") for file in files if file.suffix == ".h"}
    reasons = {name: _reason(name, text) for name, text in texts.items()}
    functions = declarations.parse(((name, _FOR_CPLUSPLUS.sub("", text)) for name, text in texts.items()), _types())
    head = _HEAD.format(includes="\n".join(f'#include "{name}"' for name in texts))
    definitions = [_refusal(function, *reasons[function.family]) for function in functions.functions]
    return head + "\n".join(definitions) + _operators(lists)


def _operators(lists: list[str]) -> str:
    """Return the definitions of the functions of operators, as small as they can be: there are thousands."""
    if not lists:
        return ""
    names = [name for text in lists for name in text.splitlines() if not name.startswith("#")]
    code, reason = _reason("the list", lists[0])
    return _OPERATORS.format(code=code, reason=reason, operators="\n".join(f"OPERATOR({name})" for name in names))


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
