# SPDX-License-Identifier: Apache-2.0
"""Functions that take or return structures, which are dicts, and arrays, which are lists.

The arguments have been converted by the format in ``codegen/pyacl_names.py`` before a function here is called. The
texts of the errors are those of the vendor's extension.
"""

from __future__ import annotations

import sys
from typing import Any

from ascend_rt._runtime.driver import address, ffi, lib
from ascend_rt.pyacl._raw import call, pointer, text, unsigned

# --- from Python to C ------------------------------------------------------------------------------------------------


def _field(source: dict[str, Any], key: str, bits: int = 32) -> int:
    """Return a field of a structure; 0 if it is missing, or not an int."""
    value = source.get(key)
    return unsigned(value) & (1 << bits) - 1 if isinstance(value, int) else 0


def _reserved(source: dict[str, Any], most: int) -> list[int]:
    """Return the numbers without a meaning, whose count is checked even where none is used."""
    numbers: list[int] = source.get("reserved", [])
    if len(numbers) > most:
        raise ValueError(f"The length of reserved should be no greater than {most}")
    return numbers


def _check_dict(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"the {name} argument is not dict")
    return value


def _process_ids(pids: object) -> Any:
    if not isinstance(pids, list):
        raise ValueError("argument 2 only support the format of list")
    if not all(isinstance(pid, int) and -(2**31) <= pid < 2**31 for pid in pids):
        raise ValueError("get values from PyList failed")
    return ffi.new("int32_t[]", pids)


def _malloc_config(source: object) -> tuple[Any, Any]:
    """Return the configuration, or NULL, and what must live as long as it."""
    if not isinstance(source, dict):
        raise TypeError("pyCfg is not dict!")
    if not source:
        return ffi.NULL, None
    if "attrs" not in source:
        raise TypeError("the aclrtMallocAttrValue argument is not dict")
    if not isinstance(source["attrs"], list):
        raise TypeError("cfg.attrs malloc failed!")
    if len(source["attrs"]) != _field(source, "numAttrs", 64):
        raise KeyError("The numAttrs inputed does not match the expected numAttrs")
    attributes = ffi.new("aclrtMallocAttribute[]", len(source["attrs"]))
    for attribute, entry in zip(attributes, source["attrs"], strict=True):
        _check_dict(entry, "aclrtMallocWithCfg")
        attribute.attr = _field(entry, "attr", 31)
        if "value" in entry:
            _set_malloc_value(attribute.value, _check_dict(entry["value"], "aclrtMallocAttrValue"))
    return ffi.new("aclrtMallocConfig *", {"attrs": attributes, "numAttrs": len(attributes)}), attributes


def _set_malloc_value(value: Any, source: dict[str, Any]) -> None:
    if "moduleId" in source:
        value.moduleId = _field(source, "moduleId", 16)
    elif "deviceId" in source:
        value.deviceId = _field(source, "deviceId")
    elif "vaFlag" in source:
        value.vaFlag = _field(source, "vaFlag")
    elif "rsv" in source:
        value.rsv = [unsigned(number) & 0xFF for number in source["rsv"][:8]]
    else:
        raise KeyError("No valid key found in aclrtMallocAttrValue")


def _physical_memory(source: object) -> Any:
    fields = _check_dict(source, "aclrtPhysicalMemProp")
    location = _check_dict(fields.get("location", {}), "aclrtMemLocation")
    properties = ffi.new("aclrtPhysicalMemProp *")
    properties.handleType = _field(fields, "handleType", 31)
    properties.allocationType = _field(fields, "allocationType", 31)
    properties.memAttr = _field(fields, "memAttr", 31)
    properties.location.id = _field(location, "id")
    properties.location.type = _field(location, "type", 31)
    properties.reserve = _field(fields, "reserve", 64)
    return properties


def _records(source: object, c_type: str, key: str, name: str) -> Any:
    """Return an array of a number and a union, of which the value is the first bytes."""
    if not isinstance(source, list):
        raise ValueError("argument 2 only support the format of list")
    records = ffi.new(f"{c_type}[]", len(source))
    for record, entry in zip(records, source, strict=True):
        _check_dict(entry, name)
        setattr(record, key, _field(entry, key, 31))
        ffi.buffer(ffi.addressof(record.value))[:8] = _field(entry, "value", 64).to_bytes(8, sys.byteorder)
    return records


# --- devices and contexts --------------------------------------------------------------------------------------------


def get_device_utilization_rate(device_id: int) -> tuple[dict[str, int], int]:
    info = ffi.new("aclrtUtilizationInfo *")
    ret = call("aclrtGetDeviceUtilizationRate", device_id, info)
    return {
        "cube_utilization": info.cubeUtilization,
        "vector_utilization": info.vectorUtilization,
        "aicpu_utilization": info.aicpuUtilization,
        "memory_utilization": info.memoryUtilization,
        "utilization_extend": address(info.utilizationExtend),
    }, ret


def device_get_uuid(device_id: int) -> tuple[dict[str, list[int]], int]:
    uuid = ffi.new("aclrtUuid *")
    ret = call("aclrtDeviceGetUuid", device_id, uuid)
    return {"bytes": list(ffi.cast("int8_t[16]", uuid.bytes))}, ret


def get_primary_ctx_state(device_id: int) -> tuple[int, int, int]:
    active = ffi.new("int32_t *")
    ret = call("aclrtGetPrimaryCtxState", device_id, ffi.NULL, active)
    return active[0], 0, ret  # the vendor's extension asks for no flags either


# --- streams ---------------------------------------------------------------------------------------------------------

# Kind of an attribute -> member of aclrtStreamAttrValue and its size; the others are numbers without a meaning.
_STREAM_ATTRIBUTES = {1: ("failureMode", 64), 2: ("overflowSwitch", 32), 3: ("userCustomTag", 32)}


def set_stream_attribute(stream: int, attr_type: int, value: dict[str, Any]) -> int:
    attribute = ffi.new("aclrtStreamAttrValue *")
    reserved = _reserved(_check_dict(value, "aclrtStreamAttrValue"), len(attribute.reserve))
    if attr_type in _STREAM_ATTRIBUTES:
        member, bits = _STREAM_ATTRIBUTES[attr_type]
        setattr(attribute, member, _field(value, member, bits))
    else:
        attribute.reserve = [unsigned(number) & 0xFFFFFFFF for number in reserved]
    return call("aclrtSetStreamAttribute", pointer(stream), ffi.cast("aclrtStreamAttr", attr_type), attribute)


def get_stream_attribute(stream: int, attr_type: int) -> tuple[dict[str, Any], int]:
    attribute = ffi.new("aclrtStreamAttrValue *")
    ret = call("aclrtGetStreamAttribute", pointer(stream), ffi.cast("aclrtStreamAttr", attr_type), attribute)
    if attr_type in _STREAM_ATTRIBUTES:
        member, _ = _STREAM_ATTRIBUTES[attr_type]
        return {member: getattr(attribute, member)}, ret
    return {"reserved": list(attribute.reserve)}, ret


# --- notifies and memory of other processes --------------------------------------------------------------------------

_KEY_SIZE = 1024


def wait_and_reset_notify(notify: int, stream: int, timeout: int) -> int:
    if timeout < 0:
        raise TypeError("timeout can't be a negative number!")
    if timeout >= 2**32:
        raise TypeError("timeout should be less than 2**32!")
    return call("aclrtWaitAndResetNotify", pointer(notify), pointer(stream), timeout)


def notify_batch_reset(notifies: list[int]) -> int:
    if not isinstance(notifies, list):
        raise ValueError("argument only support the format of list")
    if not all(isinstance(notify, int) and 0 <= notify < 2**64 for notify in notifies):
        raise ValueError("get notify pointers from PyList failed")
    array = ffi.new("aclrtNotify[]", [pointer(notify) for notify in notifies])
    return call("aclrtNotifyBatchReset", array, len(notifies))


def _key(length: int) -> Any:
    if length >= _KEY_SIZE:
        raise ValueError(f"key len should be less than {_KEY_SIZE}")
    return ffi.new("char[]", _KEY_SIZE)


def notify_get_export_key(notify: int, length: int, flag: int) -> tuple[str, int]:
    key = _key(length)
    ret = call("aclrtNotifyGetExportKey", pointer(notify), key, length, flag)
    return text(key), ret


def notify_set_import_pid(notify: int, pids: list[int]) -> int:
    array = _process_ids(pids)
    return call("aclrtNotifySetImportPid", pointer(notify), array, len(array))


def ipc_mem_get_export_key(dev_ptr: int, size: int, length: int, flag: int) -> tuple[str, int]:
    key = _key(length)
    ret = call("aclrtIpcMemGetExportKey", pointer(dev_ptr), size, key, length, flag)
    return text(key), ret


def ipc_mem_set_import_pid(key: str, pids: list[int]) -> int:
    array = _process_ids(pids)
    return call("aclrtIpcMemSetImportPid", key.encode(), array, len(array))


def mem_set_pid_to_shareable_handle(shareable_handle: int, pids: list[int]) -> int:
    array = _process_ids(pids)
    return call("aclrtMemSetPidToShareableHandle", shareable_handle, array, len(array))


# --- memory ----------------------------------------------------------------------------------------------------------


def _malloc(function: str, size: int, cfg: object, *policy: Any) -> tuple[int, int]:
    configuration, _attributes = _malloc_config(cfg)
    memory = ffi.new("void **")
    ret = call(function, memory, size, *policy, configuration)
    return address(memory[0]), ret


def malloc_with_cfg(size: int, policy: int, cfg: dict[str, Any]) -> tuple[int, int]:
    return _malloc("aclrtMallocWithCfg", size, cfg, ffi.cast("aclrtMemMallocPolicy", policy))


def malloc_for_task_scheduler(size: int, policy: int, cfg: dict[str, Any]) -> tuple[int, int]:
    return _malloc("aclrtMallocForTaskScheduler", size, cfg, ffi.cast("aclrtMemMallocPolicy", policy))


def malloc_host_with_cfg(size: int, cfg: dict[str, Any]) -> tuple[int, int]:
    return _malloc("aclrtMallocHostWithCfg", size, cfg)


def set_memcpy_desc(desc: int, kind: int, src_addr: int, dst_addr: int, count: int, config: int) -> tuple[int, int]:
    arguments = pointer(src_addr), pointer(dst_addr), count, pointer(config)
    return desc, call("aclrtSetMemcpyDesc", pointer(desc), ffi.cast("aclrtMemcpyKind", kind), *arguments)


def pointer_get_attributes(ptr: int) -> tuple[dict[str, Any], int]:
    attributes = ffi.new("aclrtPtrAttributes *")
    ret = call("aclrtPointerGetAttributes", pointer(ptr), attributes)
    location = attributes.location
    return {
        "location": {"id": location.id, "type": int(location.type)},
        "page_size": attributes.pageSize,
        "rsv": list(attributes.rsv),
    }, ret


def malloc_physical(size: int, prop: dict[str, Any], flags: int) -> tuple[int, int]:
    handle = ffi.new("aclrtDrvMemHandle *")
    ret = call("aclrtMallocPhysical", handle, size, _physical_memory(prop), flags)
    return address(handle[0]), ret


def mem_get_allocation_granularity(prop: dict[str, Any], option: int) -> tuple[int, int]:
    granularity = ffi.new("size_t *")
    option = ffi.cast("aclrtMemGranularityOptions", option)
    ret = call("aclrtMemGetAllocationGranularity", _physical_memory(prop), option, granularity)
    return granularity[0], ret


def get_mem_uce_info(device_id: int, array_size: int) -> tuple[list[dict[str, Any]], int]:
    infos, count = ffi.new("aclrtMemUceInfo[]", max(array_size, 1)), ffi.new("size_t *")
    ret = call("aclrtGetMemUceInfo", device_id, infos, array_size, count)
    return [
        {"addr": address(info.addr), "len": info.len, "reserved": list(info.reserved)} for info in infos[0 : count[0]]
    ], ret


def mem_uce_repair(device_id: int, infos: list[dict[str, Any]]) -> int:
    if not isinstance(infos, list):
        raise TypeError("aclrtMemUceInfo argument is not list")
    array = ffi.new("aclrtMemUceInfo[]", len(infos))
    for info, source in zip(array, infos, strict=True):
        _check_dict(source, "aclrtMemUceInfo")
        if not isinstance(source.get("addr", 0), int):
            raise ValueError("PyLong_AsVoidPtr failed")
        reserved = _reserved(source, len(info.reserved))
        info.addr = pointer(source.get("addr", 0))
        info.len = _field(source, "len", 64)
        info.reserved = [unsigned(number) for number in reserved]
    return call("aclrtMemUceRepair", device_id, array, len(array))


# --- kernels and groups of cores -------------------------------------------------------------------------------------

_MAX_NAME = 1024


def _load_options(source: object) -> tuple[Any, Any]:
    """Return the options, or NULL, and what must live as long as they."""
    options = _records(source, "aclrtBinaryLoadOption", "type", "bin_option")
    if not len(options):
        return ffi.NULL, None
    return ffi.new("aclrtBinaryLoadOptions *", {"options": options, "numOpt": len(options)}), options


def binary_load_from_file(path: str, options: list[dict[str, int]]) -> tuple[int, int]:
    configuration, _options = _load_options(options)
    binary = ffi.new("aclrtBinHandle *")
    ret = call("aclrtBinaryLoadFromFile", path.encode(), configuration, binary)
    return address(binary[0]), ret


def binary_load_from_data(data: int, length: int, options: list[dict[str, int]]) -> tuple[int, int]:
    configuration, _options = _load_options(options)
    binary = ffi.new("aclrtBinHandle *")
    ret = call("aclrtBinaryLoadFromData", pointer(data), length, configuration, binary)
    return address(binary[0]), ret


def get_function_name(func_handle: int, max_len: int) -> tuple[str, int]:
    if max_len >= _MAX_NAME:
        raise ValueError(f"maxLen should be less than {_MAX_NAME}")
    name = ffi.new("char[]", _MAX_NAME)
    ret = call("aclrtGetFunctionName", pointer(func_handle), max_len, name)
    return text(name), ret


def register_cpu_func(handle: int, func_name: str, kernel_name: str) -> tuple[int, int]:
    if not func_name or not kernel_name:
        raise ValueError("argument 2 or 3 must not be empty")
    function = ffi.new("aclrtFuncHandle *")
    ret = call("aclrtRegisterCpuFunc", pointer(handle), func_name.encode(), kernel_name.encode(), function)
    return address(function[0]), ret


def launch_kernel_with_config(
    func_handle: int, num_blocks: int, stream: int, cfg: list[dict[str, int]], args_handle: int, reserve: int
) -> int:
    attributes = _records(cfg, "aclrtLaunchKernelAttr", "id", "cfg")
    configuration = ffi.NULL
    if len(attributes):
        configuration = ffi.new("aclrtLaunchKernelCfg *", {"attrs": attributes, "numAttrs": len(attributes)})
    handles = pointer(args_handle), pointer(reserve)
    return call(
        "aclrtLaunchKernelWithConfig", pointer(func_handle), num_blocks, pointer(stream), configuration, *handles
    )


def get_group_count(ignored: int) -> tuple[int, int]:
    count = ffi.new("uint32_t *", ignored)  # which is what comes back if the call fails
    ret = call("aclrtGetGroupCount", count)
    return count[0], ret


def get_group_info_detail(group_info: int, group_id: int, attr: int) -> tuple[list[int], int]:
    values, size = ffi.new("int32_t[]", 256), ffi.new("size_t *")
    info = ffi.cast("aclrtGroupInfo *", group_info)
    attribute = ffi.cast("aclrtGroupAttr", attr)
    ret = call("aclrtGetGroupInfoDetail", info, group_id, attribute, values, ffi.sizeof(values), size)
    if ret or not size[0]:
        raise RuntimeError("aclrtGetGroupInfoDetail failed")
    return list(values[0 : size[0] // ffi.sizeof("int32_t")]), ret


# --- the top level ---------------------------------------------------------------------------------------------------


def get_cann_version(name: int) -> tuple[dict[str, str], int]:
    version = ffi.new("aclCANNPackageVersion *")
    ret = call("aclsysGetCANNVersion", ffi.cast("aclCANNPackageName", name), version)
    return {
        "version": text(version.version),
        "major_version": text(version.majorVersion),
        "minor_version": text(version.minorVersion),
        "release_version": text(version.releaseVersion),
        "patch_version": text(version.patchVersion),
        "reserved": text(version.reserved),
    }, ret


def get_version_str(pkg_name: str) -> tuple[str, int]:
    version = ffi.new("char[]", lib.ACL_PKG_VERSION_MAX_SIZE)
    ret = call("aclsysGetVersionStr", pkg_name.encode(), version)
    return text(version), ret


def get_cann_attribute_list() -> tuple[list[int], int, int]:
    attributes, num = ffi.new("aclCannAttr **"), ffi.new("size_t *")
    ret = call("aclGetCannAttributeList", attributes, num)
    return [int(attributes[0][i]) for i in range(num[0])], num[0], ret


def app_log(level: int, message: str) -> None:
    caller = sys._getframe().f_back  # None if it is C that calls, such as the end of the interpreter
    code, line = (caller.f_code, caller.f_lineno) if caller else (None, 0)
    names = (code.co_name, code.co_filename) if code else ("", "")
    function, file = (name.encode(errors="surrogateescape") for name in names)
    lib.aclAppLog(ffi.cast("aclLogLevel", level), function, file, line, message.encode())
