# SPDX-License-Identifier: Apache-2.0
"""Copy data from the host to a device, from there to a second place on the device, and back; each call waits."""

import acl
from common import (
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    check,
    checked,
    end,
    start,
)


def main():
    """Copy 4 MiB, and compare."""
    start()
    data = bytes(range(256)) * 16384  # is kept, because acl gets nothing but its address
    size = len(data)

    device_memory = [checked(acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc") for _ in range(2)]
    host = checked(acl.rt.malloc_host(size), "acl.rt.malloc_host")

    first, second = device_memory
    source = acl.util.bytes_to_ptr(data)
    check(acl.rt.memcpy(first, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE), "the copy to the device")
    check(acl.rt.memcpy(second, size, first, size, ACL_MEMCPY_DEVICE_TO_DEVICE), "the copy on the device")
    check(acl.rt.memcpy(host, size, second, size, ACL_MEMCPY_DEVICE_TO_HOST), "the copy from the device")
    if acl.util.ptr_to_bytes(host, size) != data:
        raise RuntimeError("what came back is not what was sent")
    print(f"{size} bytes went to the device and came back")

    check(acl.rt.free_host(host), "acl.rt.free_host")
    for address in device_memory:
        check(acl.rt.free(address), "acl.rt.free")
    end()


if __name__ == "__main__":
    main()
