# SPDX-License-Identifier: Apache-2.0
"""Memory for media data, which is memory of the device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ascend_rt import pyacl as acl

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    assert acl.rt.set_device(0) == 0
    yield
    assert acl.rt.reset_device(0) == 0


def test_it_holds_data() -> None:
    memory, code = acl.media.dvpp_malloc(4096)
    assert (code, memory != 0) == (0, True)
    data = bytes(range(256)) * 16
    assert acl.rt.memcpy(memory, 4096, acl.util.bytes_to_ptr(data), 4096, HOST_TO_DEVICE) == 0
    host, code = acl.rt.malloc_host(4096)
    assert code == 0
    assert acl.rt.memcpy(host, 4096, memory, 4096, DEVICE_TO_HOST) == 0
    assert acl.util.ptr_to_bytes(host, 4096) == data
    assert (acl.media.dvpp_free(memory), acl.rt.free_host(host)) == (0, 0)


def test_wrong_arguments() -> None:
    assert acl.media.dvpp_malloc(0)[1] != 0
    memory, code = acl.media.dvpp_malloc(1 << 60)
    assert (memory, code != 0) == (0, True)
    assert acl.media.dvpp_free(0) != 0
    for wrong in ((), ("size",), (1, 2)):
        with pytest.raises(TypeError, match=r"acl\.media\.dvpp_malloc args parse failed"):
            acl.media.dvpp_malloc(*wrong)
        with pytest.raises(TypeError, match=r"acl\.media\.dvpp_free args parse failed"):
            acl.media.dvpp_free(*wrong)
