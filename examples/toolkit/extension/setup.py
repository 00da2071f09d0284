# SPDX-License-Identifier: Apache-2.0
"""Builds a Python module in C, as on a server with CANN.

``ascend-rt run --backend sim -m pip install --no-build-isolation examples/toolkit/extension``; or plain ``pip`` in a
shell that has sourced a set_env.sh.
"""

import os
import subprocess

from setuptools import Extension, setup

home = os.environ.get("ASCEND_HOME_PATH") or "/usr/local/Ascend/ascend-toolkit/latest"
board = subprocess.run(["npu-smi", "info", "-t", "board", "-i", "0", "-c", "0"], capture_output=True, text=True)
chip = next((line.split(":")[1].strip() for line in board.stdout.splitlines() if "Chip Name" in line), "unknown")

setup(
    name="device_count",
    version="1",
    ext_modules=[
        Extension(
            "device_count",
            ["device_count.c"],
            include_dirs=[os.path.join(home, "include")],
            library_dirs=[os.path.join(home, "lib64")],
            libraries=["ascendcl"],
            define_macros=[("CHIP", f'"{chip}"')],
        )
    ],
)
