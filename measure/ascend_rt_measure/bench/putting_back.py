# SPDX-License-Identifier: Apache-2.0
"""The other process of a benchmark of queues: it puts what it gets from one queue into another one."""

from __future__ import annotations

import sys

from ascend_rt import Device, Queue, ffi, lib


def main() -> None:
    """Attach to both queues, and put messages back until one of the queues has ended."""
    Device(0).set_current()
    source, destination = (Queue.attach(int(number), timeout=10).number for number in sys.argv[1:])
    room = 4096
    data, size, user_data = ffi.new("char[]", room), ffi.new("size_t *"), ffi.new("char[96]")
    put, get = lib.acltdtEnqueueData, lib.acltdtDequeueData
    while not get(source, data, room, size, user_data, 96, -1):
        put(destination, data, size[0], user_data, 96, -1, 0)


if __name__ == "__main__":
    main()
