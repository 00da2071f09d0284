# SPDX-License-Identifier: Apache-2.0
"""Write the functions of the companion libraries that answer with a refusal.

``generate_refusals.py OUTPUT HEADER... -- SOURCE...`` looks up which functions of the headers the sources define, a
definition starting at the first column, and defines all others. ``/* @refused CODE: REASON */`` in a header is how.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backends.abi import declarations
from backends.abi.declarations import Function

_DEFINITION = re.compile(r"^[a-z][\w ]*[ *](\w+)\([^;{]*\)\s*\{", re.MULTILINE)
_FOR_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus$.*?^#endif$", re.MULTILINE | re.DOTALL)
_REFUSED = re.compile(r"^/\* @refused (\w+): (.*) \*/$", re.MULTILINE)

# Types of the ABI headers that the headers use.
_TYPES = (
    "".join(f"typedef int {name};\n" for name in ("aclError", "aclDataType", "aclFormat", "aclMemType", "aclrtStream"))
    + "typedef struct aclDataBuffer aclDataBuffer;\n"
)

_HEAD = """\
{includes}
#include "refused.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

"""


def refusals(header: Path, defined: set[str]) -> Iterator[str]:
    """Yield the definitions of what a header declares and no source defines."""
    text = header.read_text(encoding="utf-8")
    match = _REFUSED.search(text)
    if match is None:
        raise SystemExit(f"{header} does not say how its functions are refused")
    for function in declarations.parse([(header.stem, _FOR_CPLUSPLUS.sub("", text))], _TYPES).functions:
        if function.name not in defined:
            yield _refusal(function, *match.groups())


def _refusal(function: Function, code: str, reason: str) -> str:
    names = [parameter.name for parameter in function.parameters]
    subject = [name for name in ("opType", "numInputs", "inputDesc") if name in names]
    about_operator = subject[:1] == ["opType"]
    helper = "refused_operator" if about_operator else "refused"
    arguments = ", ".join([f'"{function.name}"', code, f'"{reason}"', *(subject if about_operator else [])])
    call = f"companions::{helper}({arguments});"
    body = f"return {call}" if function.returns in ("aclError", "int32_t") else f"{call} return {{}};"
    if function.returns == "void":
        body = call
    return f"{function.prototype} {{ {body} }}\n"


def main(arguments: list[str]) -> None:
    """Write the file that the arguments ask for."""
    split = arguments.index("--")
    headers, sources = ([Path(name) for name in part] for part in (arguments[1:split], arguments[split + 1 :]))
    defined = {name for source in sources for name in _DEFINITION.findall(source.read_text(encoding="utf-8"))}
    text = _HEAD.format(includes="\n".join(f'#include "{_include(header)}"' for header in headers))
    text += "\n".join(definition for header in headers for definition in refusals(header, defined))
    Path(arguments[0]).write_text(text, encoding="utf-8")


def _include(header: Path) -> str:
    return f"acl/{header.name}" if header.parent.name == "acl" else header.name


if __name__ == "__main__":
    main(sys.argv[1:])
