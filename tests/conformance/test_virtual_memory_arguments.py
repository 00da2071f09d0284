# SPDX-License-Identifier: Apache-2.0
"""Virtual memory: arguments, in the order in which they are checked, devices, and links between devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.codes import (
    DRIVER,
    GARBAGE,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_PARAM,
    LINK_UNSUPPORTED,
    NO_CONTEXT,
    OK,
    OUT_OF_MEMORY,
    PRODUCTS,
    RT_PARAM,
    UNSUPPORTED,
)
from support.virtual_memory import GIB, HOST, HUGE, MANAGED, NUMA, TIB, UNREGISTERED, prop

# --- devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("products")
def test_devices_are_not_mixed_in_one_reservation(calls: Callable[..., list[Any]]) -> None:
    rows = [
        (["aclrtReserveMemAddress", "out:here", 4 * HUGE, 0, 20 * TIB, 0], OK),
        (["aclrtMallocPhysical", "out:first", HUGE, prop(device=0), 0], OK),
        (["aclrtMallocPhysical", "out:second", HUGE, prop(device=1), 0], OK),
        (["aclrtMallocPhysical", "out:host", HUGE, prop(12, 0, HOST), 0], OK),
        (["aclrtMapMem", 20 * TIB, HUGE, 0, "@first", 0], OK),
        (["aclrtMapMem", 20 * TIB + HUGE, HUGE, 0, "@second", 0], RT_PARAM),
        (["aclrtMapMem", 20 * TIB + HUGE, HUGE, 0, "@host", 0], RT_PARAM),
        (["aclrtMapMem", 20 * TIB + HUGE, HUGE, 0, "@first", 0], OK),
        (["aclrtUnmapMem", 20 * TIB], OK),
        (["aclrtUnmapMem", 20 * TIB + HUGE], OK),
        (["aclrtMapMem", 20 * TIB, HUGE, 0, "@second", 0], OK),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_DEVICES=2)
    assert [code for code, _ in answers] == [code for _, code in rows]


@pytest.mark.simulator("products")
def test_a_reset_drops_the_memory_of_the_device(calls: Callable[..., list[Any]]) -> None:
    asked = ["aclrtGetMemInfo", 1, "out", "out"]
    at = 20 * TIB
    rows = [
        (["aclrtSetDevice", 0], OK),
        (asked, OK),
        (["aclrtReserveMemAddress", "out", 4 * HUGE, 0, at, 0], OK),
        (["aclrtMallocPhysical", "out:gone", HUGE, prop(), 0], OK),
        (["aclrtMallocPhysical", "out:unmapped", HUGE, prop(), 0], OK),
        (["aclrtMallocPhysical", "out:other", HUGE, prop(device=1), 0], OK),
        (["aclrtMapMem", at, HUGE, 0, "@gone", 0], OK),
        (asked, OK),
        (["aclrtResetDevice", 0], OK),
        (["aclrtFreePhysical", "@gone"], INVALID_HANDLE),
        (["aclrtFreePhysical", "@unmapped"], INVALID_HANDLE),
        (["aclrtUnmapMem", at], RT_PARAM),
        (["aclrtSetDevice", 0], OK),
        (asked, OK),
        (["aclrtMapMem", at, HUGE, 0, "@other", 0], OK),  # another device's memory and the addresses stay
        (["aclrtUnmapMem", at], OK),
        (["aclrtReleaseMemAddress", at], OK),
        (["aclrtFreePhysical", "@other"], OK),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_DEVICES=2)
    assert [code for code, _ in answers] == [code for _, code in rows]
    before, during, after = (values for _, values in answers if len(values) == 2)
    assert (before, during[0]) == (after, before[0] - 2 * HUGE)


# --- links (910C) ----------------------------------------------------------------------------------------------------


@pytest.mark.simulator("products")
def test_blocks_are_mapped_over_a_link(calls: Callable[..., list[Any]]) -> None:
    source, target = 20 * TIB, 21 * TIB
    rows = [
        (["aclrtReserveMemAddress", "out", 4 * HUGE, 0, source, 0], OK),
        (["aclrtReserveMemAddress", "out", 4 * HUGE, 0, target, 0], OK),
        (["aclrtMallocPhysical", "out:first", HUGE, prop(), 0], OK),
        (["aclrtMallocPhysical", "out:second", 2 * HUGE, prop(), 0], OK),
        (["aclrtMapMem", source, HUGE, 0, "@first", 0], OK),
        (["aclrtMapMem", source + HUGE, 2 * HUGE, 0, "@second", 0], OK),
        (["aclrtMemMapSelectedLink", None, 3 * HUGE, source, 0], INVALID_PARAM),
        (["aclrtMemMapSelectedLink", target, 0, source, 0], INVALID_PARAM),
        (["aclrtMemMapSelectedLink", target, 3 * HUGE, None, 0], INVALID_PARAM),
        (["aclrtMemMapSelectedLink", target, 3 * HUGE, source, 2], INVALID_PARAM),
        (["aclrtMemMapSelectedLink", target, HUGE, source + 64, 0], RT_PARAM),
        (["aclrtMemMapSelectedLink", target, 2 * HUGE, source, 1], RT_PARAM),  # ends inside a block
        (["aclrtMemMapSelectedLink", target, 4 * HUGE, source, 1], RT_PARAM),  # longer than what is there
        (["aclrtUnmapMem", target], RT_PARAM),  # nothing of those is left
        (["aclrtMemMapSelectedLink", target, 3 * HUGE, source, 1], OK),
        (["aclrtMemMapSelectedLink", target, 3 * HUGE, source, 1], DRIVER),
        (["aclrtUnmapMem", target], OK),
        (["aclrtUnmapMem", target + HUGE], OK),
        (["aclrtMemMapSetLink", None, 9], INVALID_PARAM),
        (["aclrtMemMapSetLink", "@first", 4], RT_PARAM),
        (["aclrtMemMapSetLink", GARBAGE, 0], INVALID_HANDLE),
        (["aclrtMemMapSetLink", "@first", 0], OK),
        (["aclrtMemMapSetLink", "@first", 2], LINK_UNSUPPORTED),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_PRODUCT="910C")
    for (call, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == code, call


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_links_of_products(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtMallocPhysical", "out:one", HUGE, prop(), 0]]
    rows += [["aclrtMemMapSetLink", "@one", link] for link in range(4)]
    rows += [["aclrtMemMapSelectedLink", "buffer", HUGE, "buffer", 0]]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product)][1:]
    links = {
        "910C": [OK, OK, LINK_UNSUPPORTED, LINK_UNSUPPORTED],
        "950": [LINK_UNSUPPORTED, LINK_UNSUPPORTED, OK, OK],
    }.get(product, [UNSUPPORTED] * 4)
    assert codes == [*links, RT_PARAM if product == "910C" else UNSUPPORTED]


# --- arguments -------------------------------------------------------------------------------------------------------

# In a process without a context: these functions need none.
# Other access for the memory's own device, which has it already only where mapping grants it.
RESET = {"aclrtMapMem": DRIVER, "aclrtMemMapNoAccess": RT_PARAM}
ARGUMENTS = [
    (["aclrtMallocPhysical", None, 0, None, 1], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, None, 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", 0, prop(), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(), 1], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(handleType=2), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(allocationType=1), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(kind=UNREGISTERED), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(kind=MANAGED), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(2, device=9), 0], INVALID_PARAM),
    (["aclrtMallocPhysical", "out", HUGE, prop(device=9), 0], INVALID_DEVICE),
    (["aclrtMallocPhysical", "out", HUGE, prop(12, 0, NUMA), 0], NO_CONTEXT),
    (["aclrtMallocPhysical", "out", HUGE + 1, prop(), 0], RT_PARAM),
    (["aclrtMallocPhysical", "out:memory", HUGE, prop(reserve=7), 0], OK),
    (["aclrtMemGetAllocationGranularity", None, 0, "out"], INVALID_PARAM),
    (["aclrtMemGetAllocationGranularity", prop(), 0, None], INVALID_PARAM),
    (["aclrtMemGetAllocationGranularity", prop(2, device=9), 0, "out"], INVALID_PARAM),
    (["aclrtMemGetAllocationGranularity", prop(device=9, handleType=2), 0, "out"], INVALID_DEVICE),
    (["aclrtMemGetAllocationPropertiesFromHandle", None, None], INVALID_PARAM),
    (["aclrtMemGetAllocationPropertiesFromHandle", "@memory", None], INVALID_PARAM),
    (["aclrtMemGetAllocationPropertiesFromHandle", GARBAGE, "out"], INVALID_HANDLE),
    (["aclrtFreePhysical", None], INVALID_PARAM),
    (["aclrtFreePhysical", GARBAGE], INVALID_HANDLE),
    (["aclrtReserveMemAddress", None, 0, 0, None, 2], INVALID_PARAM),
    (["aclrtReserveMemAddress", "out", 0, 0, None, 0], INVALID_PARAM),
    (["aclrtReserveMemAddress", "out", HUGE, 0, None, 2], INVALID_PARAM),
    (["aclrtReserveMemAddress", "out", HUGE + 4096, 0, None, 0], OK),
    (["aclrtReserveMemAddress", "out:probe", 512, 0, None, 1], OK),  # how torch_npu asks for expandable segments
    (["aclrtReleaseMemAddress", "@probe"], OK),
    (["aclrtReserveMemAddress", "out:probe", HUGE + 1, 0, 21 * TIB, 1], OK),
    (["aclrtReserveMemAddress", "out", HUGE, 0, 21 * TIB + HUGE, 1], OUT_OF_MEMORY),  # a page of the probe's
    (["aclrtMapMem", 21 * TIB + HUGE, HUGE, 0, "@memory", 0], RT_PARAM),  # more than was asked for
    (["aclrtMapMem", "@probe", HUGE, 0, "@memory", 0], OK),
    (["aclrtUnmapMem", "@probe"], OK),
    (["aclrtReserveMemAddress", "out", 2**64 - 1, 0, None, 1], OUT_OF_MEMORY),
    (["aclrtReserveMemAddress", "out", 4 * TIB + 1, 0, 20 * TIB, 1], RT_PARAM),
    (["aclrtReserveMemAddress", "out", 128 * GIB + HUGE, 0, None, 0], RT_PARAM),
    (["aclrtReserveMemAddress", "out", 128 * GIB + HUGE, 0, None, 1], OK),
    (["aclrtReserveMemAddress", "out", HUGE, 1, None, 0], OK),  # the alignment is not looked at
    (["aclrtReserveMemAddress", "out:address", 2 * HUGE, 0, 20 * TIB, 0], OK),
    (["aclrtReserveMemAddressNoUCMemory", "out", GIB, 0, None, 2], INVALID_PARAM),
    (["aclrtReserveMemAddressNoUCMemory", "out", GIB, 0, 48 * TIB, 0], UNSUPPORTED),
    (["aclrtReleaseMemAddress", None], INVALID_PARAM),
    (["aclrtReleaseMemAddress", GARBAGE], RT_PARAM),
    (["aclrtReleaseMemAddress", 20 * TIB + HUGE], RT_PARAM),
    *[
        row
        for function in ("aclrtMapMem", "aclrtMemMapNoAccess")
        for row in [
            ([function, None, 0, 1, None, 1], INVALID_PARAM),
            ([function, "@address", HUGE, 0, None, 0], INVALID_PARAM),
            ([function, "@address", 0, 0, "@memory", 0], INVALID_PARAM),
            ([function, "@address", HUGE, 0, "@memory", 1], INVALID_PARAM),
            ([function, "@address", HUGE, 1, GARBAGE, 0], INVALID_HANDLE),
            ([function, "@address", HUGE, 1, "@memory", 0], RT_PARAM),
            ([function, "@address", 2 * HUGE, 0, "@memory", 0], RT_PARAM),
            ([function, 20 * TIB + 4096, HUGE, 0, "@memory", 0], RT_PARAM),
            ([function, 20 * TIB + 2 * HUGE, HUGE, 0, "@memory", 0], RT_PARAM),
            ([function, GARBAGE, HUGE, 0, "@memory", 0], RT_PARAM),
            ([function, "@address", HUGE, 0, "@memory", 0], OK),
            ([function, "@address", HUGE, 0, "@memory", 0], DRIVER),
            (["aclrtMemSetAccess", None, 0, None, 0], RT_PARAM),
            (["aclrtMemSetAccess", "@address", HUGE, None, 1], RT_PARAM),
            (["aclrtMemSetAccess", "@address", HUGE, [{}], 0], RT_PARAM),
            (
                ["aclrtMemSetAccess", "@address", HUGE, [{"flags": 3, "location": {"type": 1, "id": 9}}], 1],
                INVALID_DEVICE,
            ),
            (["aclrtMemSetAccess", "@address", HUGE, [{"flags": 3, "location": {"type": 0, "id": 1}}], 1], RT_PARAM),
            (["aclrtMemSetAccess", "@address", HUGE, [{"flags": 3, "location": {"type": 4}}], 1], RT_PARAM),
            (["aclrtMemSetAccess", "@address", HUGE, [{"flags": 1, "location": {"type": 1}}], 1], RESET[function]),
            (["aclrtMemSetAccess", "@address", HUGE, [{"flags": 1, "location": {"type": 0}}], 1], RT_PARAM),
            (["aclrtMemSetAccess", "@address", 4096, [{"flags": 3, "location": {"type": 1}}], 1], RT_PARAM),
            (["aclrtMemSetAccess", 20 * TIB + 4096, HUGE, [{"flags": 3, "location": {"type": 1}}], 1], RT_PARAM),
            (["aclrtMemSetAccess", "@address", HUGE, [{"flags": 3, "location": {"type": 1}}], 1], OK),
            (["aclrtUnmapMem", 20 * TIB + 4096], RT_PARAM),
            (["aclrtUnmapMem", "@address"], OK),
        ]
    ],
    (["aclrtUnmapMem", None], INVALID_PARAM),
    (["aclrtUnmapMem", GARBAGE], RT_PARAM),
    (["aclrtMemGetAccess", None, {}, "out"], INVALID_PARAM),
    (["aclrtMemGetAccess", "@address", None, "out"], INVALID_PARAM),
    (["aclrtMemGetAccess", "@address", {}, None], INVALID_PARAM),
    (["aclrtMemGetAccess", "@address", {}, "out"], RT_PARAM),
    (["aclrtMemRetainAllocationHandle", None, "out"], INVALID_PARAM),
    (["aclrtMemRetainAllocationHandle", "@address", None], INVALID_PARAM),
    (["aclrtMemRetainAllocationHandle", "@address", "out"], RT_PARAM),
    (["aclrtMemRetainAllocationHandle", GARBAGE, "out"], RT_PARAM),
    (["aclrtReleaseMemAddress", "@address"], OK),
    (["aclrtFreePhysical", "@memory"], OK),
    (["aclrtMemGetAllocationPropertiesFromHandle", "@memory", "out"], INVALID_HANDLE),
    (["aclrtMapMem", GARBAGE, HUGE, 0, "@memory", 0], INVALID_HANDLE),
    # a handle of another type
    (["aclrtSetDevice", 0], OK),
    (["aclrtCreateStream", "out:stream"], OK),
    (["aclrtFreePhysical", "@stream"], INVALID_HANDLE),
    (["aclrtMapMem", GARBAGE, HUGE, 0, "@stream", 0], INVALID_HANDLE),
]


@pytest.mark.simulator("products")
def test_arguments(calls: Callable[..., list[Any]]) -> None:
    answers = calls([call for call, _ in ARGUMENTS], ASCEND_RT_SIM_PRODUCT="910B")
    for (call, code), (answer, _) in zip(ARGUMENTS, answers, strict=True):
        assert answer == code, call


@pytest.mark.simulator("products")
def test_addresses_without_uncacheable_memory(calls: Callable[..., list[Any]]) -> None:
    function = "aclrtReserveMemAddressNoUCMemory"
    rows = [
        ([function, None, GIB, 0, 48 * TIB, 0], INVALID_PARAM),
        ([function, "out", 0, 0, 48 * TIB, 0], INVALID_PARAM),
        ([function, "out", GIB, 0, None, 0], UNSUPPORTED),
        ([function, "out", HUGE, 0, 48 * TIB, 0], RT_PARAM),
        ([function, "out", GIB, 0, 20 * TIB, 0], RT_PARAM),
        ([function, "out", GIB, 0, 224 * TIB, 0], RT_PARAM),
        ([function, "out:at", GIB, 0, 48 * TIB, 0], OK),
        (["aclrtReleaseMemAddress", "@at"], OK),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_PRODUCT="910C")
    assert [code for code, _ in answers] == [code for _, code in rows]
