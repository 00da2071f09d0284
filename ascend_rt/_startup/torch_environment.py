# SPDX-License-Identifier: Apache-2.0
"""Environment of PyTorch's adapter, torch_npu, on the simulator."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ascend_rt.backends import sim

# Calls run in the thread that makes them. With the adapter's own queue of calls, calls after a failed one still run, on
# undefined data, so users cannot choose it.
_FIXED = {"TASK_QUEUE_ENABLE": "0"}

# Extensions for the adapter, which a program may build when it runs, are linked with -lascendcl.
_LINKERS_PATH = "LIBRARY_PATH"


def added_to(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the adapter's variables.

    Parameters
    ----------
    environment : mapping of str to str
        What there is; an installation of CANN that it names stays.
    """
    home = sim.companion_home()
    # Without the first, the adapter reads the names of all files below the working directory when it is imported, in
    # search of an installation's version. With it, it wants the second.
    installation = {"ASCEND_HOME_PATH": str(home), "ASCEND_OPP_PATH": str(home / "opp")}
    directory = str(sim.library_directory())
    others = [each for each in environment.get(_LINKERS_PATH, "").split(os.pathsep) if each not in ("", directory)]
    linking = {_LINKERS_PATH: os.pathsep.join([directory, *others])}
    return {**({} if environment.get("ASCEND_HOME_PATH") else installation), **environment, **linking, **_FIXED}
