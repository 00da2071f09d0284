# SPDX-License-Identifier: Apache-2.0
"""Memory that two processes share, by key and by shareable handle; no step waits for time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
    NOT_PERMITTED,
    OK,
    PRODUCTS,
    RT_PARAM,
    UNSUPPORTED,
)

HUGE = 2 << 20
ANYBODY = 1  # the flag of an export that checks no process
DEFAULT, FABRIC = 1, 2
WITH_IPC = set(PRODUCTS) - {"310B"}
KEY = "/ascend_rt-1.1"  # well-formed, but never exported

pytestmark = pytest.mark.usefixtures("no_shared_memory_is_left")

# The messages to the second process.
IMPORT = "lib.aclrtIpcMemImportByKey(objects.setdefault('at', ffi.new('void **')), {key!r}, {flags})"
CLOSE = "lib.aclrtIpcMemClose({key!r})"
WRITE = "lib.aclrtMemcpy(objects['at'][0] + {at}, {size}, {data!r}, {size}, 4)"
READ = (
    "[(b := ffi.new('char[{size}]')), lib.aclrtMemcpy(b, {size}, objects['at'][0] + {at}, {size}, 4), "
    "bytes(ffi.buffer(b))][1:]"
)


@pytest.fixture
def block(lib: Any, ffi: Any, device: Any) -> Iterator[Any]:
    out = ffi.new("void **")
    assert lib.aclrtMalloc(out, 2 * HUGE - 32, 1) == OK
    yield out[0]
    assert lib.aclrtFree(out[0]) == OK


def export(lib: Any, ffi: Any, block: Any, flags: int = ANYBODY, size: int = 2 * HUGE) -> bytes:
    key = ffi.new("char[65]")
    assert lib.aclrtIpcMemGetExportKey(block, size, key, 65, flags) == OK
    return bytes(ffi.string(key))


def written(lib: Any, address: Any, data: bytes) -> None:
    assert lib.aclrtMemcpy(address, len(data), data, len(data), 4) == OK


def read(lib: Any, ffi: Any, address: Any, size: int) -> bytes:
    out = ffi.new("char[]", size)
    assert lib.aclrtMemcpy(out, size, address, size, 4) == OK
    return bytes(ffi.buffer(out))


# --- keys ------------------------------------------------------------------------------------------------------------


def test_each_process_sees_what_the_other_wrote(block, process, lib, ffi) -> None:
    key = export(lib, ffi, block)
    written(lib, block + 5, b"from here")
    assert process(IMPORT.format(key=key, flags=0)) == "0"
    assert process(READ.format(at=5, size=9)) == "[0, b'from here']"
    assert process(WRITE.format(at=2 * HUGE - 5, size=5, data=b"there")) == "0"
    assert read(lib, ffi, block + 2 * HUGE - 5, 5) == b"there"
    assert process(WRITE.format(at=2 * HUGE - 4, size=5, data=b"there")) == "107000"
    assert process(CLOSE.format(key=key)) == "0"
    assert process(READ.format(at=5, size=9)).startswith("[107000")
    assert process(CLOSE.format(key=key)) == "107000"
    assert lib.aclrtIpcMemClose(key) == OK
    assert lib.aclrtIpcMemClose(key) == RT_PARAM


def test_imported_memory_is_memory_of_a_device(block, process, lib, ffi) -> None:
    key = export(lib, ffi, block)
    assert process(IMPORT.format(key=key, flags=1)) == "0"
    attributes = "[(a := ffi.new('aclrtPtrAttributes *')), lib.aclrtPointerGetAttributes(objects['at'][0] + 9, a),"
    assert process(attributes + "a.location.type, a.location.id, a.pageSize][1:]") == f"[0, 1, 0, {HUGE}]"
    assert process("lib.aclrtFree(objects['at'][0])") == "107000"  # it is closed, not freed
    assert process("lib.aclrtMemsetAsync(objects['at'][0], 4096, 7, 4096, raw)") == "0"
    assert process("stream.synchronize()") == "None"
    assert read(lib, ffi, block + 4095, 1) == b"\x07"
    assert process(CLOSE.format(key=key)) == "0"


# Where a device was seen to refuse at the import, nothing is left to be copied (hardware_seen.md section 4.12).
@pytest.mark.parametrize(("product", "flags", "code"), [("910", 0, RT_PARAM), ("910", 1, OK), ("910B", 1, OK)])
@pytest.mark.simulator("products")
def test_an_importer_need_not_see_the_memorys_device(
    product, flags, code, block, lib, ffi, monkeypatch, request
) -> None:
    monkeypatch.setenv("ASCEND_RT_SIM_PRODUCT", product)
    monkeypatch.setenv("ASCEND_RT_SIM_DEVICES", "4")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "2,3")
    process = request.getfixturevalue("process")
    key = export(lib, ffi, block)
    written(lib, block, b"from device 0")
    assert process("[Device(1).set_current(), objects.update(stream=Stream())]") == "[None, None]"
    assert process("lib.aclrtMalloc(objects.setdefault('own', ffi.new('void **')), 4096, 0)") == "0"
    assert process(IMPORT.format(key=key, flags=flags)) == "0"
    attributes = "[(a := ffi.new('aclrtPtrAttributes *')), lib.aclrtPointerGetAttributes(objects['at'][0] + 9, a),"
    assert process(attributes + "a.location.type, a.location.id][1:]") == "[0, 1, 1]"  # its own, as it knows no other
    assert process("lib.aclrtMemcpy(objects['own'][0], 4096, objects['at'][0], 4096, 3)") == str(code)
    copy = "lib.aclrtMemcpyAsync(objects['at'][0], 4096, objects['own'][0], 4096, 3, {stream})"
    assert process(copy.format(stream="ffi.cast('aclrtStream', objects['stream'].handle)")) == str(code)
    assert process("objects['stream'].synchronize()") == "None"
    assert process(READ.format(at=0, size=13)) == "[0, b'from device 0']"  # to the host it needs no access
    assert process(CLOSE.format(key=key)) == "0"


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_memory_of_another_device_needs_peer_access_at_the_import(product, child, process) -> None:
    """hardware_seen.md section 4.12: on devices of 910B and 910C the import itself fails."""
    if product not in WITH_IPC:
        return
    allocate = "lib.aclrtMalloc(objects.setdefault('block', ffi.new('void **')), 1 << 21, 1)"
    get = "[(k := ffi.new('char[65]')), lib.aclrtIpcMemGetExportKey(objects['block'][0], 1 << 21, k, 65, 1)] and "
    assert process(allocate) == "0"
    script = """
    key, out, another = sys.argv[1].encode(), ffi.new("void **"), ffi.new("void **")
    def imported(flags=0):
        return lib.aclrtIpcMemImportByKey(out, key, flags)
    assert lib.aclrtSetDevice(0) == 0
    codes = [imported()]  # the memory's own device
    assert lib.aclrtSetDevice(1) == 0
    codes += [imported(), out[0] != ffi.NULL, imported(1), imported()]  # with access enabled, the flag may be left out
    status = ffi.new("int32_t *")
    assert lib.aclrtDevicePeerAccessStatus(1, 0, status) == 0
    reported([*codes, status[0]])
    """
    key = eval(process(get + "ffi.string(k)")).decode()
    refused = DRIVER if product in ("910B", "910C") else OK
    assert child(script, key, ASCEND_RT_SIM_PRODUCT=product) == [OK, refused, True, OK, OK, 1]


def test_the_oldest_import_is_closed_first(block, process, lib, ffi) -> None:
    key = export(lib, ffi, block)
    assert process(IMPORT.format(key=key, flags=0)) == "0"
    assert process("objects.__setitem__('first', objects.pop('at'))") == "None"
    assert process(IMPORT.format(key=key, flags=0)) == "0"
    assert process("objects['first'][0] == objects['at'][0]") == "False"
    assert process(CLOSE.format(key=key)) == "0"
    assert process("lib.aclrtMemset(objects['first'][0], 1, 0, 1)") == "107000"
    assert process("lib.aclrtMemset(objects['at'][0], 1, 0, 1)") == "0"
    assert process(CLOSE.format(key=key)) == "0"
    assert process(CLOSE.format(key=key)) == "107000"


def test_only_processes_that_were_named_may_import(block, process, lib, ffi) -> None:
    key = export(lib, ffi, block, 0)
    assert process(IMPORT.format(key=key, flags=0)) == str(NOT_PERMITTED)
    others = ffi.new("int32_t[2]", [1, os.getpid()])
    assert lib.aclrtIpcMemSetImportPid(key, others, 2) == OK
    assert process(IMPORT.format(key=key, flags=0)) == str(NOT_PERMITTED)
    assert lib.aclrtIpcMemSetImportPid(key, ffi.new("int32_t[1]", [process.pid]), 1) == OK
    assert process(IMPORT.format(key=key, flags=0)) == "0"
    assert process(CLOSE.format(key=key)) == "0"


def test_whoever_checks_nobody_names_nobody(block, lib, ffi) -> None:
    key = export(lib, ffi, block, ANYBODY)
    assert lib.aclrtIpcMemSetImportPid(key, ffi.new("int32_t[1]", [1]), 1) == NOT_PERMITTED


def test_the_number_of_named_processes_is_limited(block, lib, ffi) -> None:
    key, many = export(lib, ffi, block, 0), ffi.new("int32_t[32769]")
    assert lib.aclrtIpcMemSetImportPid(key, many, 32769) == RT_PARAM
    assert lib.aclrtIpcMemSetImportPid(key, many, 32768) == OK
    assert lib.aclrtIpcMemSetImportPid(key, many, 1) == RT_PARAM


def test_the_exporter_does_not_import(block, lib, ffi) -> None:
    key = export(lib, ffi, block)
    assert lib.aclrtIpcMemImportByKey(ffi.new("void **"), key, 0) == RT_PARAM


@pytest.mark.parametrize("ends", ["close", "free", "reset"])
def test_an_import_after_the_export_has_ended(ends, process, lib, ffi, device) -> None:
    # The other process exports, because its device is reset.
    allocate = "lib.aclrtMalloc(objects.setdefault('block', ffi.new('void **')), 1 << 21, 1)"
    get = "[(k := ffi.new('char[65]')), lib.aclrtIpcMemGetExportKey(objects['block'][0], 1 << 21, k, 65, 1)] and "
    assert process(allocate) == "0"
    key = eval(process(get + "ffi.string(k)"))
    at = ffi.new("void **")
    assert lib.aclrtIpcMemImportByKey(at, key, 0) == OK
    end = {
        "close": f"lib.aclrtIpcMemClose({key!r})",
        "free": "lib.aclrtFree(objects['block'][0])",
        "reset": "lib.aclrtResetDeviceForce(0)",
    }
    assert process(end[ends]) == "0"
    assert lib.aclrtIpcMemImportByKey(ffi.new("void **"), key, 0) == RT_PARAM
    written(lib, at[0], b"still mapped")  # earlier imports stay until they are closed
    assert lib.aclrtIpcMemClose(key) == OK


def test_imported_memory_stays_mapped_when_its_exporter_ends(process, lib, ffi, device) -> None:
    allocate = "lib.aclrtMalloc(objects.setdefault('block', ffi.new('void **')), 1 << 21, 1)"
    get = "[(k := ffi.new('char[65]')), lib.aclrtIpcMemGetExportKey(objects['block'][0], 1 << 21, k, 65, 1)] and "
    assert process(allocate) == "0"
    key, at = eval(process(get + "ffi.string(k)")), ffi.new("void **")
    assert lib.aclrtIpcMemImportByKey(at, key, 0) == OK
    process.end()
    written(lib, at[0], b"still mapped")
    assert lib.aclrtIpcMemImportByKey(ffi.new("void **"), key, 0) == RT_PARAM
    assert lib.aclrtIpcMemClose(key) == OK


def test_a_reset_ends_imports(block, process, lib, ffi) -> None:
    key = export(lib, ffi, block)
    assert process(IMPORT.format(key=key, flags=0)) == "0"
    assert process("lib.aclrtResetDeviceForce(0)") == "0"
    assert process("lib.aclrtSetDevice(0)") == "0"
    assert process("lib.aclrtMemset(objects['at'][0], 1, 0, 1)") == "107000"
    assert process(CLOSE.format(key=key)) == "107000"


def test_every_block_has_a_key_of_its_own(lib, ffi, device) -> None:
    blocks, keys = [ffi.new("void **") for _ in range(4)], set()
    for out in blocks:
        assert lib.aclrtMalloc(out, HUGE, 1) == OK
        keys.add(export(lib, ffi, out[0], size=HUGE))
    assert len(keys) == 4
    assert all(len(key) < 65 for key in keys)
    for out in blocks:
        assert lib.aclrtFree(out[0]) == OK  # takes the export with it
    assert all(lib.aclrtIpcMemClose(key) == RT_PARAM for key in keys)


# --- arguments -------------------------------------------------------------------------------------------------------


def test_arguments(block, check, lib, ffi) -> None:
    small, managed, pinned = ffi.new("void **"), ffi.new("void **"), ffi.new("void **")
    blocks = [ffi.new("void **") for _ in range(2)]
    for out in blocks:
        assert lib.aclrtMalloc(out, 480, 2) == OK  # the second one shares a page with the first
    small[0] = next(it[0] for it in blocks if int(ffi.cast("uintptr_t", it[0])) % 4096)
    assert lib.aclrtMemAllocManaged(managed, HUGE, 1) == OK
    assert lib.aclrtMallocHost(pinned, HUGE) == OK
    values = {
        "block": block,
        "inside": block + 4096,
        "small": small[0],
        "managed": managed[0],
        "pinned": pinned[0],
        "garbage": ffi.cast("void *", GARBAGE),
        "key": ffi.new("char[65]"),
        "nobody": ffi.new("char[65]", KEY.encode()),
        "text": ffi.new("char[65]", b"no key at all"),
        "long": ffi.new("char[100]", b"x" * 99),
        "out": ffi.new("void **"),
        "pids": ffi.new("int32_t[1]", [1]),
    }
    get, name = "aclrtIpcMemGetExportKey", "aclrtIpcMemSetImportPid"
    rows = [
        (get, ("NULL", 0, "key", 0, 2), INVALID_PARAM),
        (get, ("block", 0, "NULL", 0, 2), INVALID_PARAM),
        (get, ("block", 0, "key", 65, 0), RT_PARAM),
        (get, ("block", HUGE, "key", 0, 0), RT_PARAM),
        (get, ("block", HUGE, "key", 64, 0), RT_PARAM),
        (get, ("block", HUGE, "key", 65, 2), RT_PARAM),
        *[(get, (it, 64, "key", 65, 0), RT_PARAM) for it in ("inside", "small", "managed", "pinned", "garbage")],
        (get, ("block", 2 * HUGE + 1, "key", 65, 0), RT_PARAM),
        (name, ("NULL", "pids", 0), INVALID_PARAM),
        (name, ("nobody", "NULL", 0), INVALID_PARAM),
        (name, ("nobody", "pids", 0), RT_PARAM),
        (name, ("nobody", "pids", 1 << 31), RT_PARAM),
        *[(name, (it, "pids", 1), RT_PARAM) for it in ("nobody", "text", "long")],
        ("aclrtIpcMemImportByKey", ("NULL", "nobody", 2), INVALID_PARAM),
        ("aclrtIpcMemImportByKey", ("out", "NULL", 2), INVALID_PARAM),
        ("aclrtIpcMemImportByKey", ("out", "nobody", 2), RT_PARAM),
        *[("aclrtIpcMemImportByKey", ("out", it, 0), RT_PARAM) for it in ("nobody", "text", "long", "key")],
        ("aclrtIpcMemClose", ("NULL",), INVALID_PARAM),
        *[("aclrtIpcMemClose", (it,), RT_PARAM) for it in ("nobody", "text", "long", "key")],
    ]
    check(rows, **values)
    assert values["out"][0] == ffi.NULL
    for out in (managed, *blocks):
        assert lib.aclrtFree(out[0]) == OK
    assert lib.aclrtFreeHost(pinned[0]) == OK


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.simulator("products")
def test_products(product: str, calls: Callable[..., list[Any]]) -> None:
    ipc, links = product in WITH_IPC, product == "910C"
    rows = [
        (["aclrtIpcMemGetExportKey", GARBAGE, 64, "buffer", 65, 0], ipc, NO_CONTEXT),
        (["aclrtIpcMemGetExportKey", None, 64, "buffer", 65, 0], True, INVALID_PARAM),
        (["aclrtIpcMemSetImportPid", "text:" + KEY, [1], 1], ipc, NO_CONTEXT),
        (["aclrtIpcMemImportByKey", "out", "text:" + KEY, 0], ipc, NO_CONTEXT),
        (["aclrtIpcMemClose", "text:" + KEY], ipc, NO_CONTEXT),
        (["aclrtIpcMemSetAttr", "text:" + KEY, 0, 0], links, NO_CONTEXT),
        (["aclrtIpcMemSetAttr", None, 0, 0], links, RT_PARAM),
        (["aclrtIpcMemImportPidInterServer", "text:" + KEY, "buffer", 0], links, RT_PARAM),
        (["aclrtIpcMemImportPidInterServer", None, "buffer", 1], links, RT_PARAM),
        (["aclrtSetDevice", 0], True, OK),
        (["aclrtMalloc", "out:block", HUGE, 1], True, OK),
        (["aclrtIpcMemGetExportKey", "@block", HUGE, "buffer", 65, 0], ipc, OK),
        (["aclrtIpcMemSetAttr", "text:" + KEY, 1, 0], links, RT_PARAM),
        (["aclrtIpcMemSetAttr", "text:" + KEY, 0, 4], links, RT_PARAM),
        (["aclrtIpcMemSetAttr", "text:" + KEY, 0, 2], links, LINK_UNSUPPORTED),
        (["aclrtIpcMemSetAttr", "text:" + KEY, 0, 1], links, OK),
        (["aclrtIpcMemClose", "text:" + KEY], ipc, OK if links else RT_PARAM),  # only the attribute was known
        (["aclrtIpcMemClose", "text:" + KEY], ipc, RT_PARAM),
    ]
    answers = calls([call for call, _, _ in rows], ASCEND_RT_SIM_PRODUCT=product)
    for (call, there, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == (code if there else UNSUPPORTED), call


@pytest.mark.simulator("products")
def test_processes_of_other_servers(child: Callable[..., Any]) -> None:
    assert child(
        """
        lib.aclrtSetDevice(0)
        out, key = ffi.new("void **"), ffi.new("char[65]")
        lib.aclrtMalloc(out, 1 << 21, 1)
        lib.aclrtIpcMemGetExportKey(out[0], 1 << 21, key, 65, 0)
        pids = ffi.new("int32_t[]", [1, 2])
        def name(*entries):
            return lib.aclrtIpcMemImportPidInterServer(key, ffi.new("aclrtServerPid[]", list(entries)), len(entries))
        good, bad = {"sdid": 7, "pid": pids, "num": 2}, {"sdid": 7, "num": 1}
        reported([name(good), name(good, good), name(good, bad), name(bad)])
        """,
        ASCEND_RT_SIM_PRODUCT="910C",
    ) == [OK, OK, RT_PARAM, RT_PARAM]


# --- shareable handles -----------------------------------------------------------------------------------------------


class Physical:
    """Physical memory of this process, mapped at an address."""

    def __init__(self, lib: Any, ffi: Any) -> None:
        self.lib = lib
        out, at = ffi.new("aclrtDrvMemHandle *"), ffi.new("void **")
        properties = ffi.new("aclrtPhysicalMemProp *", {"memAttr": 16, "location": {"type": 1}})
        assert lib.aclrtMallocPhysical(out, HUGE, properties, 0) == OK
        assert lib.aclrtReserveMemAddress(at, HUGE, 0, ffi.NULL, 1) == OK
        assert lib.aclrtMapMem(at[0], HUGE, 0, out[0], 0) == OK
        self.handle, self.at = out[0], at[0]

    def free(self) -> None:
        assert self.lib.aclrtUnmapMem(self.at) == OK
        assert self.lib.aclrtReleaseMemAddress(self.at) == OK
        assert self.lib.aclrtFreePhysical(self.handle) == OK


@pytest.fixture
def physical(lib: Any, ffi: Any, device: Any) -> Iterator[Physical]:
    memory = Physical(lib, ffi)
    yield memory
    memory.free()


IMPORT_V1 = (
    "lib.aclrtMemImportFromShareableHandle({number}, 0, objects.setdefault('memory', ffi.new('aclrtDrvMemHandle *')))"
)
IMPORT_V2 = (
    "lib.aclrtMemImportFromShareableHandleV2(ffi.new('uint64_t *', {number}), 1, 0,"
    " objects.setdefault('memory', ffi.new('aclrtDrvMemHandle *')))"
)
RESERVE = "lib.aclrtReserveMemAddress(objects.setdefault('at', ffi.new('void **')), 1 << 21, 0, ffi.NULL, 1)"
MAP = "lib.aclrtMapMem(objects['at'][0], 1 << 21, 0, objects['memory'][0], 0)"
UNMAP = "lib.aclrtUnmapMem(objects['at'][0])"
FREE = "lib.aclrtFreePhysical(objects['memory'][0])"


@pytest.mark.parametrize("imports", [IMPORT_V1, IMPORT_V2])
@pytest.mark.parametrize("version", [1, 2])
def test_a_shareable_handle(version: int, imports: str, physical, process, lib, ffi) -> None:
    number = ffi.new("uint64_t *")
    if version == 1:
        assert lib.aclrtMemExportToShareableHandle(physical.handle, 0, ANYBODY, number) == OK
    else:
        assert lib.aclrtMemExportToShareableHandleV2(physical.handle, ANYBODY, DEFAULT, number) == OK
    assert lib.aclrtMemExportToShareableHandle(physical.handle, 0, ANYBODY, number) == RT_PARAM  # only once
    written(lib, physical.at, b"from here")
    assert process(imports.format(number=number[0])) == "0"
    assert process(RESERVE) == process(MAP) == "0"
    assert process(READ.format(at=0, size=9)) == "[0, b'from here']"
    assert process(WRITE.format(at=HUGE - 5, size=5, data=b"there")) == "0"
    assert read(lib, ffi, physical.at + HUGE - 5, 5) == b"there"
    reported = "[(p := ffi.new('aclrtPhysicalMemProp *')), "
    reported += (
        "lib.aclrtMemGetAllocationPropertiesFromHandle(objects['memory'][0], p), p.memAttr, p.location.type][1:]"
    )
    assert process(reported) == "[0, 16, 1]"
    again = "lib.aclrtMemExportToShareableHandle(objects['memory'][0], 0, 1, ffi.new('uint64_t *'))"
    assert process(again) == "107000"  # it is not its own
    assert process(UNMAP) == process(FREE) == "0"
    assert process(FREE) == str(INVALID_HANDLE)


def test_local_and_imported_memory_are_not_mixed(physical, process, lib, ffi) -> None:
    number = ffi.new("uint64_t *")
    assert lib.aclrtMemExportToShareableHandle(physical.handle, 0, ANYBODY, number) == OK
    assert process(IMPORT_V1.format(number=number[0])) == "0"
    assert process(RESERVE.replace("1 << 21", "1 << 22")) == process(MAP) == "0"
    make = "lib.aclrtMallocPhysical(objects.setdefault('own', ffi.new('aclrtDrvMemHandle *')), 1 << 21, "
    assert process(make + "ffi.new('aclrtPhysicalMemProp *', {'memAttr': 4, 'location': {'type': 1}}), 0)") == "0"
    assert process("lib.aclrtMapMem(objects['at'][0] + (1 << 21), 1 << 21, 0, objects['own'][0], 0)") == "107000"
    assert process(UNMAP) == process(FREE) == "0"


@pytest.mark.parametrize("version", [1, 2])
def test_a_handle_for_named_processes(version: int, physical, process, lib, ffi) -> None:
    number, pids = ffi.new("uint64_t *"), ffi.new("int32_t[1]", [process.pid])
    assert lib.aclrtMemExportToShareableHandle(physical.handle, 0, 0, number) == OK
    assert process(IMPORT_V1.format(number=number[0])) == str(NOT_PERMITTED)
    if version == 1:
        assert lib.aclrtMemSetPidToShareableHandle(number[0], pids, 1) == OK
    else:
        assert lib.aclrtMemSetPidToShareableHandleV2(number, DEFAULT, pids, 1) == OK
    assert process(IMPORT_V2.format(number=number[0])) == "0"
    many = ffi.new("int32_t[65535]")
    assert lib.aclrtMemSetPidToShareableHandle(number[0], many, 65534) == OK
    assert lib.aclrtMemSetPidToShareableHandle(number[0], many, 1) == RT_PARAM


def test_a_handle_ends_with_its_memory(process, lib, ffi, device) -> None:
    memory, number = Physical(lib, ffi), ffi.new("uint64_t *")
    assert lib.aclrtMemExportToShareableHandle(memory.handle, 0, ANYBODY, number) == OK
    assert lib.aclrtMemImportFromShareableHandle(number[0], 0, ffi.new("aclrtDrvMemHandle *")) == RT_PARAM
    assert process(IMPORT_V1.format(number=number[0])) == "0"
    memory.free()
    assert process(IMPORT_V1.format(number=number[0]).replace("'memory'", "'late'")) == "107000"
    assert process(RESERVE) == process(MAP) == "0"  # earlier imports stay
    assert process(UNMAP) == process(FREE) == "0"


@pytest.mark.simulator("products")
def test_fabric_handles(child: Callable[..., Any]) -> None:
    script = """
        lib.aclrtSetDevice(0)
        out, handle = ffi.new("aclrtDrvMemHandle *"), ffi.new("aclrtMemFabricHandle *")
        ffi.buffer(handle)[:] = b"x" * 128
        properties = ffi.new("aclrtPhysicalMemProp *", {"memAttr": 4, "location": {"type": 1}})
        codes = [lib.aclrtMallocPhysical(out, 1 << 21, properties, 0)]
        codes.append(lib.aclrtMemExportToShareableHandleV2(out[0], 0, 2, handle))
        codes.append(lib.aclrtMemSetPidToShareableHandleV2(handle, 2, ffi.new("int32_t[]", [1]), 1))
        codes.append(lib.aclrtMemImportFromShareableHandleV2(handle, 2, 0, ffi.new("aclrtDrvMemHandle *")))
        reported([codes, bytes(ffi.buffer(handle)[8:]) == bytes(120)])
        """
    for product in PRODUCTS:
        has = product == "910C"
        expected = [OK, OK, OK, RT_PARAM] if has else [OK, *[UNSUPPORTED] * 3]
        assert child(script, ASCEND_RT_SIM_PRODUCT=product) == [expected, has], product


@pytest.mark.simulator("products")
def test_a_fabric_handle_needs_a_context(calls: Callable[..., list[Any]]) -> None:
    properties = {"memAttr": 4, "location": {"type": 1}}
    rows = [
        (["aclrtMallocPhysical", "out:memory", HUGE, properties, 0], OK),
        (["aclrtMemExportToShareableHandleV2", "@memory", 0, FABRIC, "buffer"], NO_CONTEXT),
        (["aclrtMemExportToShareableHandleV2", "@memory", 0, DEFAULT, "buffer"], OK),
    ]
    answers = calls([call for call, _ in rows], ASCEND_RT_SIM_PRODUCT="910C")
    assert [code for code, _ in answers] == [code for _, code in rows]


def test_arguments_of_shareable_handles(calls: Callable[..., list[Any]]) -> None:
    properties = {"memAttr": 4, "location": {"type": 1}}
    out, out_v2 = "aclrtMemExportToShareableHandle", "aclrtMemExportToShareableHandleV2"
    name, name_v2 = "aclrtMemSetPidToShareableHandle", "aclrtMemSetPidToShareableHandleV2"
    into, into_v2 = "aclrtMemImportFromShareableHandle", "aclrtMemImportFromShareableHandleV2"
    rows = [
        (["aclrtMallocPhysical", "out:memory", HUGE, properties, 0], OK),
        ([out, None, 2, 2, None], INVALID_PARAM),
        ([out, GARBAGE, 2, 2, "out"], INVALID_PARAM),
        ([out, GARBAGE, 0, 2, None], INVALID_PARAM),
        ([out, GARBAGE, 0, 2, "out"], RT_PARAM),
        ([out, GARBAGE, 0, 1, "out"], INVALID_HANDLE),
        ([out_v2, None, 2, 3, "buffer"], INVALID_PARAM),
        ([out_v2, GARBAGE, 2, 3, None], INVALID_PARAM),
        ([out_v2, GARBAGE, 0, 3, "buffer"], RT_PARAM),
        ([out_v2, GARBAGE, 2, DEFAULT, "buffer"], RT_PARAM),
        ([out_v2, GARBAGE, 0, DEFAULT, "buffer"], INVALID_HANDLE),
        ([name, 1, None, 1], INVALID_PARAM),
        ([name, 1, [1], 0], INVALID_PARAM),
        ([name, 1, [1], 1], RT_PARAM),
        ([name_v2, None, DEFAULT, [1], 1], INVALID_PARAM),
        ([name_v2, "buffer", 3, None, 1], INVALID_PARAM),
        ([name_v2, "buffer", 3, [1], 0], INVALID_PARAM),
        ([name_v2, "buffer", 3, [1], 1], RT_PARAM),
        ([name_v2, "buffer", DEFAULT, [1], 1], RT_PARAM),
        ([into, 1, 9, None], INVALID_PARAM),
        ([into, 1, 9, "out"], INVALID_DEVICE),
        ([into, 1, -1, "out"], INVALID_DEVICE),
        ([into, 1, 0, "out"], RT_PARAM),
        ([into_v2, None, 3, 1, "out"], INVALID_PARAM),
        ([into_v2, "buffer", 3, 1, None], INVALID_PARAM),
        ([into_v2, "buffer", 3, 1, "out"], INVALID_PARAM),
        ([into_v2, "buffer", 3, 0, "out"], RT_PARAM),
        ([into_v2, "buffer", DEFAULT, 0, "out"], NO_CONTEXT),
        (["aclrtSetDevice", 0], OK),
        ([into_v2, "buffer", DEFAULT, 0, "out"], RT_PARAM),
        ([out, "@memory", 0, 1, "out:number"], OK),
        ([name, "@number", [1], 1], NOT_PERMITTED),
        ([into, "@number", 0, "out"], RT_PARAM),  # not in the exporting process
        (["aclrtFreePhysical", "@memory"], OK),
        ([name, "@number", [1], 1], RT_PARAM),
    ]
    answers = calls([call for call, _ in rows])
    for (call, code), (answer, _) in zip(rows, answers, strict=True):
        assert answer == code, call
