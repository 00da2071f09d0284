# SPDX-License-Identifier: Apache-2.0
"""Device memory: pages, sizes, accounting, freeing, and questions about addresses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.codes import INVALID_DEVICE, INVALID_PARAM, NO_CONTEXT, OK, OUT_OF_MEMORY, PRODUCTS, RT_PARAM, UNSUPPORTED

MEMORY_TYPE = 107016
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SMALL, HUGE, GIANT = 4 * KIB, 2 * MIB, GIB
MEMORY = {
    "910B": 62428 * MIB,
    "910C": 62748 * MIB,
    "310B": 12 * GIB,
    "310P": 24 * GIB,
    "910": 32 * GIB,
    "950": 128 * GIB,
}
USED = {"910B": 384 * MIB, "910C": 384 * MIB}  # before a program allocates anything (hardware_seen.md section 4.2)
WITH_HUGE1G = {"910B", "910C", "950"}
WITH_DDR = {"310B", "310P"}
WITHOUT_P2P = {"310B"}
WITHOUT_PADDING = {"950"}
LARGEST = 2**64 - 1


class Memory:
    """Allocates, and frees what is left at the end."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib, self.ffi = lib, ffi
        self.blocks: list[Any] = []

    def __call__(self, size: int, policy: int = 0, function: str = "aclrtMalloc", *configuration: Any) -> Any:
        out = self.ffi.new("void **")
        call = getattr(self.lib, function)
        as_declared = int(self.ffi.cast(self.ffi.typeof(call).args[2], policy))
        assert call(out, size, as_declared, *configuration) == OK
        self.blocks.append(out[0])
        return out[0]

    def free(self, block: Any) -> None:
        self.blocks.remove(block)
        assert self.lib.aclrtFree(block) == OK

    def page_of(self, block: Any) -> int:
        attributes = self.ffi.new("aclrtPtrAttributes *")
        assert self.lib.aclrtPointerGetAttributes(block, attributes) == OK
        assert (attributes.location.type, attributes.location.id) == (self.lib.ACL_MEM_LOCATION_TYPE_DEVICE, 0)
        return int(attributes.pageSize)

    def size_of(self, block: Any) -> int:
        base, size = self.ffi.new("void **"), self.ffi.new("size_t *")
        assert self.lib.aclrtMemGetAddressRange(block + 1, base, size) == OK
        assert base[0] == block
        return int(size[0])


@pytest.fixture
def memory(lib: Any, ffi: Any, device: Any) -> Iterator[Memory]:
    memory = Memory(lib, ffi)
    yield memory
    for block in list(memory.blocks):
        memory.free(block)


def configuration(ffi: Any, *attributes: tuple[int, int]) -> tuple[Any, Any]:
    """Return an aclrtMallocConfig and what it needs to live."""
    array = ffi.new("aclrtMallocAttribute[]", [{"attr": kind} for kind, _ in attributes])
    for attribute, (_, value) in zip(array, attributes, strict=True):
        attribute.value.deviceId = value  # the members of the union begin at the same place
    return ffi.new("aclrtMallocConfig *", {"attrs": array, "numAttrs": len(attributes)}), array


# --- pages -----------------------------------------------------------------------------------------------------------

# Policy: the page of 4 KiB, of exactly 1 MiB, and of 3 MiB. The padding precedes the threshold of "huge first".
PAGES = {
    0: (SMALL, HUGE, HUGE),
    1: (HUGE, HUGE, HUGE),
    2: (SMALL, SMALL, SMALL),
    3: (SMALL, SMALL, SMALL),  # the huge P2P policies silently take normal pages here
    4: (SMALL, SMALL, SMALL),
    5: (SMALL, SMALL, SMALL),
    6: (GIANT, GIANT, GIANT),
    7: (GIANT, GIANT, GIANT),
    8: (SMALL, HUGE, HUGE),
    -1: (SMALL, HUGE, HUGE),
    0x101: (SMALL, HUGE, HUGE),  # no bits above the policy are known here
}
SIZES = (4 * KIB, MIB, 3 * MIB)
WITHOUT_P2P_POLICIES = {3: PAGES[0], 4: PAGES[0], 5: PAGES[0], 7: PAGES[0]}
# With a configuration, without padding: 1 MiB is not above 1 MiB.
CONFIGURED = {
    0: (SMALL, SMALL, HUGE),
    1: (HUGE, HUGE, HUGE),
    2: (SMALL, SMALL, SMALL),
    3: (SMALL, SMALL, HUGE),
    4: (HUGE, HUGE, HUGE),
    5: (SMALL, SMALL, SMALL),
    6: (GIANT, GIANT, GIANT),
    7: (GIANT, GIANT, GIANT),
    99: (SMALL, SMALL, HUGE),
    0x1001: (HUGE, HUGE, HUGE),
    0x101102: (SMALL, SMALL, SMALL),
    0x100063: (SMALL, SMALL, HUGE),
}
ALIGNED = PAGES | dict.fromkeys((0, 8, -1, 0x101), (SMALL, SMALL, HUGE))


@pytest.mark.parametrize(
    ("function", "table", "extra"),
    [
        ("aclrtMalloc", PAGES, False),
        ("aclrtMallocCached", PAGES | WITHOUT_P2P_POLICIES, False),
        ("aclrtMallocAlign32", ALIGNED, False),
        ("aclrtMallocWithCfg", CONFIGURED, True),
        ("aclrtMallocForTaskScheduler", CONFIGURED, True),
    ],
)
def test_pages(function: str, table: dict[int, tuple[int, ...]], extra: bool, memory: Memory, ffi: Any) -> None:
    for policy, pages in table.items():
        for size, page in zip(SIZES, pages, strict=True):
            block = memory(size, policy, function, *([ffi.NULL] if extra else []))
            assert memory.page_of(block) == page, (policy, size)
            padded = size if function.endswith(("32", "Cfg", "Scheduler")) or page == GIANT else size + 32
            assert memory.size_of(block) == -(-padded // page) * page, (policy, size)
            assert int(ffi.cast("uintptr_t", block)) % (512 if page == SMALL else page) == 0
            memory.free(block)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_policies_that_a_product_has(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtMalloc", "out", 64, policy] for policy in range(8)]
    rows += [["aclrtMallocWithCfg", "out", 64, policy, None] for policy in range(8)]
    rows += [["aclrtMallocCached", "out", 64, policy] for policy in range(8)]
    codes = [code for code, _ in calls([["aclrtSetDevice", 0], *rows], ASCEND_RT_SIM_PRODUCT=product)[1:]]
    giant = OK if product in WITH_HUGE1G else UNSUPPORTED
    p2p = UNSUPPORTED if product in WITHOUT_P2P else OK
    all_policies = [OK, OK, OK, p2p, p2p, p2p, giant, UNSUPPORTED if p2p or giant else OK]
    assert codes == [*all_policies, *all_policies, OK, OK, OK, OK, OK, OK, giant, OK]


# --- sizes and accounting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_padding(product: str, calls: Callable[..., list[Any]]) -> None:
    # Blocks of small pages are taken in steps of 512 bytes: 480 bytes and 32 more fill one.
    asked = ["aclrtGetMemInfo", 12, "out:free", "out:total"]
    rows = [
        ["aclrtSetDevice", 0],
        asked,
        ["aclrtMalloc", "out", 8 * 512 - 32, 2],
        asked,
        *[["aclrtMalloc", "out", 512, 2]] * 8,
        asked,
        *[["aclrtMallocAlign32", "out", 512, 2]] * 8,
        asked,
    ]
    answers = calls(rows, ASCEND_RT_SIM_PRODUCT=product)
    free = [values[0] for _, values in answers if len(values) == 2]
    taken = [before - after for before, after in itertools.pairwise(free)]
    assert taken == [4096, 4096 if product in WITHOUT_PADDING else 8192, 4096]


DDR_ONLY, P2P, GIANT_PAGES = {0, 2, 3, 6, 7}, {6, 7, 8, 9, 11, 15, 16, 17}, {10, 11, 14, 17}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_what_is_free_by_attribute(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [["aclrtGetMemInfo", attribute, "out:free", "out:total"] for attribute in range(18)]
    answers = calls([["aclrtSetDevice", 0], *rows], ASCEND_RT_SIM_PRODUCT=product)[1:]
    for attribute, (code, values) in enumerate(answers):
        if attribute in GIANT_PAGES and product not in WITH_HUGE1G:
            assert code == UNSUPPORTED, attribute
            continue
        assert code == OK, attribute
        missing = (attribute in DDR_ONLY and product not in WITH_DDR) or (attribute in P2P and product in WITHOUT_P2P)
        free, total = values
        assert total == (0 if missing else MEMORY[product]), attribute
        page = GIANT if attribute in GIANT_PAGES else SMALL
        assert free == (0 if missing else (total - USED.get(product, 0)) // page * page), attribute


def test_everything_comes_back(memory: Memory, device: Any) -> None:
    before = device.memory_info
    blocks = [memory(size, policy) for policy in (0, 1, 2, 5, 6) for size in (1, MIB, 5 * MIB)]
    assert before.free - device.memory_info.free >= 3 * 6 * MIB + 3 * GIB
    for block in blocks[::2] + blocks[1::2]:
        memory.free(block)
    assert device.memory_info == before


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_all_of_a_device(product: str, calls: Callable[..., list[Any]]) -> None:
    # Nothing is touched: no host has so much.
    total = MEMORY[product]
    rows = [
        ["aclrtSetDevice", 0],
        ["aclrtMallocAlign32", "out:all", total - GIB, 2],
        ["aclrtMallocAlign32", "out", 2 * GIB, 2],
        ["aclrtMallocAlign32", "out", LARGEST - 64, 2],
        ["aclrtMallocAlign32", "out", LARGEST - 62, 2],
        ["aclrtMallocAlign32", "out", LARGEST - 31, 2],
        ["aclrtMallocAlign32", "out", LARGEST, 2],
        ["aclrtMalloc", "out", LARGEST - 62, 2],
        ["aclrtMalloc", "out", LARGEST - 64, 2],
        ["aclrtFree", "@all"],
        ["aclrtMallocAlign32", "out", total - GIB, 2],
    ]
    codes = [code for code, _ in calls(rows, ASCEND_RT_SIM_PRODUCT=product)]
    padded = OUT_OF_MEMORY if product in WITHOUT_PADDING else INVALID_PARAM
    wraps = [OUT_OF_MEMORY, OUT_OF_MEMORY, INVALID_PARAM, INVALID_PARAM, padded, OUT_OF_MEMORY]
    assert codes == [OK, OK, OUT_OF_MEMORY, *wraps, OK, OK]


def test_untouched_memory_can_be_used_anywhere(memory: Memory, lib: Any, ffi: Any) -> None:
    block = memory(40 * GIB, 2)
    for at in (0, 20 * GIB - 3, 40 * GIB - 5):
        assert lib.aclrtMemcpy(block + at, 5, b"hello", 5, 1) == OK
        read = ffi.new("char[5]")
        assert lib.aclrtMemcpy(read, 5, block + at, 5, 2) == OK
        assert bytes(ffi.buffer(read)) == b"hello"
    assert lib.aclrtMemcpy(block + 40 * GIB, 1024, b"x", 1, 1) == OK  # the padding belongs to the block
    assert lib.aclrtMemcpy(block + 40 * GIB + 4096, 1024, b"x", 1, 1) == RT_PARAM


def test_usage_by_component(child: Callable[..., Any]) -> None:
    reported = child(
        """
        lib.aclrtSetDevice(0)
        def allocate(module, size, *more):
            attributes = ffi.new("aclrtMallocAttribute[]", 1 + len(more))
            for attribute, value in zip(attributes, (module, *more)):
                attribute.attr, attribute.value.moduleId = 1, value
            out = ffi.new("void **")
            config = ffi.new("aclrtMallocConfig *", {"attrs": attributes, "numAttrs": len(attributes)})
            assert lib.aclrtMallocWithCfg(out, size, 1, config) == 0
            return out[0]
        def usage(room):
            found, count = ffi.new("aclrtMemUsageInfo[4]"), ffi.new("size_t *", 99)
            code = lib.aclrtGetMemUsageInfo(0, found, room, count)
            rows = [[ffi.string(it.name).decode(), it.curMemSize >> 20, it.memPeakSize >> 20] for it in found]
            return code, rows[:count[0]], count[0]
        allocate(3, 10 << 20)
        freed = allocate(4, 20 << 20)
        allocate(65535, 4 << 20)  # more modules than there are: the application's
        allocate(4, 2 << 20, 3)  # the last one counts
        lib.aclrtFree(freed)
        reported([usage(4), usage(2), usage(0)])
        """
    )
    full, two, none = reported
    assert full == [OK, [["MODULE_3", 12, 12], ["APP", 4, 4], ["MODULE_4", 0, 20]], 3]
    assert two == [OK, full[1][:2], 2]
    assert none == [RT_PARAM, [], 0]


# --- freeing ---------------------------------------------------------------------------------------------------------


@pytest.mark.simulator("deadly")
def test_only_starts_of_live_blocks_are_freed(memory: Memory, check: Any, lib: Any, ffi: Any) -> None:
    block, freed = memory(64 * KIB), memory(64 * KIB)
    memory.free(freed)
    pinned = ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, 4096) == OK
    addresses = {
        "freed": freed,
        "inside": block + 512,
        "garbage": ffi.cast("void *", 0x1234567800),
        "pinned": pinned[0],
        "pageable": ffi.new("char[64]"),
    }
    for function in ("aclrtFree", "aclrtFreeWithDevSync"):
        check([(function, ("NULL",), INVALID_PARAM)])
        check([(function, (name,), RT_PARAM) for name in addresses], **addresses)
    assert lib.aclrtMemcpy(block, 64 * KIB, b"live", 4, 1) == OK
    assert lib.aclrtFreeHost(pinned[0]) == OK


def test_freeing_needs_no_context(child: Callable[..., Any]) -> None:
    assert child(
        """
        lib.aclrtSetDevice(0)
        out, more = ffi.new("void **"), ffi.new("void **")
        lib.aclrtMalloc(out, 64, 0), lib.aclrtMalloc(more, 64, 0)
        codes = []
        def free():
            codes.append(lib.aclrtFreeWithDevSync(more[0]))
            codes.append(lib.aclrtFree(out[0]))
        thread = threading.Thread(target=free)
        thread.start(), thread.join()
        reported(codes)
        """
    ) == [NO_CONTEXT, OK]


@pytest.mark.simulator("faults")
def test_nothing_is_freed_when_the_synchronization_fails(child: Callable[..., Any]) -> None:
    assert child(
        """
        import ascend_rt.sim
        lib.aclrtSetDevice(0)
        device, host = ffi.new("void **"), ffi.new("void **")
        lib.aclrtMalloc(device, 64, 0), lib.aclrtMallocHost(host, 64)
        lib.aclsimLoseDevice(0, 507899)
        codes = [lib.aclrtFreeWithDevSync(device[0]), lib.aclrtFreeHostWithDevSync(host[0])]
        lib.aclsimClearFaults()
        reported(codes + [lib.aclrtFree(device[0]), lib.aclrtFreeHost(host[0])])
        """
    ) == [507899, 507899, OK, OK]


def test_a_reset_frees_everything(calls: Callable[..., list[Any]]) -> None:
    asked = ["aclrtGetMemInfo", 12, "out", "out"]
    rows = [["aclrtSetDevice", 0], asked, *[["aclrtMalloc", "out:block", 5 * MIB, 0]] * 3, asked]
    rows += [["aclrtResetDevice", 0], ["aclrtFree", "@block"], ["aclrtSetDevice", 0], asked]
    answers = calls(rows)
    free = [values for _, values in answers if len(values) == 2]
    assert free[0] == free[2] != free[1]
    assert answers[-3][0] == RT_PARAM


# --- arguments -------------------------------------------------------------------------------------------------------

ALLOCATORS = ("aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocCached")
CONFIGURED_ALLOCATORS = ("aclrtMallocWithCfg", "aclrtMallocForTaskScheduler")


def test_arguments_of_allocations(check: Any, device: Any, ffi: Any) -> None:
    rows: list[tuple[str, tuple[Any, ...], int]] = []
    for function in ALLOCATORS:
        rows += [(function, ("NULL", 0, 0), INVALID_PARAM), (function, ("out", 0, 0), INVALID_PARAM)]
    for function in CONFIGURED_ALLOCATORS:
        rows += [
            (function, ("NULL", 64, 0, "NULL"), INVALID_PARAM),
            (function, ("out", 64, 0, "counted"), INVALID_PARAM),
            (function, ("out", 0, 0, "empty"), INVALID_PARAM),
            (function, ("out", 64, 0, "empty"), RT_PARAM),
            (function, ("out", 64, 0, "flag"), RT_PARAM),
            (function, ("out", 64, 0, "unknown"), RT_PARAM),
            (function, ("out", 64, 0, "elsewhere"), RT_PARAM),
            (function, ("out", 64, 0, "back"), OK),
            (function, ("out", 64, 0, "reserved"), OK),
            (function, ("out", 64, 0, "uncounted"), OK),
        ]
    made = {
        "flag": configuration(ffi, (3, 0)),
        "unknown": configuration(ffi, (9, 0)),
        "elsewhere": configuration(ffi, (2, 0), (2, 1)),
        "back": configuration(ffi, (2, 1), (2, 0)),
        "reserved": configuration(ffi, (0, 7), (1, 3)),
        "uncounted": configuration(ffi, (9, 0)),
    }
    made["uncounted"][0].numAttrs = 0
    values = {name: config for name, (config, _) in made.items()}
    values |= {"out": ffi.new("void **"), "empty": ffi.new("aclrtMallocConfig *")}
    values["counted"] = ffi.new("aclrtMallocConfig *", {"numAttrs": 1})
    check(rows, **values)


@pytest.mark.simulator("deadly")
def test_no_context(calls: Callable[..., list[Any]]) -> None:
    rows = [
        (["aclrtMalloc", "out", 64, 6], NO_CONTEXT),
        (["aclrtMallocAlign32", "out", 64, 0], NO_CONTEXT),
        (["aclrtMallocCached", "out", 64, 0], NO_CONTEXT),
        (["aclrtMallocWithCfg", "out", 64, 0, None], NO_CONTEXT),
        (["aclrtMallocWithCfg", "out", 64, 0, {}], RT_PARAM),
        (["aclrtMallocForTaskScheduler", "out", 64, 0, None], NO_CONTEXT),
        (["aclrtFreeWithDevSync", "buffer"], NO_CONTEXT),
        (["aclrtMemFlush", "buffer", 64], NO_CONTEXT),
        (["aclrtMemInvalidate", "buffer", 64], NO_CONTEXT),
        (["aclrtGetMemInfo", 18, "out", "out"], MEMORY_TYPE),
        (["aclrtGetMemInfo", 0, "out", "out"], NO_CONTEXT),
        (["aclrtGetMemUsageInfo", 0, "buffer", 1, "out"], NO_CONTEXT),
        (["aclrtGetMemUsageInfo", 9, "buffer", 1, "out"], INVALID_DEVICE),
        (["aclrtCheckMemType", "buffer", 1, 2, "out", 0], NO_CONTEXT),
        (["aclrtCheckMemType", "buffer", 1, 2, "out", 1], RT_PARAM),
        (["aclrtMemP2PMap", "buffer", 64, 0, 0], NO_CONTEXT),
        (["aclrtMemP2PMap", "buffer", 64, 9, 0], INVALID_DEVICE),
    ]
    answers = calls([call for call, _ in rows])
    for (call, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == code, call


def test_arguments_of_questions(check: Any, memory: Memory, ffi: Any) -> None:
    values = {
        "block": memory(64 * KIB),
        "size": ffi.new("size_t *"),
        "total": ffi.new("size_t *"),
        "infos": ffi.new("aclrtMemUsageInfo[1]"),
        "attributes": ffi.new("aclrtPtrAttributes *"),
        "base": ffi.new("void **"),
        "host": ffi.new("char[64]"),
    }
    rows = [
        ("aclrtMemFlush", ("NULL", 64), INVALID_PARAM),
        ("aclrtMemFlush", ("block", 0), INVALID_PARAM),
        ("aclrtMemFlush", ("block", 64), OK),
        ("aclrtMemInvalidate", ("NULL", 64), INVALID_PARAM),
        ("aclrtMemInvalidate", ("block", 0), INVALID_PARAM),
        ("aclrtMemInvalidate", ("block", 64), OK),
        ("aclrtGetMemInfo", (-1, "NULL", "total"), INVALID_PARAM),
        ("aclrtGetMemInfo", (-1, "size", "NULL"), INVALID_PARAM),
        ("aclrtGetMemInfo", (-1, "size", "total"), MEMORY_TYPE),
        ("aclrtGetMemInfo", (18, "size", "total"), MEMORY_TYPE),
        ("aclrtGetMemUsageInfo", (9, "NULL", 0, "size"), INVALID_PARAM),
        ("aclrtGetMemUsageInfo", (9, "infos", 0, "NULL"), INVALID_PARAM),
        ("aclrtGetMemUsageInfo", (9, "infos", 0, "size"), RT_PARAM),
        ("aclrtGetMemUsageInfo", (9, "infos", 1, "size"), INVALID_DEVICE),
        ("aclrtGetMemUsageInfo", (-1, "infos", 1, "size"), INVALID_DEVICE),
        ("aclrtPointerGetAttributes", ("NULL", "attributes"), INVALID_PARAM),
        ("aclrtPointerGetAttributes", ("block", "NULL"), INVALID_PARAM),
        ("aclrtMemGetAddressRange", ("NULL", "NULL", "NULL"), INVALID_PARAM),
        ("aclrtMemGetAddressRange", ("block", "NULL", "NULL"), RT_PARAM),
        ("aclrtMemGetAddressRange", ("block", "base", "NULL"), OK),
        ("aclrtMemGetAddressRange", ("block", "NULL", "size"), OK),
        ("aclrtMemGetAddressRange", ("host", "base", "size"), RT_PARAM),
    ]
    check(rows, **values)


@pytest.mark.simulator("products")
def test_usage_is_unknown_to_one_product(calls: Callable[..., list[Any]]) -> None:
    for product in PRODUCTS:
        rows = [["aclrtSetDevice", 0], ["aclrtGetMemUsageInfo", 0, "buffer", 1, "out"]]
        code = calls(rows, ASCEND_RT_SIM_PRODUCT=product)[1][0]
        assert code == (UNSUPPORTED if product == "950" else OK), product


DEV, DVPP, RESERVED = 2, 8, 0x10


def test_types_of_memory(memory: Memory, lib: Any, ffi: Any) -> None:
    block, freed, result = memory(64 * KIB), memory(64 * KIB), ffi.new("uint32_t *")
    memory.free(freed)
    host = ffi.new("char[64]")
    pinned = ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, 64) == OK
    answers = [
        ([block], DEV, 1),
        ([block, block + 5], DEV, 1),
        ([block], DEV | DVPP, 1),
        ([block], DVPP, 0),
        ([block], 0, 0),
        ([block, host], DEV, 0),
        ([pinned[0]], DEV, 0),
        ([freed], DEV, 0),
        ([ffi.NULL], DEV, 0),
    ]
    for addresses, kinds, expected in answers:
        assert lib.aclrtCheckMemType(ffi.new("void *[]", addresses), len(addresses), kinds, result, 0) == OK
        assert result[0] == expected, (addresses, kinds)
    assert lib.aclrtFreeHost(pinned[0]) == OK


def test_arguments_of_types(check: Any, device: Any, ffi: Any) -> None:
    values = {"list": ffi.new("void *[1]"), "result": ffi.new("uint32_t *")}
    rows = [
        ("aclrtCheckMemType", ("NULL", 0, 0, "result", 1), INVALID_PARAM),
        ("aclrtCheckMemType", ("list", 0, 0, "NULL", 1), INVALID_PARAM),
        ("aclrtCheckMemType", ("list", 1, DEV, "result", 1), RT_PARAM),
        ("aclrtCheckMemType", ("list", 0, DEV, "result", 0), RT_PARAM),
        ("aclrtCheckMemType", ("list", 1, 1, "result", 0), RT_PARAM),
        ("aclrtCheckMemType", ("list", 1, RESERVED, "result", 0), RT_PARAM),  # the runtime knows it by another number
    ]
    check(rows, **values)


@pytest.mark.parametrize("place", ["pageable", "pinned", "device"])
def test_attributes_of_pointers(place: str, memory: Memory, lib: Any, ffi: Any) -> None:
    attributes, pinned = ffi.new("aclrtPtrAttributes *"), ffi.new("void **")
    assert lib.aclrtMallocHost(pinned, 3 * MIB) == OK
    address = {"pageable": ffi.new("char[64]"), "pinned": pinned[0], "device": memory(64)}[place]
    assert lib.aclrtPointerGetAttributes(address, attributes) == OK
    kind = {"pageable": 2, "pinned": 0, "device": 1}[place]
    page = HUGE if place == "pinned" else SMALL
    assert (attributes.location.type, attributes.location.id, attributes.pageSize) == (kind, 0, page)
    assert list(attributes.rsv) == [0] * 4
    assert lib.aclrtFreeHost(pinned[0]) == OK


@pytest.mark.simulator("products")
def test_devices_are_reported_by_the_number_that_the_user_sees(child: Callable[..., Any]) -> None:
    script = """
        lib.aclrtSetDevice(1)
        out, attributes = ffi.new("void **"), ffi.new("aclrtPtrAttributes *")
        lib.aclrtMalloc(out, 64, 0)
        lib.aclrtPointerGetAttributes(out[0], attributes)
        reported(attributes.location.id)
        """
    assert child(script, ASCEND_RT_SIM_DEVICES=4, ASCEND_RT_VISIBLE_DEVICES="1,3") == 1


# --- memory for other devices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_memory_for_another_device(product: str, calls: Callable[..., list[Any]]) -> None:
    rows = [
        (["aclrtSetDevice", 0], OK),
        (["aclrtMalloc", "out:block", 64 * KIB, 1], OK),
        (["aclrtMemP2PMap", None, 64, 1, 0], INVALID_PARAM),
        (["aclrtMemP2PMap", "@block", 0, 1, 0], INVALID_PARAM),
        (["aclrtMemP2PMap", "@block", 64, 1, 1], INVALID_PARAM),
        (["aclrtMemP2PMap", "@block", 64, 2, 0], INVALID_DEVICE),
        (["aclrtMemP2PMap", "@block", 64, -1, 0], INVALID_DEVICE),
        (["aclrtMemP2PMap", "@block", 64, 1, 0], RT_PARAM),
        (["aclrtDeviceEnablePeerAccess", 1, 0], OK),
        (["aclrtMemP2PMap", "@block", 64, 1, 0], OK),
        (["aclrtMemP2PMap", "@block", 2 * MIB, 1, 0], OK),
        (["aclrtMemP2PMap", "@block", 2 * MIB + 1, 1, 0], RT_PARAM),
        (["aclrtMemP2PMap", "buffer", 64, 1, 0], RT_PARAM),
        (["aclrtFree", "@block"], OK),
        (["aclrtMemP2PMap", "@block", 64, 1, 0], RT_PARAM),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_DEVICES=2, ASCEND_RT_SIM_PRODUCT=product)
    lacks = product in WITHOUT_P2P
    for (call, code), (answer, _) in zip(rows, answers, strict=True):
        beyond = lacks and code != INVALID_PARAM and call[0] in ("aclrtMemP2PMap", "aclrtDeviceEnablePeerAccess")
        assert answer == (UNSUPPORTED if beyond else code), call
