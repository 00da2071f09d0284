# SPDX-License-Identifier: Apache-2.0
"""The C source of the extension module ``ascend_rt.pyacl._pyacl``.

Each function of ``pyacl_names.py`` becomes a C function that converts its arguments, calls the C function of the ABI
through the table of ``ascend_rt._aclrt`` without the GIL, and returns the outputs and the error code. A function that
takes or returns more than numbers and texts is written by hand, in Python or in ``pyacl_support.c``; only the
conversion of its arguments is generated.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codegen import declarations
from codegen.declarations import Declarations, Function, Parameter
from codegen.pyacl_names import IN_PART, MODULES, OUTSIDE

__all__ = ["IN_PART", "MODULES", "OUTSIDE", "Entry", "Value", "document", "entries", "signature", "source"]

_INTEGER = re.compile(r"u?int\d+_t|size_t")
_LETTERS = {
    "int32_t": "i", "uint32_t": "I", "int64_t": "l", "uint64_t": "K", "size_t": "k",
    "float": "f", "aclFloat16": "H", "char *": "s",
}  # fmt: skip

_ANNOTATIONS = {"s": "str", "f": "float"}

_EVENT = "aclrtEvent"

# Declaration of the C variable that holds an argument, by its letter; and the way in which it reaches the C function.
_HOLDERS = {"f": "double {} = 0;", "s": "const char *{} = NULL;", "O": "PyObject *{} = NULL;"}
_INTEGER_HOLDER = "uint64_t {} = 0;"
_CASTS = {"f": "({}){}", "s": "({}){}"}
_INTEGER_CAST = "({})(uintptr_t){}"


@dataclass(frozen=True)
class Value:
    """A parameter or a result.

    ``default`` is what a parameter is if it is left out, ``letter`` its format; ``c_type`` is of an output, unless the
    function is written by hand.
    """

    name: str
    annotation: str = "int"
    default: str = ""
    letter: str = ""
    c_type: str = ""


_NONE = Value("None", "None")


@dataclass(frozen=True)
class Entry:
    """A function of pyACL; ``home`` is where it is written by hand. For the rest, see ``pyacl_names.py``."""

    module: str
    name: str
    function: Function | None
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    home: str
    error: str
    initial: str
    warning: str
    ends_event: bool
    ends_calls: bool

    @property
    def full_name(self) -> str:
        """``acl.rt.malloc``."""
        return ".".join(filter(None, ("acl", self.module, self.name)))

    @property
    def identifier(self) -> str:
        """``rt_malloc``."""
        return f"{self.module or 'acl'}_{self.name}"

    @property
    def required(self) -> int:
        """How many arguments there must be."""
        return sum(not parameter.default for parameter in self.parameters)


def snake(c_name: str) -> str:
    """Return ``set_op_time_out`` for ``SetOpTimeOut``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", c_name).lower()


class _Table:
    """Completes the lines of the table by the declarations."""

    def __init__(self, declared: Declarations) -> None:
        self._functions = {function.name: function for function in declared.functions}
        self._enums = {enum.name for enum in declared.enums}
        self._handles = set(re.findall(r"typedef [\w ]+\*(\w+);", declared.cdef))

    def entries(self) -> Iterator[Entry]:
        for module, prefix, lines in MODULES:
            names = {snake(name.removeprefix(prefix)): name for name in self._functions if name.startswith(prefix)}
            for line in filter(None, lines.splitlines()):
                try:
                    yield self._entry(module, names, line)
                except (LookupError, SyntaxError, TypeError, ValueError) as error:
                    raise ValueError(f"pyacl_names.py: {line}") from error

    def _entry(self, module: str, names: dict[str, str], line: str) -> Entry:
        declared, _, described = line.partition(";")
        name, has_signature, signature = declared.partition("(")
        marks = {key: value for key, _, value in (mark.partition("=") for mark in shlex.split(described))}
        home = marks.pop("in", "")
        c_name = marks.pop("function", names.get(name, ""))
        function = self._functions.get(c_name) if home else self._functions[c_name]
        if has_signature:
            parameters, results = map(_values, signature.split(") -> "))
        else:
            parameters, results = self._values_of(self._functions[c_name])
        if "format" in marks:
            letters = marks.pop("format")
            parameters = [replace(value, letter=letter) for value, letter in zip(parameters, letters, strict=True)]
        full_name = ".".join(filter(None, ("acl", module, name)))
        ending = marks.pop("error", "")
        return Entry(
            module,
            name,
            function,
            tuple(parameters),
            tuple(results),
            home,
            error=f"{full_name} args parse failed{ending}" if ending in ("", "!") else ending,
            initial=marks.pop("initial", "0"),
            warning=marks.pop("warning", ""),
            ends_event=marks.pop("ends_event", None) is not None,
            ends_calls=marks.pop("ends_calls", None) is not None,
            **marks,  # there are no others
        )

    def _values_of(self, function: Function) -> tuple[list[Value], list[Value]]:
        """Return the parameters and the results that follow from the C function."""
        inputs = [self._input(parameter) for parameter in function.parameters if not self._is_output(parameter)]
        outputs = [
            Value(snake(parameter.name), _annotation(_base(parameter.type)), c_type=_base(parameter.type))
            for parameter in function.parameters
            if self._is_output(parameter)
        ]
        return inputs, outputs + self._returned(function)

    def _input(self, parameter: Parameter) -> Value:
        plain = _plain(parameter.type)
        letter = "i" if plain in self._enums else _LETTERS.get(plain, "k")
        return Value(snake(parameter.name), _ANNOTATIONS.get(letter, "int"), letter=letter)

    def _returned(self, function: Function) -> list[Value]:
        if function.returns == "void":
            return [_NONE]
        if function.returns == "aclError":
            return [Value("ret")]
        match = re.match(r"acl(?:rt|prof)?(?:\w*?Get|\w*?Create)(\w+)", function.name)
        return [Value(snake(match[1]) if match else "value", _annotation(function.returns))]

    def _is_output(self, parameter: Parameter) -> bool:
        """Return True if the C function writes a number or a handle to the parameter, as to an ``int32_t *``."""
        plain = re.sub(r"\* const$", "*", parameter.type)
        if plain.startswith("const ") or not plain.endswith("*"):
            return False
        base = _base(plain)
        return (
            base in self._enums
            or base in self._handles
            or base == "float"
            or base.endswith("*")
            or bool(_INTEGER.fullmatch(base))
        )


def _annotation(c_type: str) -> str:
    return {"const char *": "str | None", "float": "float"}.get(c_type, "int")


def _plain(c_type: str) -> str:
    return re.sub(r"\bconst\b", "", c_type).strip().replace("  ", " ")


def _base(pointer: str) -> str:
    return _plain(pointer).removesuffix("*").strip()


def _values(text: str) -> list[Value]:
    if text.strip() == "None":
        return [_NONE]
    arguments = ast.parse(f"def f({text}): ...").body[0].args  # type: ignore[attr-defined]
    defaults = [""] * (len(arguments.args) - len(arguments.defaults)) + list(map(ast.unparse, arguments.defaults))
    return [
        Value(argument.arg, ast.unparse(argument.annotation) if argument.annotation else "int", default)
        for argument, default in zip(arguments.args, defaults, strict=True)
    ]


def entries() -> tuple[Entry, ...]:
    """Return all functions, in the order of the table."""
    return tuple(_Table(declarations.load()).entries())


# --- documentation ---------------------------------------------------------------------------------------------------


def signature(entry: Entry) -> str:
    """Return ``(size, policy, /)``, without types, as ``inspect.signature`` reads it."""
    names = [f"{p.name}={p.default}" if p.default else p.name for p in entry.parameters]
    return f"({', '.join([*names, '/'] if names else [])})"


def document(entry: Entry) -> str:
    """Return the docstring."""
    results = ", ".join(result.name for result in entry.results)
    c_name = f"``{entry.function.name}``" if entry.function else ""
    source = f" of {c_name}" if c_name else ""
    text = f"Call {c_name}." if results == "None" else f"Return ``{results}``{source}."
    values = {value.name: value.annotation for value in (*entry.parameters, *entry.results) if value.name != "None"}
    others = "; ".join(f"{name}: {annotation}" for name, annotation in values.items() if annotation != "int")
    return f"{text}\n\nNot ints: {others}." if others else text


# --- C ---------------------------------------------------------------------------------------------------------------

_SOURCE = """\
/* Written by codegen/pyacl.py. */
#include "pyacl_support.h"

enum {{
{slots}
    SLOT_COUNT,
}};

pyacl_function pyacl_functions[SLOT_COUNT + 1] = {{
{functions}
    {{NULL, NULL}},
}};

#define READY(name) pyacl_is_ready(&pyacl_functions[SLOT_##name])
#define FUNCTION(name) PYACL_FUNCTION(name, &pyacl_functions[SLOT_##name])

{definitions}

{methods}

const pyacl_module pyacl_modules[] = {{
{modules}
    {{NULL, NULL}},
}};
"""

_FUNCTION = """\
static PyObject *{identifier}(PyObject *self, PyObject *const *args, Py_ssize_t count) {{
    (void)self;
    (void)args;
{body}
}}
"""


def source(table: tuple[Entry, ...]) -> str:
    """Return the text of ``_pyacl.c``."""
    generated = sorted({e.function.name for e in table if e.function is not None and e.home in ("", "c")})
    return _SOURCE.format(
        slots="\n".join(f"    SLOT_{name}," for name in generated),
        functions="\n".join(f'    {{"{name}", NULL}},' for name in generated),
        definitions="\n".join(_FUNCTION.format(identifier=e.identifier, body=_body(e)) for e in table),
        methods="\n\n".join(_methods(module, table) for module, _, _ in MODULES),
        modules="\n".join(f'    {{"{module}", {module or "acl"}_methods}},' for module, _, _ in MODULES),
    )


def _methods(module: str, table: tuple[Entry, ...]) -> str:
    rows = "\n".join(map(_method, (entry for entry in table if entry.module == module)))
    return f"static PyMethodDef {module or 'acl'}_methods[] = {{\n{rows}\n    {{NULL, NULL, 0, NULL}},\n}};"


def _method(entry: Entry) -> str:
    text = json.dumps(f"{entry.name}{signature(entry)}\n--\n\n{document(entry)}")
    return f'    {{"{entry.name}", (PyCFunction)(void (*)(void)){entry.identifier}, METH_FASTCALL,\n     {text}}},'


def _body(entry: Entry) -> str:
    lines = list(_conversion(entry))
    if entry.home == "c":
        lines.append(f"    return pyacl_{entry.name}({_arguments(entry)});")
    elif entry.home:
        module = f"ascend_rt.pyacl._{entry.home}"
        values = [_to_python(parameter) for parameter in entry.parameters]
        lines.append(f"    return pyacl_call_python({json.dumps(module)}, {json.dumps(entry.name)},")
        lines.append(f"                             pyacl_pack({len(values)}{''.join(f', {v}' for v in values)}));")
    else:
        lines += _call(entry)
    return "\n".join(lines)


def _conversion(entry: Entry) -> Iterator[str]:
    """Convert the arguments; a function without parameters takes any number, and does not look at them."""
    if entry.warning:
        yield f"    if (PyErr_WarnEx(PyExc_Warning, {json.dumps(entry.warning)}, 1) < 0) {{"
        yield "        return NULL;"
        yield "    }"
    if not entry.parameters:
        yield "    (void)count;"
        return
    for parameter in entry.parameters:
        yield "    " + _holder(parameter).format(f"in_{parameter.name}")
    maximum = len(entry.parameters)
    wrong = [f"count != {maximum}" if entry.required == maximum else f"count < {entry.required} || count > {maximum}"]
    for number, parameter in enumerate(entry.parameters):
        failed = f"!pyacl_to_{parameter.letter}(args[{number}], &in_{parameter.name})"
        wrong.append(f"(count > {number} && {failed})" if number >= entry.required else failed)
    yield f"    if ({' || '.join(wrong)}) {{"
    if entry.error == "cpython":
        letters = "".join(parameter.letter for parameter in entry.parameters)
        yield f'        return pyacl_refuse_as_cpython(args, count, "{letters}");'
    else:
        yield f"        return pyacl_refuse({json.dumps(entry.error)});"
    yield "    }"


def _holder(parameter: Value) -> str:
    # A text that is left out is empty: where aclInit refuses NULL, the official library ends the process.
    if parameter.letter == "s" and parameter.default:
        return 'const char *{} = "";'
    return _HOLDERS.get(parameter.letter, _INTEGER_HOLDER)


def _arguments(entry: Entry) -> str:
    return ", ".join(f"in_{parameter.name}" for parameter in entry.parameters)


def _to_python(parameter: Value) -> str:
    name = f"in_{parameter.name}"
    if parameter.letter in "ilL":
        return f"PyLong_FromLongLong((long long){name})"
    return {"s": f"PyUnicode_FromString({name})", "O": f"Py_NewRef({name})"}.get(
        parameter.letter, f"PyLong_FromUnsignedLongLong({name})"
    )


def _call(entry: Entry) -> Iterator[str]:
    function = entry.function
    assert function is not None
    outputs = [result for result in entry.results if result.c_type]
    inputs = iter(entry.parameters)
    arguments, events = [], []
    for parameter in function.parameters:
        if any(snake(parameter.name) == output.name for output in outputs):
            arguments.append(f"&out_{snake(parameter.name)}")
        else:
            value = next(inputs)
            events += [f"in_{value.name}"] * (parameter.type == _EVENT)
            cast = _CASTS.get(value.letter, _INTEGER_CAST)
            arguments.append(cast.format(_plain_but_pointee(parameter.type), f"in_{value.name}"))
    yield f"    if (!READY({function.name})) {{"
    yield "        return NULL;"
    yield "    }"
    for output in outputs:
        yield f"    {output.c_type} out_{output.name} = ({output.c_type}){entry.initial};"
    if entry.ends_calls:
        yield "    const uint64_t last = pyacl_last_callback();"
    call = f"FUNCTION({function.name})({', '.join(arguments)})"
    if function.returns != "void":
        yield f"    {function.returns} result{' = ACL_ERROR_RT_INVALID_HANDLE' if events else ''};"
        call = f"result = {call}"
    if events:  # events that have ended with their device stay out of the library
        yield f"    if ({' && '.join(f'!pyacl_has_ended({event})' for event in events)}) {{"
    if entry.ends_event:
        yield f"    PyObject *const note = pyacl_forget_event({events[0]});"
    yield f"    PYACL_WITHOUT_GIL({call});"
    if entry.ends_event:
        yield f"    pyacl_restore_event(result, {events[0]}, note);"
    if events:
        yield "    }"
    for output in outputs:
        if output.c_type == _EVENT:
            yield f"    pyacl_note_event(result, out_{output.name});"
    if entry.ends_calls:
        yield f"    pyacl_drop_callbacks(result, in_{entry.parameters[0].name}, last);"
    values = [f"PYACL_BOX(out_{output.name})" for output in outputs]
    values += ["PYACL_BOX(result)"] if function.returns != "void" else []
    if len(values) > 1:
        packed = f"pyacl_pack({len(values)}, {', '.join(values)})"
    else:
        packed = values[0] if values else "Py_NewRef(Py_None)"
    yield f"    return pyacl_result({json.dumps(entry.name)}, {packed});"


def _plain_but_pointee(c_type: str) -> str:
    """Return the type without a ``const`` of the parameter itself."""
    return c_type if c_type.endswith("*") else _plain(c_type)
