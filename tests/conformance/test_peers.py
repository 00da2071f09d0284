# SPDX-License-Identifier: Apache-2.0
"""Two devices: access, connection, atomic operations; and events that go from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.codes import INVALID_DEVICE, INVALID_PARAM, NO_CONTEXT, OK, RT_PARAM, UNSUPPORTED

FLAGS_UNSUPPORTED = 200006
WITH_PEERS = ("910B", "910C", "310P", "910", "950")

# With device 0 set, and two devices.
ARGUMENTS = [
    ("aclrtDeviceCanAccessPeer", (None, 0, 1), RT_PARAM),
    ("aclrtDeviceCanAccessPeer", (None, 0, 0), INVALID_PARAM),
    ("aclrtDeviceCanAccessPeer", ("out", 1, 1), INVALID_PARAM),
    ("aclrtDeviceCanAccessPeer", ("out", 0, 2), INVALID_DEVICE),
    ("aclrtDeviceCanAccessPeer", ("out", -1, 0), INVALID_DEVICE),
    ("aclrtDeviceEnablePeerAccess", (1, 1), FLAGS_UNSUPPORTED),
    ("aclrtDeviceEnablePeerAccess", (0, 0), INVALID_PARAM),
    ("aclrtDeviceEnablePeerAccess", (2, 0), INVALID_DEVICE),
    ("aclrtDeviceDisablePeerAccess", (0,), INVALID_PARAM),
    ("aclrtDeviceDisablePeerAccess", (-1,), INVALID_DEVICE),
    ("aclrtDeviceDisablePeerAccess", (1,), OK),
    ("aclrtDevicePeerAccessStatus", (0, 1, None), INVALID_PARAM),
    ("aclrtDevicePeerAccessStatus", (0, 2, "out"), RT_PARAM),
    ("aclrtDevicePeerAccessStatus", (-1, 0, "out"), RT_PARAM),
    ("aclrtGetDevicesTopo", (0, 1, None), INVALID_PARAM),
    ("aclrtGetDevicesTopo", (0, 9, "out"), OK),
]


@pytest.mark.simulator("products")
def test_arguments(calls: Callable[..., list[Any]]) -> None:
    rows = [[function, *arguments] for function, arguments, _ in ARGUMENTS]
    answers = calls([["aclrtSetDevice", 0], *rows], ASCEND_RT_SIM_DEVICES="2")[1:]
    for row, (code, _) in zip(ARGUMENTS, answers, strict=True):
        assert code == row[2], row


@pytest.mark.parametrize("product", WITH_PEERS)
@pytest.mark.simulator("products")
def test_access_has_a_direction(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        ["aclrtDeviceCanAccessPeer", "out", 0, 1],
        ["aclrtSetDevice", 0],
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        ["aclrtDevicePeerAccessStatus", 0, 1, "out"],
        ["aclrtDevicePeerAccessStatus", 1, 0, "out"],
        ["aclrtDeviceDisablePeerAccess", 1],
        ["aclrtDevicePeerAccessStatus", 0, 1, "out"],
    ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    assert [code for code, _ in answers] == [NO_CONTEXT, *[OK] * 8]
    assert [values for _, values in answers if values] == [[1], [1], [0], [0]]


@pytest.mark.simulator("products")
def test_a_product_without_peers(calls: Callable[..., list[Any]]) -> None:
    rows = [
        ["aclrtSetDevice", 0],
        ["aclrtDeviceCanAccessPeer", None, 0, 1],
        ["aclrtDeviceCanAccessPeer", "out", 0, 0],
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        ["aclrtDeviceEnablePeerAccess", 1, 1],
        ["aclrtDeviceDisablePeerAccess", 1],
        ["aclrtDevicePeerAccessStatus", 0, 1, "out"],
    ]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT="310B")]
    assert codes == [OK, UNSUPPORTED, INVALID_PARAM, UNSUPPORTED, FLAGS_UNSUPPORTED, UNSUPPORTED, OK]


@pytest.mark.simulator("products")
def test_the_topology_is_one_bit(calls: Callable[..., list[Any]]) -> None:
    for product in (*WITH_PEERS, "310B"):
        ((code, (mask,)),) = calls([["aclrtGetDevicesTopo", 0, 1, "out"]], ASCEND_RT_SIM_PRODUCT=product)
        assert code == OK, product
        assert mask in (1, 2, 4, 8, 0x10, 0x20, 0x40), product


def test_topology_checks_ids_with_a_list_of_visible_devices(calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtGetDevicesTopo", 0, other, "out"] for other in (1, 2)]
    assert [code for code, _ in calls(rows, ASCEND_RT_VISIBLE_DEVICES="0,5")] == [OK, INVALID_DEVICE]


# --- atomic operations -----------------------------------------------------------------------------------------------

HOST, PEER = "aclrtDeviceGetHostAtomicCapabilities", "aclrtDeviceGetP2PAtomicCapabilities"
OPERATIONS = (*range(13), 30, 31, 32, *range(40, 45))


def capabilities(
    lib: Any, ffi: Any, function: str, operations: tuple[int, ...], *devices: int
) -> tuple[int, list[int]]:
    masks = ffi.new("uint32_t[]", [0xFFFF] * len(operations))
    array = ffi.new("aclrtAtomicOperation[]", list(operations))
    code = getattr(lib, function)(masks, array, len(operations), *devices)
    return code, list(masks)


def test_capabilities_of_every_operation(lib: Any, ffi: Any) -> None:
    code, host = capabilities(lib, ffi, HOST, OPERATIONS, 0)
    assert (code, set(host)) == (OK, {0})  # 910B has no scalar operations, and none to host memory
    code, peer = capabilities(lib, ffi, PEER, OPERATIONS, 0, 1)
    assert code == OK
    assert [operation for operation, mask in zip(OPERATIONS, peer, strict=True) if mask] == [30, 31, 32]
    assert all(mask & lib.ACL_RT_ATOMIC_CAPABILITY_REDUCTION for mask in peer if mask)


@pytest.mark.parametrize(
    ("function", "operations", "devices", "code"),
    [
        (HOST, (), (0,), RT_PARAM),
        (HOST, (13,), (0,), RT_PARAM),
        (HOST, (0, 29), (0,), RT_PARAM),
        (HOST, (45,), (0,), RT_PARAM),
        (HOST, (0,), (1000,), INVALID_DEVICE),
        (PEER, (), (0, 1), RT_PARAM),
        (PEER, (33,), (0, 1), RT_PARAM),
        (PEER, (0,), (1, 1), INVALID_DEVICE),
        (PEER, (0,), (0, -1), INVALID_DEVICE),
    ],
)
def test_capability_arguments(
    function: str, operations: tuple[int, ...], devices: tuple[int, ...], code: int, lib: Any, ffi: Any
) -> None:
    assert capabilities(lib, ffi, function, operations, *devices)[0] == code


def test_capabilities_without_arrays(lib: Any, ffi: Any) -> None:
    one, mask = ffi.new("aclrtAtomicOperation *"), ffi.new("uint32_t *")
    assert lib.aclrtDeviceGetHostAtomicCapabilities(ffi.NULL, one, 1, 0) == INVALID_PARAM
    assert lib.aclrtDeviceGetHostAtomicCapabilities(mask, ffi.NULL, 1, 0) == INVALID_PARAM
    assert lib.aclrtDeviceGetP2PAtomicCapabilities(ffi.NULL, one, 1, 0, 1) == INVALID_PARAM
    assert lib.aclrtDeviceGetP2PAtomicCapabilities(mask, ffi.NULL, 1, 0, 1) == INVALID_PARAM


# --- events across devices -------------------------------------------------------------------------------------------

# An event that is not recorded yet, on device 0; a stream of device 1 waits for it.
FOREIGN_WAIT = [
    ["aclrtSetDevice", 0],
    ["aclrtCreateEventWithFlag", "out:event", 1],
    ["aclrtCreateStream", "out:recorder"],
    ["aclrtSetDevice", 1],
    ["aclrtCreateStream", "out:waiter"],
    ["aclrtStreamWaitEventWithTimeout", "@waiter", "@event", 1],
    ["aclrtStreamQuery", "@waiter", "out"],
    ["aclrtSetDevice", 0],
    ["aclrtRecordEvent", "@event", "@recorder"],
    ["aclrtSetDevice", 1],
    ["aclrtSynchronizeStream", "@waiter"],
]


@pytest.mark.parametrize(
    ("product", "status"), [("910B", 1), ("910C", 1), ("950", 1), ("310B", 0), ("310P", 0), ("910", 0)]
)
@pytest.mark.simulator("products")
def test_who_waits_for_the_event_of_another_device(product: str, status: int, calls: Callable[..., list[Any]]) -> None:
    answers = calls(FOREIGN_WAIT, ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers} == {OK}
    assert answers[6] == [OK, [status]]


@pytest.mark.parametrize(("product", "code"), [("910B", 507046), ("950", 107020)])
@pytest.mark.simulator("products")
def test_whose_wait_for_another_device_has_a_limit(product: str, code: int, calls: Callable[..., list[Any]]) -> None:
    rows = [*FOREIGN_WAIT[:6], ["aclrtSynchronizeStreamWithTimeout", "@waiter", 2000]]
    assert [answer for answer, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product)] == [OK] * 6 + [code]
