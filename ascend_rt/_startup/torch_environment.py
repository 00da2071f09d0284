# SPDX-License-Identifier: Apache-2.0
"""Environment of PyTorch's adapter, torch_npu, on the simulator."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_rt.backends.toolkit.environment import with_simulator

# Calls run in the thread that makes them. With the adapter's own queue of calls, calls after a failed one still run, on
# undefined data, so users cannot choose it.
_FIXED = {"TASK_QUEUE_ENABLE": "0"}


def added_to(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the adapter's variables.

    Without ``ASCEND_HOME_PATH``, the adapter reads the names of all files below the working directory when it is
    imported, in search of an installation's version.

    Parameters
    ----------
    environment : mapping of str to str
        What there is; an installation of CANN that it names stays.
    """
    return {**with_simulator(environment), **_FIXED}
