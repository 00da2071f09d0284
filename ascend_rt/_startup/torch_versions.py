# SPDX-License-Identifier: Apache-2.0
"""Versions of torch and torch_npu with which :mod:`ascend_rt.torch` works."""

from __future__ import annotations

import re
import runpy
from importlib import metadata, util
from pathlib import Path

from ascend_rt.errors import LibraryError

SUPPORTED = ("2.7", "2.8", "2.9", "2.10", "2.12", "2.13", "2.14")  # docs/torch.md has what ran with each


def require_supported_pair() -> None:
    """Check the installed versions, before torch_npu is imported: with another torch its import fails or crashes.

    Raises
    ------
    LibraryError
        The version is not supported, or the two do not belong together.
    """
    spec = util.find_spec("torch")  # which imports nothing: torch itself imports torch_npu
    if spec is not None and spec.origin is not None:
        of_torch = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
        check_pair(of_torch["__version__"], metadata.version("torch_npu"))


def check_pair(torch: str, torch_npu: str) -> None:
    """Raise LibraryError unless the two versions are a supported pair.

    Parameters
    ----------
    torch, torch_npu : str
        Versions, such as ``"2.10.0+cpu"`` and ``"2.10.0.post4"``.
    """
    release = _release(torch_npu)
    if release not in SUPPORTED:
        raise LibraryError(
            f"torch_npu {torch_npu} does not run on the simulator: supported are torch_npu {_listed(SUPPORTED)}, each "
            "with the torch of the same number"
        )
    if _release(torch) != release:
        raise LibraryError(
            f"torch {torch} does not belong to torch_npu {torch_npu}: install torch {release}, or the torch_npu of "
            f"torch {_release(torch)}"
        )


def _release(version: str) -> str:
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def _listed(versions: tuple[str, ...]) -> str:
    return ", ".join(versions[:-1]) + f" and {versions[-1]}"
