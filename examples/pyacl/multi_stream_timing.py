# SPDX-License-Identifier: Apache-2.0
"""Time the same copies in one stream and in several, with events; events count the time of the device."""

import sys

import acl
from common import (
    ACL_EVENT_SYNC,
    ACL_EVENT_TIME_LINE,
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    check,
    checked,
    end,
    start,
)

SIZE = 4 << 20
JOBS = 8


def create_event():
    """Return an event that keeps the time and that streams can wait for."""
    return checked(acl.rt.create_event_with_flag(ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC), "acl.rt.create_event_with_flag")


def time_of(streams, buffers):
    """Return the milliseconds from the begin of the first copy to the end of the last."""
    first = streams[0]
    begin, finish = create_event(), create_event()
    events = [create_event() for _ in streams]

    check(acl.rt.record_event(begin, first), "acl.rt.record_event")
    for stream in streams[1:]:
        check(acl.rt.stream_wait_event(stream, begin), "acl.rt.stream_wait_event")
    for job, (host, device) in enumerate(buffers):
        stream = streams[job % len(streams)]
        check(acl.rt.memcpy_async(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), "the copy there")
        check(acl.rt.memcpy_async(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), "the copy back")
    for stream, event in zip(streams[1:], events[1:], strict=True):
        check(acl.rt.record_event(event, stream), "acl.rt.record_event")
        check(acl.rt.stream_wait_event(first, event), "acl.rt.stream_wait_event")
    check(acl.rt.record_event(finish, first), "acl.rt.record_event")
    check(acl.rt.synchronize_stream(first), "acl.rt.synchronize_stream")

    milliseconds = checked(acl.rt.event_elapsed_time(begin, finish), "acl.rt.event_elapsed_time")
    for event in (begin, finish, *events):
        check(acl.rt.destroy_event(event), "acl.rt.destroy_event")
    return milliseconds


def main(most_streams=4):
    """Print a line for each number of streams."""
    start()
    buffers = []
    for _ in range(JOBS):
        host = checked(acl.rt.malloc_host(SIZE), "acl.rt.malloc_host")
        device = checked(acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc")
        buffers.append((host, device))
    streams = [checked(acl.rt.create_stream(), "acl.rt.create_stream") for _ in range(most_streams)]

    time_of(streams, buffers)  # memory that is touched for the first time is slow
    for count in range(1, most_streams + 1):
        print(f"{JOBS} x {SIZE} bytes there and back, {count} stream(s): {time_of(streams[:count], buffers):.3f} ms")

    for stream in streams:
        check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    for host, device in buffers:
        check(acl.rt.free(device), "acl.rt.free")
        check(acl.rt.free_host(host), "acl.rt.free_host")
    end()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
