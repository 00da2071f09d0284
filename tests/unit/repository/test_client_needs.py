# SPDX-License-Identifier: Apache-2.0
"""The tool that lists what clients of CANN need, on small checkouts, and the page that it makes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"

pytestmark = [
    pytest.mark.simulator("internals", "the tool compares with the simulated toolkit"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CANN is for Linux, and so is its toolkit"),
]

SOURCE = """\
#include <acl/acl.h>
#include "acl/nothing_like_it.h"
#include "own/acl_helper.h"
#include "runtime/rt.h"
#include "runtime/scheduler.h"  // of another project

/* aclrtInAComment(); */
static aclError aclrtOfTheClient(void *where) { return aclrtMalloc(where, 1, ACL_MEM_MALLOC_HUGE_FIRST); }
#define aclCheck(code) (code)
int work(Object object) {
    object.aclMember();  // aclrtInALine()
    aclCheck(aclrtOfTheClient(0));
    auto cast = aclrtStream(0);
    rtSetDevice(0);
    memcpy_s(0, 0, 0, 0);
    aclnnAddGetWorkspaceSize(0);
    aclnnAdd(0);
    return other::aclrtFree(0) + aclrtFree(0);
}
"""
FILES = {
    "src/work.cpp": SOURCE,
    "src/plain.cpp": "int f() { return rtOfAnother() + strcpy_s(0) + aclrtGetDeviceCount(0); }\n",
    "include/own/acl_helper.h": "",
    "include/acl/vendored.h": "",
    "src/uses.c": '#include "acl/vendored.h"\n',
    "src/named.c": 'void *f(void *acl) { return dlsym(acl, "aclrtFindsNothing"); }\n',
    "CMakeLists.txt": (
        "find_library(A NAMES ascendcl PATHS $ENV{ASCEND_TOOLKIT_HOME}/lib64)\n"
        "target_link_libraries(work PRIVATE runtime other graph)\n"
        "include_directories($ENV{ASCEND_HOME_PATH}/${CMAKE_SYSTEM_PROCESSOR}-linux/include)\n"
        "include_directories(${DDK_PATH}/unheard/${OF})\n"
    ),
    "Makefile": "LDLIBS = -lhccl -lz -l:libatb.so\n",
    "setup.py": "Extension('a', libraries=['ascendcl', 'msprofiler'])\nos.environ['ASCEND_HOME_PATH']\n",
    "probe.py": "import ctypes\nlibrary = ctypes.CDLL('libdcmi.so')\nlibrary.dcmi_init()\nlibrary.aclInit(None)\n",
    "model.py": "import acl\nacl.init()\nacl.rt.malloc(1, 0)\nacl.rt.nothing_like_it()\nobject.acl.rt.free()\n",
    "chips.sh": 'npu-smi info -l | grep x\nnpu-smi info -t board -i 3 -c "$chip" | awk 1\nnpu-smi info -t ecc -i $i\n',
    "call.py": "subprocess.run(['npu-smi', 'info', '-m'])  # npu\n",
    "README.md": "aclrtInAText()\n",
}
EXPECTED = {
    "headers": {"acl/acl.h": 1, "acl/nothing_like_it.h": 1, "runtime/rt.h": 1},
    "libraries": {"ascendcl": 2, "atb": 1, "dcmi": 1, "graph": 1, "hccl": 1, "msprofiler": 1, "runtime": 1},
    "functions": {
        **{"aclInit": 1, "aclrtFindsNothing": 1, "aclrtFree": 2, "aclrtGetDeviceCount": 1, "aclrtMalloc": 1},
        **{"dcmi_init": 1, "memcpy_s": 1, "rtSetDevice": 1},
    },
    "operators": {"aclnnAdd": 2},
    "pyacl": {"init": 1, "rt.malloc": 1, "rt.nothing_like_it": 1},
    "variables": {"ASCEND_HOME_PATH": 2, "ASCEND_TOOLKIT_HOME": 1, "DDK_PATH": 1},
    "paths": {"<arch>-linux/include": 1, "lib64": 1, "unheard": 1},
    "questions": {"info -l": 1, "info -m": 1, "info -t board -i N -c N": 1, "info -t ecc -i N": 1},
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return the checkout of a client that needs some of everything."""
    for name, text in FILES.items():
        path = tmp_path / "client" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "client"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool that writes the page, as a module."""
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("client_table")


def client_needs(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "client_needs.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_needs_are_found_and_nothing_else(checkout: Path) -> None:
    done = client_needs("--json", checkout)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == EXPECTED


def test_missing_names_are_printed(checkout: Path) -> None:
    done = client_needs(checkout)
    assert done.returncode == 1, done.stderr
    for line in ("acl/nothing_like_it.h", "aclrtFindsNothing", "aclnnAdd", "rt.nothing_like_it", "unheard"):
        assert f"\n    {line} (in " in done.stdout
    for present in ("acl/acl.h", "aclrtFree", "rt.malloc", "info -m", "ASCEND_HOME_PATH", "<arch>-linux/include"):
        assert f"    {present} " not in done.stdout
    assert "pyacl: 2 of 3 are here\n" in done.stdout


def test_a_client_that_has_everything_it_needs(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <acl/acl.h>\nint f(void) { return aclInit(0); }\n", encoding="utf-8")
    done = client_needs(tmp_path)
    assert (done.returncode, done.stdout.count("are here\n")) == (0, 8)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_other_paths_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = client_needs(tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name} is not a directory with a client's checkout" in done.stderr


def test_binary_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "acl.c").write_bytes(b"\xff\xfe\x00aclrtFree(\x80)\n")
    (tmp_path / "gone.c").symlink_to(tmp_path / "nowhere")
    (tmp_path / "directory.c").mkdir()
    assert client_needs("--json", tmp_path).returncode == 0


def test_the_page_is_that_of_the_data(module: ModuleType) -> None:
    clients = json.loads(module.DATA.read_text(encoding="utf-8"))
    is_same = module.PAGE.read_text(encoding="utf-8") == module.page(clients, module.Here())
    assert is_same, "more or less is here than docs/clients.md says: run 'python tools/client_table.py'"


def test_a_checkout_is_added_and_keeps_what_was_tried(
    module: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DATA", tmp_path / "clients.json")
    monkeypatch.setattr(module, "PAGE", tmp_path / "clients.md")
    before = {"a/b": {"commit": "0" * 40, "tried": "It was built.", "needs": {kind: {} for kind in module.KINDS}}}
    module.DATA.write_text(json.dumps(before), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["client_table.py", "--add", "a/b", "1" * 40, str(checkout)])
    assert module.main() == 0
    assert json.loads(module.DATA.read_text(encoding="utf-8")) == {
        "a/b": {"commit": "1" * 40, "tried": "It was built.", "needs": EXPECTED}
    }
    text = module.PAGE.read_text(encoding="utf-8")
    assert "| [a/b](https://github.com/a/b) | `11111111` |" in text
    assert "operators of aclnn (1)" in text
    monkeypatch.setattr("sys.argv", ["client_table.py", "--check"])
    assert module.main() == 0
    module.PAGE.write_text(text + "more", encoding="utf-8")
    assert module.main() == 1
