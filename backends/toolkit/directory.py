# SPDX-License-Identifier: Apache-2.0
"""Making the directory of the simulated toolkit.

It consists of small files and of links to the package, which a wheel cannot hold. The package may be in a read-only
place, so the directory is in the user's cache, and is made when it is first needed. Each place of the package has one.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator

from ascend_rt._generated.functions import NEWEST
from ascend_rt.backends import include_directory
from ascend_rt.backends.toolkit import layout

_RELEASE = "ASCEND_RT_SIM_CANN_VERSION"


def home() -> str:
    """Return the directory for ``ASCEND_HOME_PATH``, and make the parts of it that are missing or stale.

    Raises
    ------
    OSError
        Neither the user's cache nor the directory of temporary files can be written.
    """
    asked = os.environ.get(_RELEASE, "")
    # The library itself says what is wrong with a release; here it only becomes part of a path.
    release = asked if re.fullmatch(r"\w[\w.-]*", asked) else NEWEST
    place = hashlib.sha256(os.fsencode(include_directory())).hexdigest()[:8]
    directory = os.path.join(_root(), place, release, f"cann-{release}")
    for name in layout.DIRECTORIES:
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    for name, target in layout.links():
        _link(os.path.join(directory, name), target)
    for name, mode, text in layout.texts(directory, release, {_RELEASE: asked} if asked == release else {}):
        _write(os.path.join(directory, name), mode, text)
    # As beside an installation. MindSpore cuts the path of a library after this name, and looks for others there.
    _link(os.path.join(os.path.dirname(directory), "cann"), os.path.basename(directory))
    return directory


def _root() -> str:
    """Return the first directory that this user can write and no other."""
    faults = []
    for root in _roots():
        if not os.path.isabs(root):
            # As without HOME, for a user that the system does not list; a relative XDG_CACHE_HOME is invalid.
            faults.append(f"{root}: not an absolute path")
            continue
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            status = os.lstat(root)
        except OSError as error:
            faults.append(f"{root}: {error.strerror}")
            continue
        is_private = status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_IWOTH
        if is_private and os.access(root, os.W_OK):
            return root
        faults.append(f"{root}: not a directory that belongs to this user alone")
    raise OSError(f"the simulated toolkit has no place; set XDG_CACHE_HOME to a directory for it ({'; '.join(faults)})")


def _roots() -> Iterator[str]:
    yield os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ascend_rt")
    import tempfile  # imports much, and is rarely needed

    yield os.path.join(tempfile.gettempdir(), f"ascend_rt-{os.getuid()}")


def _link(path: str, target: str) -> None:
    if os.path.islink(path) and os.readlink(path) == target:
        return
    # Another process may do the same, or use the link.
    temporary = f"{path}.{os.getpid()}"
    os.symlink(target, temporary)
    os.replace(temporary, path)


def _content_of(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _write(path: str, mode: int, text: str) -> None:
    content = os.fsencode(text)
    if _content_of(path) == content:
        return
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    os.replace(temporary, path)
