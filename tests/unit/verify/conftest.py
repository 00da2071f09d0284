# SPDX-License-Identifier: Apache-2.0
"""The command in a separate directory, its report, and libraries that answer like a card."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs_in_forks import Ended, Programs
from support.verification import Verify

BEHIND = b"libbehindit.so"  # as long as libascendcl.so


@pytest.fixture
def verify(tmp_path: Path, programs: Programs) -> Verify:
    """Return a function that runs the command in a separate directory."""

    def run(*arguments: object, **variables: object) -> Ended:
        usual = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_RT_")}
        environment = usual | {"ASCEND_RT_BACKEND": "sim"} | {name: str(value) for name, value in variables.items()}
        command = ("-m", "ascend_rt", "verify", *map(str, arguments))
        return programs.run(*command, directory=tmp_path, environment=environment)

    return run


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], Any]:
    """Return a function that reads the report that was written, which is JSON without extensions."""
    return lambda: json.loads(
        (tmp_path / "ascend_rt-report.json").read_text(encoding="utf-8"), parse_constant=pytest.fail
    )


@pytest.fixture
def card(build: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that makes a library which answers like the simulator, but for some functions.

    The simulator's file, under other names for itself, for its control functions and for the functions that are to be
    missing, is linked to a library that defines the other functions.
    """
    from ascend_rt.backends import sim

    def make(missing: tuple[str, ...] = (), **bodies: str) -> Path:  # by name, with parameters if they are used
        directory = tmp_path_factory.mktemp("card")
        content = sim.library_path().read_bytes()
        content = content.replace(b"libascendcl.so", BEHIND).replace(b"\0aclsim", b"\0bclsim")
        for name in missing:
            content = content.replace(b"\0%s\0" % name.encode(), b"\0b%s\0" % name.encode()[1:])
        behind = directory / BEHIND.decode()
        behind.write_bytes(content)
        head = "".join(f"#include <{name}.h>\n" for name in ("fcntl", "signal", "stdint", "stdio", "unistd"))
        heads = {name: name if name.endswith(")") else f"{name}()" for name in bodies}
        source = head + "".join(f"int32_t {heads[name]} {{ {body} }}\n" for name, body in bodies.items())
        flags = ("-Wl,--no-as-needed", str(behind), "-Wl,-rpath,$ORIGIN")
        return Path(build(directory / "libascendcl.so", *flags, source=source))

    return make
