# SPDX-License-Identifier: Apache-2.0
"""pyACL where a program seldom is: called by C, in odd directories, in another interpreter, in a debugging one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str | bytes | Path, **variables: str) -> str:
    """Run Python and return what it prints on both outputs."""
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | variables, capture_output=True, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).decode(errors="backslashreplace")


def test_a_text_is_logged_without_a_python_function_that_calls() -> None:
    assert run("-c", "import atexit, ascend_rt.pyacl as acl; atexit.register(acl.app_log, 1, 'text')") == ""


def test_a_text_is_logged_from_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/\xff"
    try:
        os.mkdir(directory)
    except OSError:
        pytest.skip("the file system takes text only")
    with open(directory + b"/script.py", "w", encoding="utf-8") as script:
        script.write("import ascend_rt.pyacl as acl\nacl.app_log(1, 'text')\nprint('logged')\n")
    assert run(directory + b"/script.py") == "logged\n"


def test_a_subinterpreter_is_refused() -> None:
    program = """
import _xxsubinterpreters as interpreters
other = interpreters.create()
try:
    interpreters.run_string(other, "import ascend_rt.pyacl")
except interpreters.RunFailedError as error:
    print(error)
"""
    if sys.version_info >= (3, 12):
        pytest.skip("the interface to interpreters is another one")
    assert "ascend_rt does not support subinterpreters" in run("-c", program)


def test_a_configuration_that_is_left_out_is_not_null(tmp_path: Path) -> None:
    """After another configuration the official library refuses, but ends the process if the path is NULL."""
    (tmp_path / "acl.json").write_text("{}", encoding="utf-8")
    program = """
import sys, ascend_rt.pyacl as acl
codes = acl.init(sys.argv[1]), acl.finalize(), acl.init()
print(*codes, "NULL" in (acl.get_recent_err_msg() or ""), acl.init(sys.argv[1]))
"""
    assert run("-c", program, tmp_path / "acl.json") == "0 0 100000 False 0\n"
