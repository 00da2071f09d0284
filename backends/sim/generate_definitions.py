# SPDX-License-Identifier: Apache-2.0
"""Write the C definitions that complete the simulator's ABI.

``generate_definitions.py OUTPUT SOURCE...`` looks up which declared functions the sources define, a definition starting
at the first column, and defines all others: they report "not supported". It also writes the table of those it found.

``generate_definitions.py --forward OUTPUT`` defines every function as a call of the same function in
``libascendcl.so``: the library ``libacl_rt.so``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backends.abi import declarations
from backends.abi.declarations import Function

_DEFINITION = re.compile(r"^[a-z][\w ]*[ *](acl\w+)\([^;{]*\)\s*\{", re.MULTILINE)

_UNSUPPORTED = """\
#include "abi/acl.h"
#include "support/error.h"
#include "support/simulated.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

{definitions}

namespace aclsim {{

const char *const kSimulatedFunctions[] = {{
{names}
}};
const std::size_t kSimulatedFunctionCount = {count};

const PartialSupport kPartialSupport[] = {{
{partial}
}};
const std::size_t kPartialSupportCount = {partial_count};

}}  // namespace aclsim
"""

_FORWARD = """\
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/acl.h"

static struct {{
{members}
}} engine;

static const struct {{
    const char *name;
    void *target;
}} symbols[] = {{
{symbols}
}};

/* Found beside this library, through its RUNPATH, or already in the process: either way there is one engine. */
__attribute__((constructor)) static void find_engine(void) {{
    void *library = dlopen("libascendcl.so", RTLD_NOW);
    if (library == NULL) {{
        fprintf(stderr, "libacl_rt.so of the simulator: %s\\n", dlerror());
        abort();
    }}
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {{
        *(void **)symbols[i].target = dlsym(library, symbols[i].name);
    }}
}}

{definitions}
"""

_FORMAT = (
    "char text[1024]; va_list rest; va_start(rest, {last}); vsnprintf(text, sizeof text, {last}, rest); va_end(rest); "
)


def _unsupported(function: Function) -> str:
    report = f'aclsim::unsupported("{function.name}");'
    result = "return " if function.returns == "aclError" else ""
    rest = "" if function.returns in ("aclError", "void") else " return {};"
    body = f"{result}{report}{rest}"
    return f"{function.prototype} {{ {body} }}"


def _forwarder(function: Function) -> str:
    arguments = [parameter.name for parameter in function.parameters]
    prepare = ""
    if function.is_variadic:
        # C cannot pass on arguments of unknown number, so the text is made here; the runtime cuts it at 1024 bytes too.
        prepare = _FORMAT.format(last=arguments[-1])
        arguments[-1:] = ['"%s"', "text"]
    result = "" if function.returns == "void" else "return "
    return f"{function.prototype} {{ {prepare}{result}engine.{function.name}({', '.join(arguments)}); }}"


def forward(functions: Iterable[Function]) -> str:
    """Return the C text of the library that forwards every function."""
    functions = list(functions)
    return _FORWARD.format(
        members="\n".join(f"    __typeof__({function.name}) *{function.name};" for function in functions),
        symbols="\n".join(f'    {{"{function.name}", &engine.{function.name}}},' for function in functions),
        definitions="\n".join(map(_forwarder, functions)),
    )


def defined_in(sources: Iterable[Path]) -> set[str]:
    """Return the names of the functions that C++ files define at the first column."""
    return {name for source in sources for name in _DEFINITION.findall(source.read_text(encoding="utf-8"))}


def _partial_support(function: Function) -> str:
    return f'    {{"{function.name}", " {" ".join(function.products or ())} "}},'


def unsupported(functions: Iterable[Function], simulated: set[str]) -> str:
    """Return the C++ text that defines what is not simulated, names what is, and tells which products have what."""
    functions = list(functions)
    missing = [function for function in functions if function.name not in simulated]
    partial = [f for f in functions if f.products is not None and f.products != declarations.PRODUCTS]
    return _UNSUPPORTED.format(
        definitions="\n".join(map(_unsupported, missing)),
        names="\n".join(f'    "{name}",' for name in sorted(simulated)),
        count=len(simulated),
        partial="\n".join(map(_partial_support, sorted(partial, key=lambda function: function.name))),
        partial_count=len(partial),
    )


def main(arguments: list[str]) -> None:
    """Write the file that the arguments ask for."""
    functions = declarations.load().functions
    if arguments[0] == "--forward":
        Path(arguments[1]).write_text(forward(functions), encoding="utf-8")
        return
    simulated = defined_in(map(Path, arguments[1:])) & {function.name for function in functions}
    Path(arguments[0]).write_text(unsupported(functions, simulated), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
