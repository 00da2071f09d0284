# SPDX-License-Identifier: Apache-2.0
"""List the links of the built guide that lead nowhere: ``python docs/dead_links.py SITE``.

It follows links between the pages, to files beside them, and to files and lines of the repository, which it looks up in
this checkout. Nothing is asked of the network. Exit status: 0 if every link leads somewhere.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import metadata
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
_OURS = re.compile(
    r"/(?:blob|tree|edit|raw)/main/(?P<path>[^#?]*)(?:\?[^#]*)?(?:#L(?P<first>\d+)-L(?P<last>\d+)|#[^L].*)?"
)


class Page(HTMLParser):
    """The targets of the links of a page, and the anchors that others can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        named = {name: value or "" for name, value in attributes}
        self.anchors.add(named.get("id", ""))
        if tag == "a":
            self.anchors.add(named.get("name", ""))
        self.targets += [named[name] for name in ("href", "src") if name in named]


def dead_links(site: Path, repository: str, root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Yield page and target of each link that leads nowhere.

    Parameters
    ----------
    site : Path
        The output of ``sphinx-build``.
    repository : str
        The address under which the files of ``root`` are shown.
    root : Path
        The checkout.
    """
    pages = {path: Page(path) for path in sorted(site.resolve().rglob("*.html"))}
    for path, page in pages.items():
        for target in dict.fromkeys(page.targets):
            if target.startswith(f"{repository}/"):
                leads = _is_in_checkout(target.removeprefix(repository), root)
            elif re.match(r"[a-z]+:", target):
                leads = True
            else:
                leads = _is_in_site(path, target, pages)
            if not leads:
                yield str(path.relative_to(site.resolve())), target


def _is_in_site(page: Path, target: str, pages: dict[Path, Page]) -> bool:
    file, _, anchor = target.partition("#")
    path = (page.parent / unquote(file.partition("?")[0])).resolve() if file else page
    if path.is_dir():
        path /= "index.html"
    return unquote(anchor) in pages[path].anchors if path in pages else path.is_file()


def _is_in_checkout(target: str, root: Path) -> bool:
    found = _OURS.fullmatch(target)
    if found is None:  # issues, for instance
        return not re.match("/(blob|tree|edit|raw)/", target)
    path = root / unquote(found["path"])
    if found["first"] is None:
        return path.exists()
    return path.is_file() and int(found["last"]) <= len(path.read_text(encoding="utf-8").splitlines())


def main() -> int:
    """List them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the output of sphinx-build")
    site = parser.parse_args().site
    if not (site / "index.html").is_file():
        parser.error(f"{site} has no index.html; run sphinx-build docs {site}")
    urls = dict(entry.split(", ", 1) for entry in metadata("ascend_rt").get_all("Project-URL") or [])
    dead = list(dead_links(site, urls["Repository"]))
    for page, target in dead:
        print(f"{page}: {target}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
