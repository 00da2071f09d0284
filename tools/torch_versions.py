#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of PyTorch's adapter with other versions of torch and torch_npu.

    python tools/torch_versions.py 2.8 2.10          # these
    python tools/torch_versions.py                   # all that are supported
    python tools/torch_versions.py 2.14 -- --full    # with options of pytest
    python tools/torch_versions.py --install 2.14    # only the environment, which is kept for the tests

Each version gets an environment below build/torch, with the packages of the Python that runs this script, among them
ascend_rt and pytest; only torch and torch_npu differ. The package index may have torch for CUDA, which takes gigabytes:
give the index of builds for the CPU with --index-url.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PAIRS = {
    "2.7": ("2.7.1", "2.7.1.post11"),
    "2.8": ("2.8.0", "2.8.0.post5"),
    "2.9": ("2.9.0", "2.9.0.post9"),
    "2.10": ("2.10.0", "2.10.0.post4"),
    "2.12": ("2.12.0", "2.12.0.post3"),
    "2.13": ("2.13.0", "2.13.0"),
    "2.14": ("2.14.0", "2.14.0"),
}


def main() -> int:
    """Test the versions that the command line names; return 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"of {', '.join(PAIRS)}; all without one")
    parser.add_argument("--index-url", help="where pip looks for torch")
    parser.add_argument("--install", action="store_true", help="make the environments, and run no tests")
    own, options = _split(sys.argv[1:])
    arguments = parser.parse_args(own)
    unknown = set(arguments.versions) - set(PAIRS)
    if unknown:
        parser.error(f"no version {', '.join(sorted(unknown))}; there are {', '.join(PAIRS)}")
    versions = arguments.versions or list(PAIRS)
    if arguments.install:
        for version in versions:
            with contextlib.suppress(subprocess.CalledProcessError):  # which the tests report
                _environment(version, arguments.index_url)
        return 0
    results = {version: _test(version, arguments.index_url, options) for version in versions}
    for version, status in results.items():
        text = "not installed" if status is None else "passed" if status == 0 else f"failed with status {status}"
        print(f"torch_npu {PAIRS[version][1]}: {text}")
    return int(any(results.values()))


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _test(version: str, index_url: str | None, options: list[str]) -> int | None:
    """Return the status of pytest; None if the package index does not have the pair for this Python."""
    try:
        python = _environment(version, index_url)
    except subprocess.CalledProcessError:
        return None
    print(f"torch_npu {PAIRS[version][1]}:", flush=True)
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-n", "auto", "tests/torch", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _environment(version: str, index_url: str | None) -> Path:
    """Return the Python of an environment with the pair, which is made if it is not there."""
    torch, torch_npu = PAIRS[version]
    directory = ROOT / "build" / "torch" / f"{version}-python{sysconfig.get_python_version()}"
    python = directory / "bin" / "python"
    ready = directory / "ready"
    if not ready.exists():
        venv.create(directory, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        index = ["--index-url", index_url] if index_url else []
        subprocess.run([*install, *index, f"torch=={torch}"], check=True)
        # Older ones demand a build of torch that only its developers' index has.
        subprocess.run([*install, "--no-deps", f"torch_npu=={torch_npu}"], check=True)
        of_others = Path(sysconfig.get_path("purelib", vars={"base": str(directory), "platbase": str(directory)}))
        (of_others / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        ready.touch()
    return python


if __name__ == "__main__":
    sys.exit(main())
