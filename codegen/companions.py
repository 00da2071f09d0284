# SPDX-License-Identifier: Apache-2.0
"""The functions of the companion libraries that are made from tables.

Every function of the headers has a weak definition that refuses; a library's own, where there is one, replaces it
when the library is linked. ``/* @refused CODE: REASON */`` in a header is how. The inner functions of the runtime in
`runtime.CALLS` call the documented ones. A list of names (``.txt``) is for functions without declarations: calls pass
what they like, and a refusal reads none of it. An operator of a list (``aclnn…``) is two functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from codegen import declarations, runtime
from codegen.declarations import Function

_FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus$.*?^#endif$", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^/\* @refused (\w+): (.*) \*/$", re.MULTILINE)
_NAME = re.compile(r"^\w+$", re.MULTILINE)

_PUBLIC = declarations.HEADERS.parent / "include"

_WEAK = "__attribute__((weak)) "
_CODES = ("aclError", "aclnnStatus", "int32_t", "rtError_t", "int", "HcclResult", "drvError_t", "DVresult")

_HEAD = """\
{includes}

#pragma GCC diagnostic ignored "-Wunused-parameter"

using namespace companions;

// Stack unwinders expect a library to contain a function.
[[gnu::used]] static void a_function() {{}}

"""

# As small as it can be: there are thousands of functions.
_NAMELESS = """
[[gnu::noinline]] static int32_t refused_in_{stem}(const char *name) {{ return refused(name, {code}, "{reason}"); }}
#define REFUSED(name) \\
    extern "C" __attribute__((visibility("default"))) int32_t name(void) {{ return refused_in_{stem}(#name); }}
{functions}
#undef REFUSED
"""


def definitions(files: Iterable[Path]) -> str:
    """Return the C++ text of the definitions of what the headers of a library declare, and the lists of names name."""
    texts = {_include(file): file.read_text(encoding="utf-8") for file in files}
    reasons = {name: _reason(name, text) for name, text in texts.items()}
    headers = {name: text for name, text in texts.items() if name.endswith(".h")}
    parsed = declarations.parse(((name, _FOR_CPLUSPLUS.sub("", text)) for name, text in headers.items()), _types())
    found = [_definition(function, *reasons[function.family]) for function in parsed.functions]
    found += [_nameless(Path(name).stem, text, *reasons[name]) for name, text in texts.items() if name not in headers]
    includes = [*headers, "refused.h"]
    if any(function.name in runtime.CALLS for function in parsed.functions):
        includes += ["registered_kernels.h", "runtime_calls.h"]
    return _HEAD.format(includes="\n".join(f'#include "{name}"' for name in includes)) + "\n".join(found)


def _types() -> str:
    """Return what the ABI headers declare, which the headers of a library include."""
    return "".join(f"{line}\n" for line in declarations.load().cdef.splitlines() if not line.startswith("#"))


def _reason(header: str, text: str) -> tuple[str, ...]:
    match = _REFUSED.search(text)
    if match is None:
        raise SystemExit(f"{header} does not say how its functions are refused")
    return match.groups()


def _definition(function: Function, code: str, reason: str) -> str:
    call = runtime.CALLS.get(function.name)
    if call is None:
        return _refusal(function, code, runtime.REASONS.get(function.name, reason))
    if "(" not in call:
        call = f"{call}({', '.join(parameter.name for parameter in function.parameters)})"
    return f'{function.prototype} {{ return forwarded("{function.name}", [&] {{ return {call}; }}); }}\n'


def _refusal(function: Function, code: str, reason: str) -> str:
    names = [parameter.name for parameter in function.parameters]
    subject = [name for name in ("opType", "numInputs", "inputDesc") if name in names]
    about_operator = subject[:1] == ["opType"]
    helper = "refused_operator" if about_operator else "refused"
    arguments = ", ".join([f'"{function.name}"', code, f'"{reason}"', *(subject if about_operator else [])])
    call = f"{helper}({arguments});"
    body = f"{call} return {{}};"
    if function.returns in _CODES:
        body = f"return static_cast<{function.returns}>({call.removesuffix(';')});"
    if function.returns == "void":
        body = call
    return f"{_WEAK}{function.prototype} {{ {body} }}\n"


def _nameless(stem: str, text: str, code: str, reason: str) -> str:
    """Refuse functions that no header declares; their arguments are not looked at."""
    names = [name + suffix for name in _NAME.findall(text) for suffix in _suffixes(name)]
    return _NAMELESS.format(
        stem=stem, code=code, reason=reason, functions="\n".join(f"REFUSED({name})" for name in names)
    )


def _suffixes(name: str) -> tuple[str, ...]:
    """Return what follows the name in those of its functions: a call of an operator begins with the first."""
    return ("GetWorkspaceSize", "") if name.startswith("aclnn") else ("",)


def _include(header: Path) -> str:
    """Return the path below the directory of the public headers, or the name of a header that is not public."""
    return str(header.resolve().relative_to(_PUBLIC)) if _PUBLIC in header.resolve().parents else header.name
