# SPDX-License-Identifier: Apache-2.0
"""Two threads use one device, each with a separate stream; a new thread has no context until it is given one."""

import threading

import acl
from common import (
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    check,
    checked,
    end,
    start,
)

SIZE = 1 << 16
ROUNDS = 20


def work(context, value, results):
    """Send a pattern to the device and back, many times, and say how often it came back whole."""
    check(acl.rt.set_context(context), "acl.rt.set_context")
    stream = checked(acl.rt.create_stream(), "acl.rt.create_stream")
    host = checked(acl.rt.malloc_host(SIZE), "acl.rt.malloc_host")
    device = checked(acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc")

    whole = 0
    for _ in range(ROUNDS):
        check(acl.rt.memset(host, SIZE, value, SIZE), "acl.rt.memset")
        check(acl.rt.memcpy_async(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), "the copy there")
        check(acl.rt.memcpy_async(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), "the copy back")
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
        whole += acl.util.ptr_to_bytes(host, SIZE) == bytes([value]) * SIZE
    results[value] = whole

    check(acl.rt.free(device), "acl.rt.free")
    check(acl.rt.free_host(host), "acl.rt.free_host")
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")


def main():
    """Start both threads with the context of the device."""
    context = start()
    results = {}
    threads = [threading.Thread(target=work, args=(context, value, results)) for value in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if results != {1: ROUNDS, 2: ROUNDS}:
        raise RuntimeError(f"what came back is not what was sent: {results}")
    print(f"2 threads sent and received {ROUNDS} times {SIZE} bytes each")
    end()


if __name__ == "__main__":
    main()
