# SPDX-License-Identifier: Apache-2.0
"""For each function a group with wrong arguments, and with null arguments before and after ``init``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recorder import Recorder, group

DATA = Path(__file__).resolve().parents[2] / "data" / "pyacl"

FORMATS = json.loads((DATA / "signatures.json").read_text(encoding="utf-8"))

# Valid and wrong arguments for each letter of a format.
VALID: dict[str, Any] = {**dict.fromkeys("kKiIlLHb", 0), "f": 1.0, "s": "x"}
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("kKI", ("x", 1.5, None)),
    "i": ("x", 1.5, None, 2**31, -(2**31) - 1),
    **dict.fromkeys("lL", ("x", 1.5, 2**63)),
    "H": ("x", 1.5),
    "f": ("x", None),
    "s": (1, None, b"x", "a\0b"),
    "O": (),
}


def nothing(*arguments: object) -> None:
    pass


OBJECTS: dict[str, tuple[Any, ...]] = {
    "acl.rt.allocator_set_alloc_advise_func_to_desc": (nothing,),
    "acl.rt.allocator_set_alloc_func_to_desc": (nothing,),
    "acl.rt.allocator_set_free_func_to_desc": (nothing,),
    "acl.rt.allocator_set_get_addr_from_block_func_to_desc": (nothing,),
    "acl.rt.binary_load_from_file": ([],),
    "acl.rt.ipc_mem_set_import_pid": ([],),
    "acl.rt.launch_callback": (nothing, []),
    "acl.rt.malloc_physical": ({},),
    "acl.rt.malloc_with_cfg": ({},),
    "acl.rt.mem_set_pid_to_shareable_handle": ([],),
    "acl.rt.mem_uce_repair": ([],),
    "acl.rt.set_stream_attribute": ({},),
    "acl.util.bytes_to_ptr": (b"x",),
    "acl.util.numpy_to_ptr": (b"x",),
    "acl.util.ptr_to_numpy": ((1,),),
    "acl.util.start_thread": (nothing, []),
}
# Results that depend on the machine.
LOOSE = {
    "acl.rt.get_mem_info": (0, 1),
    "acl.rt.device_get_bare_tgid": (0,),
    "acl.rt.get_event_avail_num": (0,),
}


def arguments(name: str) -> None:
    @group(f"args:{name}")
    def run(acl: Recorder) -> None:
        short = name.removeprefix("acl.")
        letters = FORMATS[name].replace("|", "")
        objects = iter(OBJECTS.get(name, ()))
        valid = [next(objects) if letter == "O" else VALID[letter] for letter in letters]
        loose = LOOSE.get(name, ())
        if letters:
            if "|" not in FORMATS[name]:
                acl(short)
            if len(letters) > 1:
                acl(short, *valid[:-1], note="one too few")
            acl(short, *valid, 0, note="one too many")
            for i, letter in enumerate(letters):
                for wrong in WRONG[letter]:
                    acl(short, *valid[:i], wrong, *valid[i + 1 :], note=f"argument {i + 1}")
        acl(short, keywords={"stream": 0})
        acl(short, *valid, loose=loose, note="before init")
        acl("init")
        acl("rt.set_device", 0)
        if not letters:
            acl(short, 1, loose=loose, note="an argument that is not wanted")
        acl(short, *valid, loose=loose, note="after init and set_device")


for recorded in json.loads((DATA / "observed.json").read_text(encoding="utf-8")):
    if recorded["group"].startswith("args:"):
        arguments(recorded["group"].removeprefix("args:"))
