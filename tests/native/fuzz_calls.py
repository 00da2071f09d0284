# SPDX-License-Identifier: Apache-2.0
"""Write the calls of ``fuzz_test.cpp``: ``fuzz_calls.py OUTPUT`` makes one per declared function.

How an argument is chosen follows from its declaration: handles may be anything, since the simulator promises to check
them; memory is NULL or big enough, since no C library can check that; numbers that count or measure stay small for the
same reason.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from codegen import declarations
from codegen.declarations import Function, Parameter

# Calls that would stop the program itself: they hold other threads, or change the answers of other calls.
LEFT_OUT = re.compile(r"aclrtSnapShotProcess\w+|aclsim\w+")
_MEASURE = re.compile(r"(?i)num|count|size|len|max|width|height|pitch|bytes|offset|cap")
_ENDLESS = re.compile(r"acltdt\w+ timeout")  # -1: until a message comes, which an abort does not end
_LOOKED_UP = re.compile(r"aclrt(Free\w*|PointerGetAttributes)|acl(DestroyDataBuffer|\w*DataBuffer\w*)")


def argument(function: Function, parameter: Parameter) -> str:
    """Return the C++ expression that chooses an argument."""
    if function.is_variadic and parameter is function.parameters[-1]:
        return f"chooser.memory<{parameter.type}>()"  # an empty format: others would want arguments that are not there
    kind = parameter.type.replace("const ", "").replace(" const", "").strip()
    if kind == "char *":
        return "chooser.text()"
    if kind.endswith("*"):
        method = (
            "address" if _LOOKED_UP.fullmatch(function.name) and kind in ("void *", "aclDataBuffer *") else "memory"
        )
        return f"chooser.{method}<{parameter.type}>()"
    is_measure = _MEASURE.search(parameter.name) or _ENDLESS.fullmatch(f"{function.name} {parameter.name}")
    return f"chooser.{'measure' if is_measure else 'value'}<{parameter.type}>()"


def call(function: Function) -> str:
    """Return the entry of the table that calls the function."""
    arguments = ", ".join(argument(function, parameter) for parameter in function.parameters)
    return f'    {{"{function.name}", [](Chooser &chooser) {{ (void)chooser; (void){function.name}({arguments}); }}}},'


if __name__ == "__main__":
    functions = [it for it in declarations.load().functions if not LEFT_OUT.fullmatch(it.name)]
    Path(sys.argv[1]).write_text("\n".join(map(call, functions)) + "\n", encoding="utf-8")
