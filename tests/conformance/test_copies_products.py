# SPDX-License-Identifier: Apache-2.0
"""Copies and fills through the C functions: where the products differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.codes import INVALID_HANDLE, INVALID_PARAM, OK, PRODUCTS, RT_PARAM, UNSUPPORTED
from support.copies import BUFFERED, D2D, DEFAULT, GIB, H2D, INNER, SIZE

CONTROL = {"910B", "910C", "950"}
DESCRIBED = CONTROL | {"310B"}
ALL = set(PRODUCTS)

START = [
    ["aclrtSetDevice", 0],
    ["aclrtMalloc", "out:dev", SIZE, 0],
    ["aclrtMalloc", "out:dev2", SIZE, 0],
    ["aclrtMallocHost", "out:pinned", SIZE],
    ["aclrtMallocHost", "out:ones", SIZE],
    ["aclrtMemset", "@ones", SIZE, 1, SIZE],
    ["aclrtCreateStream", "out:stream"],
]
BATCH_OF_ONE = ["@pinned", "@ones", "@pinned", "@ones", 1, "buffer", "buffer", 0]
EMPTY_BATCH = ["@pinned", "@ones", "@pinned", "buffer", 1, "buffer", "buffer", 0]

# The call, the products that return the first code, that code, the code of the other products.
CODES = [
    (["aclrtMemcpyBatch", *BATCH_OF_ONE, "out"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchV2", *BATCH_OF_ONE], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchAsync", *BATCH_OF_ONE, "out", "@stream"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchAsyncV2", *BATCH_OF_ONE, "@stream"], CONTROL, RT_PARAM, UNSUPPORTED),
    (["aclrtMemcpyBatchV2", *EMPTY_BATCH], ALL, OK, None),
    (["aclrtMemcpyBatchV2", "@pinned", "@ones", "@pinned", None, 1, "buffer", "buffer", 0], ALL, INVALID_PARAM, None),
    (["aclrtGetMemcpyDescSize", INNER, "out"], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtGetMemcpyDescSize", 8, "out"], ALL, INVALID_PARAM, None),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 64, None], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 5 * GIB, None], DESCRIBED, RT_PARAM, UNSUPPORTED),
    (["aclrtSetMemcpyDesc", "@dev", INNER, "@dev2", "@dev2", 0, None], ALL, INVALID_PARAM, None),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, "@stream"], DESCRIBED, OK, UNSUPPORTED),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, "@dev"], DESCRIBED, INVALID_HANDLE, UNSUPPORTED),
    (["aclrtMemcpyAsyncWithDesc", "@dev", INNER, None], ALL, INVALID_PARAM, None),
    (
        ["aclrtMemcpyAsyncWithOffset", "@dev", 64, 0, "@dev", 64, 0, INNER, "@dev"],
        CONTROL | {"910"},
        INVALID_HANDLE,
        UNSUPPORTED,
    ),
    (["aclrtMemcpyAsyncWithOffset", "@dev", 64, 0, "@dev", 64, 0, D2D, "@stream"], ALL, RT_PARAM, None),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@dev2", 32, 16, 4, D2D, "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@dev2", 32, 16, 4, DEFAULT, "@stream"], CONTROL, OK, UNSUPPORTED),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@pinned", 32, 16, 4, H2D, "@stream"], ALL, OK, None),
    (["aclrtMemcpy2dAsync", "@dev", 32, "@pinned", 32, 16, 4, H2D, None], CONTROL, OK, RT_PARAM),
    (["aclrtMemcpy2d", "@dev", 32, "@pinned", 32, 16, 4, D2D], ALL, UNSUPPORTED, None),
    (["aclrtMemcpyAsync", "@dev", 64, "@pinned", 64, BUFFERED, None], ALL, OK, None),
    (["aclrtMemcpyAsyncWithCondition", "@dev", 64, "@pinned", 64, H2D, "@stream"], ALL, OK, None),
    # A missing feature is reported as success here, a wrong argument is not.
    (["aclrtMemsetD32", "@dev", 64, 1, 16], ALL, OK, None),
    (["aclrtMemsetD32", "@dev", 63, 1, 16], ALL, INVALID_PARAM, None),
    (["aclrtMemsetD32Async", "@dev", 64, 1, 16, "@dev"], CONTROL, INVALID_HANDLE, OK),
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_codes_of_the_products(product: str, calls: Callable[..., list[Any]]) -> None:
    answers = calls([*START, *(row[0] for row in CODES)], ASCEND_RT_SIM_PRODUCT=product)
    assert {code for code, _ in answers[: len(START)]} == {OK}
    for (call, those, code, rest), (answer, _) in zip(CODES, answers[len(START) :], strict=True):
        assert answer == (code if product in those else rest), call


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_sizes_of_descriptors(product: str, calls: Callable[..., list[Any]]) -> None:
    ((_, outs),) = calls([["aclrtGetMemcpyDescSize", INNER, "out"]], ASCEND_RT_SIM_PRODUCT=product)
    assert outs == [(64 if product == "950" else 32) if product in DESCRIBED else 0]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_words_are_filled_where_the_chip_can(product: str, child: Callable[..., Any]) -> None:
    script = """
    pointer, found = ffi.new("void **"), ffi.new("uint32_t[6]")
    codes = [lib.aclrtSetDevice(0), lib.aclrtMalloc(pointer, 64, 0), lib.aclrtMemset(pointer[0], 64, 0, 64)]
    codes.append(lib.aclrtMemsetD32(pointer[0], 64, 0x01020304, 2))
    codes.append(lib.aclrtMemsetD32Async(ffi.cast("char *", pointer[0]) + 12, 52, 0xFFFFFFFF, 2, ffi.NULL))
    codes += [lib.aclrtSynchronizeStream(ffi.NULL), lib.aclrtMemcpy(found, 24, pointer[0], 24, 2)]
    reported([codes, list(found), lib.aclrtGetLastError(0)])
    """
    codes, found, remembered = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert codes == [OK] * 7
    assert found == ([0x01020304] * 2 + [0] + [0xFFFFFFFF] * 2 + [0] if product in CONTROL else [0] * 6)
    assert remembered == OK


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_copies_between_devices_need_access_to_the_peer(product: str, calls: Callable[..., list[Any]]) -> None:
    needs_access = product in {"910B", "310P", "910", "950"}
    across = [
        ["aclrtMemcpy", "@there", 64, "@here", 64, D2D],
        ["aclrtMemcpy", "@here", 64, "@there", 64, DEFAULT],
        ["aclrtMemcpyAsync", "@there", 64, "@here", 64, D2D, None],
    ]
    rows: list[list[Any]] = [
        ["aclrtSetDevice", 1],
        ["aclrtMalloc", "out:there", 64, 0],
        ["aclrtSetDevice", 0],
        ["aclrtMalloc", "out:here", 64, 0],
        *across,
        ["aclrtMemcpy", "@there", 64, "buffer", 64, H2D],  # not between devices
        ["aclrtSetDevice", 1],
        ["aclrtDeviceEnablePeerAccess", 0, 0],  # one direction only
        ["aclrtSetDevice", 0],
        across[0],
        ["aclrtDeviceEnablePeerAccess", 1, 0],
        *across,
        ["aclrtDeviceDisablePeerAccess", 1],
        across[0],
        ["aclrtSynchronizeDevice"],
    ]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product, ASCEND_RT_SIM_DEVICES="2")]
    refused, peers = RT_PARAM if needs_access else OK, UNSUPPORTED if product == "310B" else OK
    expected = [OK] * 4 + [refused] * 3 + [OK] * 2 + [peers, OK, refused, peers, OK, OK, OK, peers, refused, OK]
    assert codes == expected
