# SPDX-License-Identifier: Apache-2.0
"""The calls that were made of the vendor's extension: ``python calls.py PREFIX…`` makes those of the groups anew."""

from __future__ import annotations

import sys

import argument_calls
import callback_calls
import memory_calls
import module_calls
import shared_memory_calls
import stream_calls
from recorder import main

PARTS = (argument_calls, module_calls, stream_calls, callback_calls, memory_calls, shared_memory_calls)
"""Each part enters its groups when it is imported."""

if __name__ == "__main__":
    main(sys.argv[1:] or [""])
