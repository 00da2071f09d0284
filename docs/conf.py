# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the guide and the reference: ``sphinx-build -W -n docs docs/_build``.

Names of Python and numpy link to their documents if these can be reached. Nothing else needs a network.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import zlib
from enum import EnumMeta
from importlib.metadata import metadata
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import ascend_rt
from ascend_rt import Library, __version__, enums
from ascend_rt import cli as command_line
from ascend_rt._native import in_c

# Declarations instead of the functions in C, which have no types.
assert "ascend_rt.event" not in sys.modules, "a module that declares such functions is already imported"
in_c.in_c = lambda declared: declared

HERE = Path(__file__).resolve().parent
PACKAGE = Path(ascend_rt.__file__).parent

project = "ascend_rt"
author = "the authors of ascend_rt"
copyright = author
version = release = __version__
BRANCH = "main"
URLS = dict(entry.split(", ", 1) for entry in metadata("ascend_rt").get_all("Project-URL") or [])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"ascend_rt {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["filter.js"]
html_favicon = "_static/favicon.svg"
if "Repository" in URLS:  # "Edit this page"
    html_theme_options = {
        "source_repository": URLS["Repository"],
        "source_branch": BRANCH,
        "source_directory": "docs/",
    }

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- names of Python and numpy ----------------------------------------------------------------------------------------

# Without a network an inventory without names is read instead, which is not worth a warning.
_no_names = tempfile.NamedTemporaryFile(suffix=".inv")  # noqa: SIM115  (until the end of the build)
_no_names.write(
    b"# Sphinx inventory version 2\n# Project: none\n# Version: none\n"
    b"# The remainder of this file is compressed using zlib.\n" + zlib.compress(b"")
)
_no_names.flush()

intersphinx_timeout = 5
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", (None, _no_names.name)),
    "numpy": ("https://numpy.org/doc/stable", (None, _no_names.name)),
}

# --- Markdown: what also reads well on a repository page --------------------------------------------------------------

myst_enable_extensions = ["alert"]  # boxes: > [!WARNING]
myst_heading_anchors = 4  # links to headings, written as on a repository page

# --- docstrings -------------------------------------------------------------------------------------------------------

default_role = "py:obj"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_param = False  # types of parameters are prose: "int, default 0"
napoleon_custom_sections = [("Attributes", "params_style")]  # several to a line are allowed
napoleon_use_rtype = False

nitpick_ignore_regex = [
    # Documented elsewhere; links if their inventories can be reached.
    (
        r"py:.*",
        r"(abc|asyncio|collections|contextlib|ctypes|enum|math|np|numpy|os|types|typing|typing_extensions|uuid)\..*|UUID",
    ),
    # Aliases, variables and types for type checkers: the text beside them says what they are.
    (
        r"py:class",
        r"AbstractContextManager|AnyStream|Attempt|CaptureFailure|CaptureMode|Foreign(Event|Stream)|HostMemory|Operand|"
        r"Operation|Type",
    ),
    (
        r"py:(class|obj)",
        r"(ascend_rt\.(pinned_)?memory\.)?(ArrayLike|DTypeLike|ItemT|KnownDType|NDArray|ScalarT|Shape)",
    ),
]


# --- links to the sources ---------------------------------------------------------------------------------------------


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the repository shows an object; for one whose body is in C, its declaration in Python."""
    if domain != "py" or "Repository" not in URLS:
        return None
    place = _place_of(resolve_name(f"{info['module']}:{info['fullname']}"))
    if place is None:
        return None
    path, first, last = place
    return f"{URLS['Repository']}/blob/{BRANCH}/{path}#L{first}-L{last}"


def _place_of(found: Any) -> tuple[str, int, int] | None:
    """Return file, first and last line of a class, function, method or property; None for other objects."""
    function = getattr(found, "fget", None) or getattr(found, "__func__", None)
    found = inspect.unwrap(function or found)
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return None
    lines, first = inspect.getsourcelines(found)
    path = Path(inspect.getfile(found)).relative_to(PACKAGE)
    return (path if path.parts[0] == "backends" else PACKAGE.name / path).as_posix(), first, first + len(lines) - 1


def setup(app: Sphinx) -> None:
    """Connect what this project needs beyond the extensions."""
    app.add_directive("command-help", CommandHelp)
    app.add_directive("enumerations", Enumerations)
    app.connect("autodoc-process-bases", _without_inner_bases)
    app.connect("autodoc-process-signature", _without_arguments_of_exceptions)
    app.connect("autodoc-skip-member", _is_field_of_tuple)
    # Before intersphinx: copy is a function here, and a module of Python.
    app.connect("missing-reference", _look_in_the_package, priority=400)
    app.connect("source-read", _links_within_the_site)


class CommandHelp(SphinxDirective):
    """``.. command-help:: demo`` shows what ``ascend-rt demo --help`` prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the help as a block of text."""
        text = command_line.help_of(self.arguments[0])
        return [nodes.literal_block(text, text, language="text")]


class Enumerations(SphinxDirective):
    """``.. enumerations::`` lists those of :mod:`ascend_rt.enums` with their values, a paragraph for each."""

    def run(self) -> list[nodes.Node]:
        """Return the list; entries for a thousand members would fill every table of contents."""
        lines = [".. py:module:: ascend_rt.enums", ""]
        for name, found in vars(enums).items():
            if isinstance(found, EnumMeta) and found.__module__ == enums.__name__:
                members = ", ".join(f"``{member} = {value}``" for member, value in found.__members__.items())
                lines += [f".. py:class:: {name}", "   :no-contents-entry:", "", f"   {found.__doc__}", ""]
                lines += [f"   {members}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def _is_field_of_tuple(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out "Alias for field number 0": the class describes its fields."""
    return True if isinstance(member, type(Library.reason)) else None


def _without_inner_bases(app: Sphinx, name: str, found: type, options: object, bases: list[type]) -> None:
    """Show no bases that only hold what hot methods need, or what classes share."""
    inner = ("ascend_rt._native.handles", "ascend_rt._memory.receiver")
    bases[:] = [base for base in bases if base.__module__ not in inner] or [object]


def _without_arguments_of_exceptions(
    app: Sphinx, what: str, name: str, found: object, options: object, signature: str | None, returns: str
) -> tuple[str, str] | None:
    """Show no arguments of exceptions: programs catch them, and the package makes them."""
    return ("", "") if what == "exception" and signature else None


def _look_in_the_package(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Let docstrings of submodules name what the package itself offers: ``Stream`` for ``ascend_rt.Stream``."""
    if node.get("refdomain") != "py" or node.get("py:module") in (None, "ascend_rt"):
        return None
    target, document = f"ascend_rt.{node['reftarget']}", node["refdoc"]
    return env.domains.python_domain.resolve_xref(env, document, app.builder, node["reftype"], target, node, content)


def _links_within_the_site(app: Sphinx, document: str, source: list[str]) -> None:
    """Lead links to examples to the page that shows them, and keep only the text of links to directories.

    Other files are copied beside the pages.
    """
    here = HERE.joinpath(document).parent

    def adapted(link: re.Match[str]) -> str:
        if here.joinpath(link[2]).is_dir():
            return link[1]
        if example := re.fullmatch(r"\.\./examples/(\w+)\.py", link[2]):
            return f"[{link[1]}](programs.md#{example[1]}py)"
        return link[0]

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)\)", adapted, source[0])
