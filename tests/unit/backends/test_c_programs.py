# SPDX-License-Identifier: Apache-2.0
"""C programs find the headers and the simulator of the installed package: by the commands, pkg-config and CMake."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_rt import __version__
from ascend_rt._generated.functions import LIBRARIES
from ascend_rt.backends import include_directory, pkg_config_directory
from ascend_rt.backends.sim import companion_directory, library_directory

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "c"
DATA = ROOT / "tests" / "data"
HEADERS = sorted(str(path.relative_to(include_directory())) for path in Path(include_directory()).rglob("*.h"))

pytestmark = [
    pytest.mark.simulator("internals", "the programs are run on the simulator"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


def tool(name: str) -> str:
    """Return the path of a tool; skip the test where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path


def output(*command: str | Path, **variables: str) -> str:
    """Return what a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def reported(*arguments: str) -> str:
    return output(sys.executable, "-m", "ascend_rt", *arguments)


@pytest.fixture
def pkg_config() -> Callable[..., str]:
    """Return a function that asks pkg-config about the package."""
    path = tool("pkg-config")
    try:
        directory = pkg_config_directory()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert reported("include-path", "--pkg-config") == directory
    return lambda *options: output(path, *options, "ascend_rt", PKG_CONFIG_PATH=directory)


def expect_round_trip(program: Path) -> None:
    """The program runs on the simulator."""
    printed = output(program, LD_LIBRARY_PATH=reported("sim-path"), ASCEND_RT_SIM_PRODUCT="310P")
    assert printed == "Ascend310P3: 1048576 bytes came back as they were sent"


@pytest.mark.parametrize("library", ["ascendcl", "acl_rt"])
def test_by_the_compiler(tmp_path: Path, library: str) -> None:
    program = tmp_path / "round_trip"
    flags = [
        f"-I{reported('include-path')}",
        f"-L{reported('sim-path')}",
        f"-l{library}",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    output("cc", EXAMPLE / "round_trip.c", *flags, "-o", program)
    expect_round_trip(program)


def test_by_pkg_config(tmp_path: Path, pkg_config: Callable[..., str]) -> None:
    program = tmp_path / "round_trip"
    output("cc", EXAMPLE / "round_trip.c", *pkg_config("--cflags", "--libs").split(), "-o", program)
    expect_round_trip(program)
    assert pkg_config("--modversion") == __version__


@pytest.mark.usefixtures("pkg_config")
def test_by_cmake(tmp_path: Path) -> None:
    cmake = tool("cmake")
    output(cmake, "-S", EXAMPLE, "-B", tmp_path, PKG_CONFIG_PATH=pkg_config_directory())
    output(cmake, "--build", tmp_path)
    expect_round_trip(tmp_path / "round_trip")


# The libraries into which newer releases of CANN divide the runtime.
PARTS = ["acl_rt", "runtime", *(name.removeprefix("lib").removesuffix(".so") for name in LIBRARIES.values())]


@pytest.mark.full
@pytest.mark.skipif(companion_directory() != library_directory(), reason="an editable install has two directories")
@pytest.mark.parametrize("library", PARTS)
def test_a_program_that_was_linked_on_a_server_starts(tmp_path: Path, library: str) -> None:
    # A library that has other functions than the simulator's; the program is linked with it, but is run without.
    others = tmp_path / f"lib{library}.so"
    (tmp_path / "other.c").write_text("int other(void) { return 0; }", encoding="utf-8")
    output("cc", "-shared", "-fPIC", tmp_path / "other.c", "-o", others, f"-Wl,-soname,{others.name}")
    program = tmp_path / "bin" / "round_trip"
    program.parent.mkdir()
    flags = [f"-I{include_directory()}", "-Wl,--no-as-needed", others, f"-L{library_directory()}", "-lascendcl"]
    output("cc", EXAMPLE / "round_trip.c", *flags, "-o", program)
    expect_round_trip(program)


STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
STANDARDS = ["c99", "c++11", "c++17"]


def compile_all(sources: list[Path], standard: str) -> None:
    language = "c++" if standard.startswith("c++") else "c"
    output("cc", "-x", language, f"-std={standard}", *STRICT, f"-I{include_directory()}", *sources)


@pytest.mark.full
@pytest.mark.parametrize("standard", STANDARDS)
def test_every_header_stands_alone(tmp_path: Path, standard: str) -> None:
    sources = []
    for header in HEADERS:
        declared = "ACLSIM_KERNEL(empty) {}" if header == "acl/aclsim_kernel.h" else "int declared;"
        sources.append(tmp_path / f"{header.replace('/', '-')}.c")
        sources[-1].write_text(f'#include "{header}"\n{declared}\n', encoding="utf-8")
    compile_all(sources, standard)


@pytest.mark.parametrize("standard", STANDARDS)
def test_headers_go_together(tmp_path: Path, standard: str) -> None:
    others = [f"#include <{header}>\n" for header in HEADERS if header != "acl/aclsim_kernel.h"]
    sources = [tmp_path / "forwards.c", tmp_path / "backwards.c"]
    for source, lines in zip(sources, (others, others[::-1]), strict=True):
        source.write_text("".join(lines), encoding="utf-8")
    compile_all(sources, standard)


def test_values_and_layouts_are_those_of_the_vendors_headers(tmp_path: Path) -> None:
    # Written from what the vendor's public headers give with a compiler for 64-bit Linux.
    layouts = json.loads((DATA / "header_layouts.json").read_text(encoding="utf-8"))
    lines = ["#include <cstddef>\n", *(f'#include "{header}"\n' for header in layouts)]
    for layout in layouts.values():
        facts = [
            *layout["constants"].items(),
            *((f"sizeof({name})", size) for name, size in layout["sizes"].items()),
            *(
                (f"offsetof({name}, {member})", offset)
                for name, members in layout["offsets"].items()
                for member, offset in members.items()
            ),
        ]
        lines += [f'static_assert((long long)({fact}) == {value}, "{fact}");\n' for fact, value in facts]
    source = tmp_path / "layouts.c"
    source.write_text("".join(lines), encoding="utf-8")
    compile_all([source], "c++17")


OVERLOADS = """
#include <acl/acl_rt_api.h>
#include <cstdio>

int main() {
    int *memory = nullptr, sent = 7, received = 0;
    aclrtStream stream = nullptr;
    bool is_fine = aclrtSetDevice(0) == ACL_SUCCESS && aclrtMalloc(&memory, 64) == ACL_SUCCESS &&
                   aclrtCreateStream(&stream, 0, 0) == ACL_SUCCESS &&
                   aclrtMemcpyAsync(memory, 64, &sent, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream) == ACL_SUCCESS &&
                   aclrtSynchronizeStream(stream, 1000) == ACL_SUCCESS &&
                   aclrtMemcpy(&received, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS;
    std::printf("%d %d\\n", is_fine, received);
}
"""

INNER_RUNTIME = """
#include <runtime/rt.h>
#include <stdio.h>

int main(void) {
    void *memory = NULL;
    rtStream_t stream = NULL;
    int sent = 7, received = 0;
    rtError_t codes[7];
    codes[0] = rtSetDevice(0);
    codes[1] = rtMalloc(&memory, 64, RT_MEMORY_HBM, 0);
    codes[2] = rtStreamCreate(&stream, RT_STREAM_PRIORITY_DEFAULT);
    codes[3] = rtMemcpyAsync(memory, 64, &sent, 4, RT_MEMCPY_HOST_TO_DEVICE, stream);
    codes[4] = rtStreamSynchronize(stream);
    codes[5] = rtMemcpy(&received, 4, memory, 4, RT_MEMCPY_DEVICE_TO_HOST);
    codes[6] = rtStreamGetSqid(stream, NULL);
    for (int i = 0; i < 7; ++i) printf("%d ", codes[i]);
    printf("%d\\n", received);
    return 0;
}
"""


@pytest.mark.skipif(companion_directory() != library_directory(), reason="an editable install has two directories")
@pytest.mark.parametrize(
    ("source", "options", "printed"),
    [
        (OVERLOADS, ["-xc++", "-std=c++11"], "1 7"),
        (INNER_RUNTIME, ["-xc", "-std=c99"], "0 0 0 0 0 0 207000 7"),
    ],
    ids=["overloads", "inner_runtime"],
)
def test_a_program_written_from_the_headers(tmp_path: Path, source: str, options: list[str], printed: str) -> None:
    (tmp_path / "program.c").write_text(source, encoding="utf-8")
    libraries = [f"-L{library_directory()}", "-lruntime", "-lascendcl", "-lstdc++"]
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{include_directory()}"]
    output("cc", *flags, *options, tmp_path / "program.c", "-xnone", *libraries, "-o", tmp_path / "program")
    assert output(tmp_path / "program", LD_LIBRARY_PATH=str(library_directory())) == printed


@pytest.mark.parametrize("standard", ["c99", "c17", "c++11", "c++20"])
def test_headers_keep_to_the_standards(tmp_path: Path, standard: str) -> None:
    source = tmp_path / "program.c"
    source.write_text("".join(f"#include <{header}>\n" for header in HEADERS), encoding="utf-8")
    language = "c++" if "++" in standard else "c"
    flags = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{include_directory()}"]
    output("cc", "-x", language, *flags, "-fsyntax-only", source)


def test_the_directories_are_those_of_the_package() -> None:
    assert {
        "acl/acl.h",
        "acl/acl_mdl.h",
        "acl/acl_platform.h",
        "acl/acl_rt_api.h",
        "acl/error_codes/ge_error_codes.h",
        "acl/error_codes/rt_error_codes.h",
        "acl/ops/acl_dvpp.h",
        "aclnn/aclnn_base.h",
        "hccl/hccl.h",
        "hccl/hccl_types.h",
        "runtime/rt.h",
    } <= set(HEADERS)
    assert reported("sim-path") == str(library_directory())
