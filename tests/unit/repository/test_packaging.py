# SPDX-License-Identifier: Apache-2.0
"""The build back end and the package's description; that whole builds and installs work, ``.ci/run`` shows."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from ascend_rt import __version__

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Return the back end, over a meson-python that builds a small wheel and remembers what it got and found."""
    pytest.importorskip("wheel")
    meson_python = ModuleType("mesonpy")

    def build(directory: str, settings: object, metadata_directory: object) -> str:
        meson_python.settings = settings
        meson_python.found = {name: os.environ.get(name, "") for name in ("NINJA", "PATH")}
        name = f"ascend_rt-{__version__}-cp313-abi3-linux_x86_64.whl"
        info = f"ascend_rt-{__version__}.dist-info"
        files = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: ascend_rt\nVersion: {__version__}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp313-abi3-linux_x86_64\n",
        }
        record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
        with zipfile.ZipFile(Path(directory, name), "w") as wheel:
            for path, text in (files | {f"{info}/RECORD": record}).items():
                wheel.writestr(path, text)
        return name

    for name in ("build_sdist", "get_requires_for_build_sdist", "get_requires_for_build_wheel"):
        setattr(meson_python, name, None)
    meson_python.get_requires_for_build_editable = lambda settings: []
    meson_python.build_wheel = meson_python.build_editable = build
    monkeypatch.setitem(sys.modules, "mesonpy", meson_python)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # changed by the back end
    monkeypatch.setenv("NINJA", "")
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "tools" / "build_backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def commands(backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a directory, not on PATH, with the commands of the build requirements."""
    directory = tmp_path / "environment" / "bin"
    directory.mkdir(parents=True)
    for name in ("meson", "ninja"):
        (directory / name).write_text(f'#!/bin/sh\necho {name} "$@"\n', encoding="utf-8")
        (directory / name).chmod(0o755)
    monkeypatch.setattr(backend, "_command", lambda name: directory / name)
    return directory


@pytest.mark.usefixtures("commands")
def test_a_wheel_is_for_the_oldest_python_whatever_builds_it(backend: ModuleType, tmp_path: Path) -> None:
    name = backend.build_wheel(str(tmp_path))
    assert name == f"ascend_rt-{__version__}-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert b"Tag: cp310-abi3-linux_x86_64" in wheel.read(f"ascend_rt-{__version__}.dist-info/WHEEL")
    assert [path.name for path in tmp_path.glob("*.whl")] == [name]


@pytest.mark.parametrize("build", ["build_wheel", "build_editable"])
def test_the_commands_are_found_without_activation(
    backend: ModuleType, commands: Path, tmp_path: Path, build: str
) -> None:
    getattr(backend, build)(str(tmp_path))
    assert sys.modules["mesonpy"].found["PATH"].split(os.pathsep)[0] == str(commands)


@pytest.mark.parametrize("build", ["build_wheel", "build_editable"])
@pytest.mark.parametrize("given", [{}, {"setup-args": "-Dstrict=true"}, {"setup-args": ["-Dstrict=true", "-Dx=y"]}])
def test_the_limited_api_is_for_pythons_with_the_gil(
    backend: ModuleType,
    commands: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build: str,
    given: dict[str, str | list[str]],
) -> None:
    def arguments_for(has_no_gil: int) -> list[str]:
        """Return what meson is started with, as meson-python reads it: a text or a list of texts."""
        monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": has_no_gil}.get)
        getattr(backend, build)(str(tmp_path), given)
        arguments = sys.modules["mesonpy"].settings.get("setup-args", [])
        return [arguments] if isinstance(arguments, str) else arguments

    with_gil = arguments_for(0)
    assert "-Dpython.allow_limited_api=false" not in with_gil
    assert arguments_for(1) == ["-Dpython.allow_limited_api=false", *with_gil]


def test_an_editable_install_outlives_the_environment_of_its_build(
    backend: ModuleType, commands: Path, tmp_path: Path
) -> None:
    backend.build_editable(str(tmp_path))
    ninja = sys.modules["mesonpy"].found["NINJA"]

    def run() -> str:
        return subprocess.run([ninja, "--version"], capture_output=True, text=True, check=True).stdout

    assert run() == "ninja --version\n"
    (commands / "ninja").unlink()
    assert run() == ""


def test_an_older_python_is_refused() -> None:
    source = (ROOT / "tools" / "build_backend.py").read_text(encoding="utf-8")
    code = "import sys; sys.version_info = (3, 9, 18); exec(sys.stdin.read())"
    done = subprocess.run([sys.executable, "-c", code], input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("ascend_rt needs Python 3.10 or newer")


def found(pattern: str, text: str) -> list[str]:
    return re.findall(pattern, text, re.MULTILINE)


def test_every_place_names_the_same_oldest_python() -> None:
    backend = (ROOT / "tools" / "build_backend.py").read_text(encoding="utf-8")
    meson = (ROOT / "ascend_rt" / "_native" / "meson.build").read_text(encoding="utf-8")
    assert found(r'^OLDEST_PYTHON = "cp(\w+)"', backend) == ["310"]
    assert set(found(r"limited_api': '([\d.]+)'", meson)) == {"3.10"}
    assert found(r'^requires-python = ">=([\d.]+)"', PYPROJECT) == ["3.10"]
    assert found(r'^build = "(\w+)-\*"', PYPROJECT) == ["cp310"]
    assert found(r'Python :: (3\.\d+)"', PYPROJECT)[0] == "3.10"


def test_every_place_names_the_same_version() -> None:
    places: dict[str, Callable[[str], list[str]]] = {
        "pyproject.toml": lambda text: found(r'^version = "(.*)"', text),
        "measure/pyproject.toml": lambda text: found(r'^version = "(.*)"', text),
        "meson.build": lambda text: found(r"^ +version: '(.*)'", text),
        "CITATION.cff": lambda text: found(r"^version: (.*)", text),
        "backends/pkgconfig/ascend_rt.pc": lambda text: found(r"^Version: (.*)", text),
    }
    for name, versions in places.items():
        assert versions((ROOT / name).read_text(encoding="utf-8")) == [__version__], name


def test_no_system_is_claimed_that_the_readme_does_not_name() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    systems = found(r'"Operating System :: (?:.* :: )?(\w+)"', PYPROJECT)
    assert systems
    assert all(f"You need {system}" in readme for system in systems)


def test_every_source_names_its_licence() -> None:
    line = re.compile(r"\A(#!.*\n)?(#|//|/\*) SPDX-License-Identifier: Apache-2\.0\b")
    rooms = ("ascend_rt", "backends", "benchmarks", "codegen", "examples", "measure", "tests", "tools")
    programs = ("tests/clients/", "tests/torch/programs/")  # like those of users
    sources = [
        path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in (".py", ".c", ".cpp", ".h")
    ]
    names = {path: path.relative_to(ROOT).as_posix() for path in sources}
    unnamed = [name for path, name in names.items() if not line.match(path.read_text(encoding="utf-8"))]
    assert [name for name in unnamed if not name.startswith(programs)] == []
    assert any(name.startswith(programs) for name in unnamed)  # a missing line is seen


@pytest.mark.parametrize("path", ["build_ffi.py", "meson.build", "tools/build_backend.py", "measure/pyproject.toml"])
def test_an_image_gets_what_the_build_needs(path: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert (ROOT / path).is_file()
    # A pattern matches names from the root, and with a name everything below; one that ends with / only a directory.
    names = [path, *(f"{parent}/" for parent in Path(path).parents if parent.name)]
    names += [name.removesuffix("/") for name in names[1:]]
    assert [pattern for pattern in ignored for name in names if fnmatch(name, pattern)] == []
