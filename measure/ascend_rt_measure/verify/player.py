# SPDX-License-Identifier: Apache-2.0
"""In a separate process: make a list of calls of the C functions and print the answer of each.

Standard input is a JSON list of ``[function, argument, ...]``. A function with ``thread:`` before its name is called on
a second thread, the same one for all of them; one with ``1792 x `` is called that often, or until it fails; the result
of one with ``name = `` is kept by that name. An argument is a number, ``null``, ``"text:..."``, or

- a list: a new array; an object: a new structure; their members may be arguments like these again; with the name of
  a kept output at ``"@"`` that structure, changed;
- ``"out"`` or ``"out:name"``: a new output, kept by that name;
- ``"array:name:3"``: a new array of three outputs, kept by that name; ``"array:name:3:64"``: each is 64 at first;
- ``"buffer"``: 4096 bytes; ``"hex:..."``: these bytes; ``"zeros:number"``: that many;
- ``"address:..."``: the address of the address of this text;
- ``"callback:name"``: a function that does nothing, the same one for the same name;
- ``"answering:1"``: a function that returns 1;
- ``"@name"``: the value of a kept output; ``"@name[1]"``: of an element of a kept array;
- ``"@name+64"``: the address 64 bytes behind it.

Standard output is a line per call, written as soon as it has returned: ``[code, values of the outputs that are
numbers]``; the texts ``"nan"``, ``"inf"`` and ``"-inf"`` mean those numbers. Instead of a code there is
``"missing"`` if the library has no such function, and ``"unprepared"`` if it needs an output that no earlier call has
made. Output of the library goes to standard error.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ascend_rt._runtime.driver import ffi, lib, provide
from ascend_rt_measure.verify.children import results
from ascend_rt_measure.verify.strict_json import dumps, number

kept: dict[str, Any] = {}
SECOND = "thread:"
second = ThreadPoolExecutor(max_workers=1)


def composed(value: Any, c_type: Any) -> Any:
    """Return a new array or structure, which is kept; a structure may be wanted by value."""
    is_value = c_type.kind == "struct"
    item = c_type if is_value else c_type.item
    if "@" in value:
        change(kept[value["@"]], item, {name: each for name, each in value.items() if name != "@"})
        return kept[value["@"]]
    if isinstance(value, list):
        new = ffi.new(f"{item.cname}[]", [member(each, item) for each in value])
    else:
        new = ffi.new(f"{item.cname} *", members(value, item))
    kept[f"composed {len(kept)}"] = new
    return new[0] if is_value else new


def members(value: dict[str, Any], c_type: Any) -> dict[str, Any]:
    """Return the members of a structure or union as cffi takes them."""
    types = {name: field.type for name, field in c_type.fields}
    return {name: member(each, types[name]) for name, each in value.items()}


def change(structure: Any, c_type: Any, value: dict[str, Any]) -> None:
    """Change members of a kept structure."""
    types = {name: field.type for name, field in c_type.fields}
    for name, each in value.items():
        if isinstance(each, dict):
            change(getattr(structure, name), types[name], each)
        else:
            setattr(structure, name, member(each, types[name]))


def member(value: Any, c_type: Any) -> Any:
    """Return one member, or one element of an array."""
    if c_type.kind == "pointer":
        return argument(value, c_type, [])
    return members(value, c_type) if isinstance(value, dict) else value


def argument(value: Any, c_type: Any, outs: list[Any]) -> Any:
    """Return the C value of an argument of a call."""
    if value is None:
        return ffi.NULL
    if isinstance(value, list | dict):
        return composed(value, c_type)
    if not isinstance(value, str):
        converted = ffi.cast(c_type, value)  # -1 is a number to an unsigned parameter too
        return (
            converted
            if c_type.kind in ("pointer", "function")
            else value
            if isinstance(value, float)
            else int(converted)
        )
    kind, _, rest = value.partition(":")
    if kind == "text":
        return ffi.new("char[]", rest.encode())
    if kind in ("hex", "zeros"):
        content = bytes.fromhex(rest) if kind == "hex" else bytes(int(rest))
        kept[f"content {len(kept)}"] = memory = ffi.new("char[]", content)
        return ffi.cast(c_type, memory)
    if kind == "address":
        kept[f"text {len(kept)}"] = text = ffi.new("char[]", rest.encode())
        kept[f"address {len(kept)}"] = memory = ffi.new("char *[1]", [text])
        return ffi.cast(c_type, memory)
    if kind == "buffer" or (kind == "out" and c_type.cname == "void *"):
        kept[f"buffer {len(kept)}"] = memory = ffi.new("char[4096]")
        return ffi.cast(c_type, memory)
    if kind == "array":
        name, length, *value = rest.split(":")
        kept[name] = ffi.new(f"{c_type.item.cname}[]", [int(each) for each in value] * int(length) or int(length))
        return kept[name]
    if kind == "callback":
        return kept.setdefault(rest, [ffi.callback(c_type, lambda *_: None)])[0]
    if kind == "answering":
        return kept.setdefault(value, ffi.callback(c_type, lambda *_: int(rest)))
    if kind == "out":
        outs.append(ffi.new(c_type))
        kept[rest] = outs[-1]
        return outs[-1]
    name, _, offset = kind[1:].partition("+")
    name, _, index = name.partition("[")
    found = kept[name][int(index.rstrip("]") or 0)]
    return ffi.cast("char *", found) + int(offset) if offset else found


def call(function: str, *arguments: Any) -> list[Any]:
    """Make one call."""
    if function.startswith(SECOND):
        return second.submit(call, function.removeprefix(SECOND), *arguments).result()
    times, _, repeated = function.rpartition(" x ")
    if times:
        answers = (call(repeated, *arguments) for _ in range(int(times)))
        return next((answer for answer in answers if answer[0] != 0), [0, []])
    name, _, function = function.rpartition(" = ")
    provide(function)
    target = getattr(lib, function)
    outs: list[Any] = []
    try:
        types = ffi.typeof(target).args
    except TypeError:  # a function of Python, which would say that it is missing
        return ["missing", []]
    try:
        values = [argument(value, c_type, outs) for value, c_type in zip(arguments, types, strict=True)]
    except KeyError:
        return ["unprepared", []]
    code = target(*values)
    if name:
        kept[name] = [code]
    return [
        code if isinstance(code, int) else int(ffi.cast("uintptr_t", code)),
        [number(out[0]) for out in outs if isinstance(out[0], int | float)],
    ]


def main() -> None:
    """Make the calls of standard input."""
    with results() as out:
        for row in json.load(sys.stdin):
            print(dumps(call(*row)), file=out, flush=True)


if __name__ == "__main__":
    main()
