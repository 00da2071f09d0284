# SPDX-License-Identifier: Apache-2.0
"""Picture pages of the built guide in three widths and both themes: ``python docs/screenshots.py SITE DIRECTORY``.

Needs Chromium. A page is shown in a frame, because a window cannot be as narrow as a telephone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

PAGES = ("index", "streams_events", "coming_from", "coverage", "performance", "reference/events")
WIDTHS = {"phone": 390, "laptop": 1280, "desktop": 1920}
THEMES = {"dark": 0, "light": 1}  # Blink's numbers


def main() -> int:
    """Write one PNG for each page, width and theme."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the output of sphinx-build")
    parser.add_argument("directory", type=Path, help="for the pictures; it is made")
    parser.add_argument("--pages", nargs="+", default=PAGES)
    parser.add_argument("--height", type=int, default=1400)
    parser.add_argument("--from", dest="top", type=int, default=0, metavar="PIXEL", help="begin so far down the page")
    arguments = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed")
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for page, width, theme in product(arguments.pages, WIDTHS, THEMES):
        source = (arguments.site / f"{page}.html").resolve()
        target = arguments.directory / f"{page.replace('/', '-')}-{width}-{theme}.png"
        picture(browser, source, target, (WIDTHS[width], arguments.height), arguments.top, THEMES[theme])
        print(target)
    return 0


def picture(browser: str, page: Path, target: Path, size: tuple[int, int], top: int, theme: int) -> None:
    """Picture what is below `top` of one page."""
    width, height = size
    frame = (
        f'<iframe src="{page.as_uri()}" width="{width}" height="{top + height}" style="border:0;margin-top:-{top}px">'
    )
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(f'<!doctype html><meta name="color-scheme" content="light dark"><body style="margin:0">{frame}')
        file.flush()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
        options += [f"--window-size={max(width, 500)},{height}", f"--blink-settings=preferredColorScheme={theme}"]
        command = [browser, *options, f"--screenshot={target}", Path(file.name).as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=120)


if __name__ == "__main__":
    sys.exit(main())
