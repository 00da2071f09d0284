# SPDX-License-Identifier: Apache-2.0
"""Tables of calls that use dead handles, or free blocks that are not allocated.

Many are recorded or simulated on purpose, for their codes; where the official library follows the handle, as the double
takes it to do, they cannot be played.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Handles that the official code follows without looking.
_KIND = "aclrt(?:Event|Stream|Notify|CntNotify|Context)"
_INPUT = re.compile(rf"(?:const )?{_KIND}")
_OUTPUT = re.compile(rf"{_KIND} \*")
_DESTROYS = re.compile(r"aclrt(Destroy(Context|Event|Notify|Stream|StreamForce)|CntNotifyDestroy)")
_FREES = re.compile(r"aclrtFree(Host)?(WithDevSync)?")


class _Handles:
    """Outputs by their names, as ``measure/ascend_rt_measure/verify/player.py`` keeps them."""

    def __init__(self) -> None:
        self._given_out: dict[str, str] = {}  # name -> type
        self._dead: set[str] = set()

    def give_out(self, argument: Any, c_type: str) -> None:
        if isinstance(argument, str) and argument.startswith("out:"):
            name = argument.removeprefix("out:")
            self._given_out[name] = c_type
            self._dead.discard(name)

    def destroy(self, argument: Any) -> None:
        if isinstance(argument, str):
            self._dead.add(argument.removeprefix("@"))

    def destroy_all(self, c_type: str = "") -> None:
        self._dead |= {name for name, its_type in self._given_out.items() if its_type.startswith(c_type)}

    def are_dead(self, argument: Any, *, is_handle: bool) -> bool:
        if isinstance(argument, str):
            name = argument.removeprefix("@")
            is_other = is_handle and name in self._given_out and not _OUTPUT.fullmatch(self._given_out[name])
            return name in self._dead or is_other
        return isinstance(argument, int) and argument != 0


def first_dead(rows: Iterable[Sequence[Any]], functions: Mapping[str, Any]) -> str | None:
    """Return the function of the first call with a handle or a block that does not live.

    Parameters
    ----------
    rows : iterable
        Functions with their arguments, as the player takes them.
    functions : mapping
        The declarations of functions, by name.
    """
    handles = _Handles()
    for row in rows:
        name = str(row[0]).removeprefix("thread:").rpartition(" x ")[2]
        function = functions.get(name)
        if function is None:
            continue
        for parameter, argument in zip(function.parameters, row[1:], strict=False):
            is_handle = _INPUT.fullmatch(parameter.type) is not None
            if (is_handle or _FREES.fullmatch(name)) and handles.are_dead(argument, is_handle=is_handle):
                return name
        for parameter, argument in zip(function.parameters, row[1:], strict=False):
            if _INPUT.fullmatch(parameter.type) and _DESTROYS.fullmatch(name):
                handles.destroy(argument)
            handles.give_out(argument, parameter.type)
        if _FREES.fullmatch(name):
            handles.destroy(row[1])
        if name in ("aclrtResetDevice", "aclrtResetDeviceForce"):
            handles.destroy_all()
        if name == "aclrtDestroyContext":
            handles.destroy_all("aclrtStream")
    return None
