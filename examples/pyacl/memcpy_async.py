# SPDX-License-Identifier: Apache-2.0
"""Copy data to a device and back in a stream: the calls return at once, and only the last one waits."""

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


def main():
    """Fill pinned memory, send it through the device, and compare."""
    start()
    size = 1 << 20
    stream = checked(acl.rt.create_stream(), "acl.rt.create_stream")

    # Pinned memory: from other memory of the host, the runtime copies before the call returns.
    sent, received = (checked(acl.rt.malloc_host(size), "acl.rt.malloc_host") for _ in range(2))
    device = checked(acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc")
    check(acl.rt.memset(sent, size, 0x5A, size), "acl.rt.memset")

    check(acl.rt.memcpy_async(device, size, sent, size, ACL_MEMCPY_HOST_TO_DEVICE, stream), "the copy to the device")
    check(
        acl.rt.memcpy_async(received, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST, stream),
        "the copy from the device",
    )
    check(acl.rt.memset_async(device, size, 0, size, stream), "acl.rt.memset_async")
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    if acl.util.ptr_to_bytes(received, size) != b"\x5a" * size:
        raise RuntimeError("what came back is not what was sent")
    print(f"{size} bytes went to the device and came back")

    check(acl.rt.free(device), "acl.rt.free")
    for address in (sent, received):
        check(acl.rt.free_host(address), "acl.rt.free_host")
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    end()


if __name__ == "__main__":
    main()
