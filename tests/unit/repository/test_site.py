# SPDX-License-Identifier: Apache-2.0
"""The guide as HTML: links between its pages, to sources, and to the documents of Python and numpy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from importlib.metadata import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.simulator("independent")

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
REPOSITORY = dict(entry.split(", ", 1) for entry in metadata("ascend_rt").get_all("Project-URL") or [])["Repository"]


# --- dead links ------------------------------------------------------------------------------------------------------


def dead_links(site: Path, root: Path) -> list[tuple[str, str]]:
    spec = spec_from_file_location("dead_links", DOCS / "dead_links.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.dead_links(site, "https://example.org/us", root))


SOURCE = "https://example.org/us/blob/main/a.py"
LINKS = {
    "#here": True,
    "#nowhere": False,
    "index.html": True,
    "other.html#there": True,
    "other.html#old-name": True,
    "other.html#f%C3%BCr": True,
    "other.html#here": False,
    "absent.html": False,
    "sub/": True,
    "sub/index.html#here": False,
    "style.css?v=1": True,
    "absent.css": False,
    "https://docs.python.org/3/library/absent.html#absent": True,
    "mailto:us@example.org": True,
    SOURCE: True,
    f"{SOURCE}#L1-L2": True,
    f"{SOURCE}#L2-L3": False,
    f"{SOURCE}#a-heading": True,
    "https://example.org/us/blob/main/b.py": False,
    "https://example.org/us/tree/main/docs": True,
    "https://example.org/us/edit/main/absent.rst": False,
    "https://example.org/us/issues": True,
}


@pytest.mark.parametrize(("target", "leads_somewhere"), LINKS.items())
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, target: str, leads_somewhere: bool) -> None:
    site, root = tmp_path / "site", tmp_path / "root"
    (site / "sub").mkdir(parents=True)
    (root / "docs").mkdir(parents=True)
    (root / "a.py").write_text("one\ntwo\n", encoding="utf-8")
    (site / "style.css").touch()
    (site / "index.html").write_text(f'<p id="here"><a href="{target}">x</a></p>', encoding="utf-8")
    (site / "other.html").write_text('<p id="there"></p><a name="old-name"></a><p id="für">', encoding="utf-8")
    (site / "sub" / "index.html").touch()
    assert dead_links(site, root) == ([] if leads_somewhere else [("index.html", target)])


# --- links to sources, and to other projects -------------------------------------------------------------------------

# The project's configuration, for one page, with inventories instead of a network.
CONFIGURATION = """
__file__ = {conf!r}
exec(compile(open(__file__, encoding="utf-8").read(), __file__, "exec"))
html_favicon, html_css_files, html_js_files, html_static_path = None, [], [], []
intersphinx_mapping = {{
    name: (url, ({inventories!r} + "/" + name + ".inv", *locations[1:]))
    for name, (url, locations) in intersphinx_mapping.items()
}}
"""
PAGE = """
Page
====

:class:`int`, :exc:`TimeoutError`, :mod:`copy`, :class:`numpy.ndarray`

.. currentmodule:: ascend_rt
.. autofunction:: copy
.. autofunction:: ascend_rt.versions.since
.. autoclass:: Timeout
   :no-members:
.. automethod:: Event.from_handle
.. automethod:: Event.record
.. autoproperty:: Event.is_done
.. autofunction:: ascend_rt.sim.held
"""
INVENTORIES = {
    "python": (
        "int py:class 1 library/functions.html#$ -",
        "TimeoutError py:exception 1 library/exceptions.html#$ -",
        "copy py:module 0 library/copy.html#module-$ -",
    ),
    "numpy": ("numpy.ndarray py:class 1 reference/generated/numpy.ndarray.html#$ -",),
}
DOCUMENTS = {
    "int": "https://docs.python.org/3/library/functions.html#int",
    "TimeoutError": "https://docs.python.org/3/library/exceptions.html#TimeoutError",
    "copy": "https://docs.python.org/3/library/copy.html#module-copy",
    "numpy.ndarray": "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html#numpy.ndarray",
}


def build(directory: Path) -> str:
    """Return the page as HTML; warnings are errors."""
    pytest.importorskip("furo", reason="needs the extra docs")
    pytest.importorskip("myst_parser", reason="needs the extra docs")
    pytest.importorskip("sphinx_copybutton", reason="needs the extra docs")
    (directory / "conf.py").write_text(
        CONFIGURATION.format(conf=str(DOCS / "conf.py"), inventories=str(directory)), encoding="utf-8"
    )
    (directory / "index.rst").write_text(PAGE, encoding="utf-8")
    site = directory / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", str(directory), str(site)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASCEND_RT_BACKEND": "sim"})
    assert (done.returncode, done.stderr) == (0, "")
    return (site / "index.html").read_text(encoding="utf-8")


def write_inventories(directory: Path) -> None:
    for project, names in INVENTORIES.items():
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: 1\n# compressed using zlib.\n"
        names_of = zlib.compress("".join(f"{name}\n" for name in names).encode())
        (directory / f"{project}.inv").write_bytes(head.encode() + names_of)


@pytest.mark.full
def test_names_of_python_and_numpy_lead_to_their_documents(tmp_path: Path) -> None:
    write_inventories(tmp_path)
    page = build(tmp_path)
    for name, url in DOCUMENTS.items():
        assert re.search(rf'<a class="reference external" href="{re.escape(url)}"[^>]*><code[^>]*><[^>]*>{name}<', page)
    assert page.count(DOCUMENTS["copy"]) == 1  # in our docstrings the name is that of our function


@pytest.mark.full
def test_without_inventories_names_are_no_links_and_objects_lead_to_their_declarations(tmp_path: Path) -> None:
    page = build(tmp_path)
    assert "https://docs.python.org" not in page
    sources = re.findall(rf'href="{re.escape(REPOSITORY)}/blob/main/(\S+\.py)#L(\d+)-L(\d+)"', page)
    shown = [
        (ROOT / path).read_text(encoding="utf-8").splitlines()[int(first) - 1 : int(last)]
        for path, first, last in sources
    ]
    assert [lines[0].strip() for lines in shown] == [
        "def copy(dst: Operand, src: Operand) -> None:",
        "def since(name: str) -> str | None:",
        "class Timeout(AclError, TimeoutError):",
        "@classmethod",
        "def record(self, stream: Stream | None = None) -> None:",  # whose body is in C
        "@property",
        "@block",
    ]
    assert all(lines[-1].strip() and lines[0] != lines[-1] for lines in shown)
