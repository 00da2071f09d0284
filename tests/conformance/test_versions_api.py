# SPDX-License-Identifier: Apache-2.0
"""Versions and features of the installation, which are read from files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.codes import INVALID_FILE, INVALID_PARAM, PARSE_FILE, PRODUCTS

from ascend_rt import library

INTERNAL = 500000
INF_NAN, BF16, JIT_COMPILE = 0, 1, 2
DRIVER = 7  # a package


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that installs a package with the text of its version.info."""
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))

    def install(package: str, text: str) -> None:
        directory = tmp_path / "share" / "info" / package
        directory.mkdir(parents=True)
        (directory / "version.info").write_text(text, encoding="utf-8")

    return install


def version_text(lib: Any, ffi: Any, package: str) -> tuple[int, str]:
    text = ffi.new("char[]", 128)
    return lib.aclsysGetVersionStr(package.encode(), text), ffi.string(text).decode()


def version_number(lib: Any, ffi: Any, package: str) -> tuple[int, int]:
    number = ffi.new("int32_t *", -7)
    return lib.aclsysGetVersionNum(package.encode(), number), number[0]


def cann_version(lib: Any, ffi: Any, name: int) -> tuple[int, list[str]]:
    version = ffi.new("aclCANNPackageVersion *")
    code = lib.aclsysGetCANNVersion(name, version)
    fields = ("version", "majorVersion", "minorVersion", "releaseVersion", "patchVersion")
    return code, [ffi.string(getattr(version, field)).decode() for field in fields]


@pytest.mark.parametrize("null", range(3))
def test_the_version_of_the_interface(null: int, lib: Any, ffi: Any) -> None:
    parts = [ffi.new("int32_t *", -7) for _ in range(3)]
    assert lib.aclrtGetVersion(*parts) == 0
    assert [part[0] for part in parts] == [1, 17, 0]
    with_null = [ffi.NULL if index == null else part for index, part in enumerate(parts)]
    assert lib.aclrtGetVersion(*with_null) == INVALID_PARAM


# The text of version.info, the version in it, its number or the code.
VERSIONS = [
    ("Version=9.1.0\n", "9.1.0", 90100000),
    ("# a comment\nVersion=9.1.0 \r\nVersion=1.2.3\n", "9.1.0", 90100000),
    ("Version=8.5.0-beta.1", "8.5.0-beta.1", 80500000 - 199),
    ("Version=8.5.0-beta", "8.5.0-beta", 80500000 - 200),
    ("Version=9.2.0-alpha.3", "9.2.0-alpha.3", 90200000 - 297),
    ("Version=8.3.2.RC1", "8.3.2.RC1", 80302000 - 99),
    ("Version=8.3.2rc10", "8.3.2rc10", 80302000 - 90),
    ("Version=9.1.0-gamma.1", "9.1.0-gamma.1", INTERNAL),
    ("Version=9.1.0--rc.1", "9.1.0--rc.1", INTERNAL),
    ("Version=8.1.RC1", "8.1.RC1", INTERNAL),
    ("Version=9.1", "9.1", INTERNAL),
    ("Version=nine", "nine", INTERNAL),
    ("Version=999.1.1", "999.1.1", INTERNAL),
]


@pytest.mark.parametrize(("text", "version", "number"), VERSIONS)
def test_versions_of_packages(text: str, version: str, number: int, home: Any, lib: Any, ffi: Any) -> None:
    home("runtime", text)
    assert version_text(lib, ffi, "runtime") == (0, version)
    expected = (number, -7) if number == INTERNAL else (0, number)
    assert version_number(lib, ffi, "runtime") == expected


@pytest.mark.parametrize("text", ["", "Version=\n", "version=9.1.0\n"])
def test_files_without_a_version(text: str, home: Any, lib: Any, ffi: Any) -> None:
    home("runtime", text)
    assert version_text(lib, ffi, "runtime") == (INVALID_FILE, "")
    assert version_number(lib, ffi, "runtime") == (INVALID_FILE, -7)
    assert cann_version(lib, ffi, 1)[0] == INVALID_FILE


def test_packages_that_are_not_there(home: Any, lib: Any, ffi: Any) -> None:
    for package in ("runtime", "", "no-such-package"):
        assert version_text(lib, ffi, package) == (INVALID_FILE, "")
        assert version_number(lib, ffi, package) == (INVALID_FILE, -7)


@pytest.mark.simulator("internals", "the vendor's library has an installation")
def test_without_an_installation_the_newest_known_release_is_simulated(
    declared: Any, lib: Any, ffi: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    code, newest = version_text(lib, ffi, "runtime")
    assert code == 0
    known = {function.since for function in declared.functions if re.fullmatch(r"\d.*-beta\.\d", function.since)}
    assert newest == max(known)
    code, number = version_number(lib, ffi, "runtime")
    assert (code, number // 100_000) == (0, int(newest[0]) * 100 + int(newest[2]) - 1)  # a beta is below its release
    for package in ("bisheng_compiler", "hccl", "oam-tools", "ops-legacy"):
        assert version_text(lib, ffi, package) == (0, newest)
    assert {cann_version(lib, ffi, name)[1][0] for name in range(7)} == {newest.replace("-beta.", ".beta")}
    for package in ("driver", "firmware", "no-such-package", ""):
        assert version_text(lib, ffi, package)[0] == INVALID_FILE
    assert cann_version(lib, ffi, DRIVER)[0] == INVALID_FILE


ASK = """
    text, attributes, count = ffi.new("char[128]"), ffi.new("aclCannAttr **"), ffi.new("size_t *")
    codes = [lib.aclsysGetVersionStr(b"runtime", text), lib.aclGetCannAttributeList(attributes, count)]
    reported([codes, ffi.string(text).decode(), count[0]])
"""


@pytest.mark.simulator("internals", "the vendor's library has an installation")
@pytest.mark.parametrize("release", ["8.1.RC1", "8.5.0", "9.0.0-beta.2", "8.0.RC3.alpha003"])
def test_a_release_to_simulate(release: str, home: Any, child: Any) -> None:
    home("runtime", "Version=7.0.0\n")  # the user's choice comes first
    assert child(ASK, ASCEND_RT_SIM_CANN_VERSION=release) == [[0, 0], release, 3]


@pytest.mark.simulator("internals", "the vendor's library has an installation")
@pytest.mark.parametrize("release", ["nine", "9", "9.1.0 ", "9.1.0-gamma.1", "9." + "1" * 40, "9.1.0/../x"])
def test_what_is_no_release_is_said(release: str, child: Any) -> None:
    script = 'reported([lib.aclsysGetVersionStr(b"runtime", ffi.new("char[128]")), lib.aclrtSetDevice(0), text()])'
    code, other, words = child(script, ASCEND_RT_SIM_CANN_VERSION=release)
    assert 0 not in (code, other)
    assert f"ASCEND_RT_SIM_CANN_VERSION={release} is not a release" in words


def test_dashes_and_underlines_are_the_same(home: Any, lib: Any, ffi: Any) -> None:
    home("oam_tools", "Version=1.2.3")
    home("ops-legacy", "Version=4.5.6")
    assert version_text(lib, ffi, "oam-tools") == (0, "1.2.3")
    assert version_text(lib, ffi, "ops_legacy") == (0, "4.5.6")
    assert cann_version(lib, ffi, 4)[1][0] == "1.2.3"


def test_a_version_that_does_not_fit(home: Any, lib: Any, ffi: Any) -> None:
    home("runtime", "Version=" + "1" * 128)
    home("hccl", "Version=" + "1" * 127)
    assert version_text(lib, ffi, "runtime") == (INTERNAL, "")
    assert version_text(lib, ffi, "hccl") == (0, "1" * 127)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("9.1.0", ["9.1.0", "9", "1", "0", "0"]),
        ("9.1", ["9.1", "9", "1", "0", "0"]),
        ("8.5.0-beta.1", ["8.5.0.beta1", "8", "5", "0", "beta1"]),
        ("8.1.RC1.alpha2", ["8.1.RC1.alpha2", "8", "1", "RC1", "alpha2"]),
    ],
)
def test_the_parts_of_a_version(text: str, parts: list[str], home: Any, lib: Any, ffi: Any) -> None:
    home("runtime", f"Version={text}\n")
    assert cann_version(lib, ffi, 0) == (0, parts)


@pytest.mark.parametrize(
    ("name", "package"),
    list(enumerate(["runtime", "runtime", "bisheng-compiler", "hccl", "oam-tools", "ops-legacy", "ops-legacy"])),
)
def test_names_of_packages(name: int, package: str, home: Any, lib: Any, ffi: Any) -> None:
    assert cann_version(lib, ffi, name)[0] == INVALID_FILE
    home(package, "Version=7.6.5\n")
    assert cann_version(lib, ffi, name)[1] == ["7.6.5", "7", "6", "5", "0"]


def test_wrong_arguments(lib: Any, ffi: Any) -> None:
    version, text, number = ffi.new("aclCANNPackageVersion *"), ffi.new("char[]", 128), ffi.new("int32_t *")
    assert lib.aclsysGetCANNVersion(0, ffi.NULL) == INVALID_PARAM
    assert lib.aclsysGetCANNVersion(8, version) == INVALID_PARAM
    assert lib.aclsysGetCANNVersion(2**32 - 1, version) == INVALID_PARAM
    assert lib.aclsysGetVersionStr(ffi.NULL, text) == INVALID_PARAM
    assert lib.aclsysGetVersionStr(b"runtime", ffi.NULL) == INVALID_PARAM
    assert lib.aclsysGetVersionNum(ffi.NULL, number) == INVALID_PARAM
    assert lib.aclsysGetVersionNum(b"runtime", ffi.NULL) == INVALID_PARAM


# A copy of the library, which the package would not take for the vendor's.
ATTRIBUTES = """
    import ctypes
    copy = ctypes.CDLL(sys.argv[1])
    names, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_size_t(9)
    ask_list, ask = copy.aclGetCannAttributeList, copy.aclGetCannAttribute
    results = [ask_list(ctypes.byref(names), ctypes.byref(count)), names[: count.value] if names else None]
    for attribute in (0, 1, 2, 3, -1):
        value = ctypes.c_int32(-7)
        results.append([ask(attribute, ctypes.byref(value)), value.value])
    results += [ask_list(None, ctypes.byref(count)), ask_list(ctypes.byref(names), None), ask(0, None)]
    reported(results)
"""
FEATURES = """
{"BF16": {"runtimeVersion": "7.1"}, "INF_NAN": {"runtimeVersion": "7.1"}, "JIT_COMPILE": {"runtimeVersion": "6.4"}}
"""


@pytest.fixture
def installed(tmp_path: Path, backend: str, child: Any) -> Any:
    """Return a function that asks a copy of the simulator in a toolkit's directories for its attributes."""
    if backend != "sim":
        pytest.skip("the vendor's library has an installation")

    def ask(features: str | None, runtime: str | None, product: str = "910B") -> Any:
        libraries = tmp_path / "x86_64-linux" / "lib64"
        libraries.mkdir(parents=True)
        copy = shutil.copy(library().path, libraries)
        if features is not None:
            config = tmp_path / "x86_64-linux" / "data" / "ascendcl_config"
            config.mkdir(parents=True)
            (config / "swFeatureList.json").write_text(features, encoding="utf-8")
        if runtime is not None:
            info = tmp_path / "share" / "info" / "runtime"
            info.mkdir(parents=True)
            (info / "version.info").write_text(runtime, encoding="utf-8")
        return child(ATTRIBUTES, copy, ASCEND_RT_SIM_PRODUCT=product)

    return ask


@pytest.mark.parametrize(
    ("features", "runtime", "code"),
    [
        (None, "Version=9.1.0", INVALID_FILE),
        ("{", "Version=9.1.0", PARSE_FILE),
        (FEATURES, None, INTERNAL),
        (FEATURES, "Version=nine", INTERNAL),
    ],
)
def test_attributes_with_half_an_installation(
    features: str | None, runtime: str | None, code: int, installed: Any
) -> None:
    listed, names, *values, null, null_count, null_value = installed(features, runtime)
    assert (listed, names) == (code, None)
    assert values == [[code, -7]] * 5  # the attribute is looked at last
    assert (null, null_count, null_value) == (INVALID_PARAM,) * 3


@pytest.mark.parametrize("product", PRODUCTS)
def test_without_an_installation_all_features_of_the_product_are_there(
    product: str, installed: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path_factory.mktemp("home")))  # features do not depend on it
    expected = [INF_NAN, BF16, JIT_COMPILE] if product in ("910B", "910C", "950") else [JIT_COMPILE]
    listed, names, *values, null, null_count, null_value = installed(None, None, product)
    assert (listed, names) == (0, expected)
    assert values[:3] == [[0, int(attribute in expected)] for attribute in (INF_NAN, BF16, JIT_COMPILE)]
    assert values[3:] == [[INVALID_PARAM, -7]] * 2
    assert (null, null_count, null_value) == (INVALID_PARAM,) * 3


@pytest.mark.parametrize(
    ("product", "runtime", "expected"),
    [
        ("910B", "9.1.0", [INF_NAN, BF16, JIT_COMPILE]),
        ("910C", "7.1.0", [INF_NAN, BF16, JIT_COMPILE]),
        ("910B", "7.0.0", [JIT_COMPILE]),
        ("910B", "6.3", []),
        ("310P", "9.1.0", [JIT_COMPILE]),
    ],
)
def test_attributes(product: str, runtime: str, expected: list[int], installed: Any) -> None:
    listed, names, *values, _, _, _ = installed(FEATURES, f"Version={runtime}\n", product)
    assert (listed, names) == (0, expected)
    assert values[:3] == [[0, int(attribute in expected)] for attribute in (INF_NAN, BF16, JIT_COMPILE)]
    assert values[3:] == [[INVALID_PARAM, -7]] * 2
