# SPDX-License-Identifier: Apache-2.0
"""The runtime's inner functions (``rt*``) that the simulator has: which call of a documented function each one is.

A name alone is a call with the same arguments in the same order. Conversions are functions of
``backends/companions/src/runtime_calls.h`` and ``registered_kernels.h``. The functions of ``include/runtime`` that are
not in the table are refused, with the reason of their header or that of `REASONS`.
"""

from __future__ import annotations

import re

_CONTEXT = '(require_zero("flags", flags), aclrtCreateContext(createCtx, devId))'
_COPY = "aclrtMemcpy(dst, destMax, src, cnt, copy_kind(kind))"
_COPY_ASYNC = "aclrtMemcpyAsync(dst, destMax, src, cnt, copy_kind(kind), stm)"
_CREATE_STREAM = "aclrtCreateStreamWithConfig(stm, stream_priority(priority), stream_flags(flags))"
_MALLOC = "aclrtMalloc(devPtr, size, malloc_policy(type))"
_REDUCE = "aclrtReduceAsync(dst, src, cnt, as<aclrtReduceKind>(kind), data_type(type), stm, nullptr)"
_LAUNCH_STUB = "launch(function_of(stubFunc), numBlocks, argsInfo, stm)"
_LAUNCH_HANDLE = "launch(function_in(hdl, tilingKey), numBlocks, argsInfo, stm)"

CALLS = {
    # devices
    "rtCheckArchCompatibility": "aclrtCheckArchCompatibility",
    "rtDeviceCanAccessPeer": "aclrtDeviceCanAccessPeer(canAccessPeer, as<int32_t>(devId), as<int32_t>(peerDevice))",
    "rtDeviceGetBareTgid": "aclrtDeviceGetBareTgid(as<int32_t *>(pid))",
    "rtDeviceGetByPCIBusId": "aclrtDeviceGetByPCIBusId",
    "rtDeviceGetPCIBusId": "aclrtDeviceGetPCIBusId",
    "rtDeviceGetStreamPriorityRange": "aclrtDeviceGetStreamPriorityRange",
    "rtDeviceReset": "aclrtResetDevice",
    "rtDeviceResetEx": "aclrtResetDevice",
    "rtDeviceResetForce": "aclrtResetDeviceForce",
    "rtDeviceResetWithoutTsd": "aclrtResetDevice",
    "rtDeviceStatusQuery": "aclrtQueryDeviceStatus(as<int32_t>(devId), as<aclrtDeviceStatus *>(deviceStatus))",
    "rtDeviceSynchronize": "aclrtSynchronizeDevice",
    "rtDeviceSynchronizeWithTimeout": "aclrtSynchronizeDeviceWithTimeout",
    "rtDeviceTaskAbort": "aclrtDeviceTaskAbort",
    "rtGetAiCoreCount": "core_count(ACL_DEV_ATTR_AICORE_CORE_NUM, aiCoreCnt)",
    "rtGetAiCpuCount": "core_count(ACL_DEV_ATTR_AICPU_CORE_NUM, aiCpuCnt)",
    "rtGetC2cCtrlAddr": "control_address(addr, len)",
    "rtGetDevice": "aclrtGetDevice",
    "rtGetDeviceCount": "aclrtGetDeviceCount(as<uint32_t *>(cnt))",
    "rtGetDeviceIDs": "device_ids(devices, len)",
    "rtGetDeviceIndexByPhyId": "aclrtGetLogicDevIdByPhyDevId(as<int32_t>(phyId), as<int32_t *>(devIndex))",
    "rtGetDevicePhyIdByIndex": "aclrtGetPhyDevIdByLogicDevId(as<int32_t>(devIndex), as<int32_t *>(phyId))",
    "rtGetDeviceSatMode": "aclrtGetDeviceSatMode(as<aclrtFloatOverflowMode *>(floatOverflowMode))",
    "rtGetDeviceUuid": "aclrtDeviceGetUuid(devId, as<aclrtUuid *>(uuid))",
    "rtGetLogicDevIdByUserDevId": "aclrtGetLogicDevIdByUserDevId",
    "rtGetRunMode": "aclrtGetRunMode(as<aclrtRunMode *>(runMode))",
    "rtGetSocSpec": "soc_value(label, key, val, maxLen)",
    "rtGetSocVersion": "soc_name(ver, maxLen)",
    "rtGetSysParamOpt": "aclrtGetSysParamOpt(as<aclSysParamOpt>(configOpt), configVal)",
    "rtGetUserDevIdByLogicDevId": "aclrtGetUserDevIdByLogicDevId",
    "rtGetVisibleDeviceIdByLogicDeviceId": "aclrtGetUserDevIdByLogicDevId(logicDeviceId, visibleDeviceId)",
    "rtSetDevice": "aclrtSetDevice",
    "rtSetDeviceEx": "aclrtSetDevice",
    "rtSetDeviceSatMode": "aclrtSetDeviceSatMode(as<aclrtFloatOverflowMode>(floatOverflowMode))",
    "rtSetDeviceWithFlags": "aclrtSetDevice(deviceId)",
    "rtSetDeviceWithoutTsd": "aclrtSetDevice",
    "rtSetSysParamOpt": "aclrtSetSysParamOpt(as<aclSysParamOpt>(configOpt), configVal)",
    "rtSetTSDevice": "aclrtSetTsDevice(as<aclrtTsId>(tsId))",
    # time limits and errors
    "rtGetLastError": "aclrtGetLastError(as<aclrtLastErrLevel>(level))",
    "rtGetOpExecuteTimeoutV2": "aclrtGetOpExecuteTimeout",
    "rtGetOpTimeOutInterval": "aclrtGetOpTimeOutInterval",
    "rtPeekAtLastError": "aclrtPeekAtLastError(as<aclrtLastErrLevel>(level))",
    "rtSetOpExecuteTimeOut": "aclrtSetOpExecuteTimeOut",
    "rtSetOpExecuteTimeOutV2": "aclrtSetOpExecuteTimeOutV2",
    "rtSetOpExecuteTimeOutWithMs": "aclrtSetOpExecuteTimeOutWithMs",
    "rtSetOpWaitTimeOut": "aclrtSetOpWaitTimeout",
    # contexts
    "rtCtxCreate": _CONTEXT,
    "rtCtxCreateEx": _CONTEXT,
    "rtCtxDestroy": "aclrtDestroyContext",
    "rtCtxDestroyEx": "aclrtDestroyContext",
    "rtCtxGetCurrent": "aclrtGetCurrentContext",
    "rtCtxGetCurrentDefaultStream": "aclrtCtxGetCurrentDefaultStream",
    "rtCtxGetDevice": "aclrtGetDevice",
    "rtCtxGetOverflowAddr": "aclrtCtxGetFloatOverflowAddr",
    "rtCtxGetSysParamOpt": "aclrtCtxGetSysParamOpt(as<aclSysParamOpt>(configOpt), configVal)",
    "rtCtxSetCurrent": "aclrtSetCurrentContext",
    "rtCtxSetSysParamOpt": "aclrtCtxSetSysParamOpt(as<aclSysParamOpt>(configOpt), configVal)",
    "rtGetGroupCount": "aclrtGetGroupCount",
    "rtSetGroup": "aclrtSetGroup",
    # streams
    "rtGetAvailEventNum": "aclrtGetEventAvailNum",
    "rtGetAvailStreamNum": '(require_zero("streamType", streamType), aclrtGetStreamAvailableNum(streamCount))',
    "rtGetStreamId": "aclrtStreamGetId",
    "rtGetStreamOverflowSwitch": "aclrtGetStreamOverflowSwitch",
    "rtGetTaskIdAndStreamID": "last_task(taskId, streamId)",
    "rtSetStreamOverflowSwitch": "aclrtSetStreamOverflowSwitch",
    "rtStreamAbort": "aclrtStreamAbort",
    "rtStreamActive": "aclrtActiveStream",
    "rtStreamBeginCapture": "aclmdlRICaptureBegin(stm, as<aclmdlRICaptureMode>(mode))",
    "rtStreamCreate": "aclrtCreateStreamWithConfig(stm, stream_priority(priority), 0)",
    "rtStreamCreateWithFlags": _CREATE_STREAM,
    "rtStreamCreateWithFlagsExternal": _CREATE_STREAM,
    "rtStreamDestroy": "aclrtDestroyStream",
    "rtStreamDestroyForce": "aclrtDestroyStreamForce",
    "rtStreamEndCapture": "aclmdlRICaptureEnd",
    "rtStreamGetCaptureInfo": "aclmdlRICaptureGetInfo(stm, as<aclmdlRICaptureStatus *>(status), captureMdl)",
    "rtStreamGetFlags": "flags_of(stm, flags)",
    "rtStreamGetMode": "failure_mode(stm, stmMode)",
    "rtStreamGetPriority": "aclrtStreamGetPriority",
    "rtStreamQuery": "complete(stm)",
    "rtStreamSetMode": "aclrtSetStreamFailureMode",
    "rtStreamSwitchEx": "aclrtSwitchStream(ptr, as<aclrtCondition>(condition), valuePtr, "
    "as<aclrtCompareDataType>(dataType), trueStream, nullptr, stm)",
    "rtStreamSynchronize": "aclrtSynchronizeStream",
    "rtStreamSynchronizeWithTimeout": "aclrtSynchronizeStreamWithTimeout",
    "rtStreamTaskClean": "aclrtPersistentTaskClean",
    "rtStreamWaitEvent": "aclrtStreamWaitEvent",
    "rtStreamWaitEventWithTimeout": "wait_for_event(stm, evt, timeout)",
    "rtThreadExchangeCaptureMode": "aclmdlRICaptureThreadExchangeMode(as<aclmdlRICaptureMode *>(mode))",
    # events
    "rtEventCreate": "aclrtCreateEvent",
    "rtEventCreateExWithFlag": "aclrtCreateEventExWithFlag",
    "rtEventCreateWithFlag": "aclrtCreateEventWithFlag",
    "rtEventDestroy": "aclrtDestroyEvent",
    "rtEventElapsedTime": "aclrtEventElapsedTime",
    "rtEventGetTimeStamp": "aclrtEventGetTimestamp(evt, timeStamp)",
    "rtEventQuery": "complete_event(evt)",
    "rtEventQueryStatus": "aclrtQueryEventStatus(evt, as<aclrtEventRecordedStatus *>(status))",
    "rtEventQueryWaitStatus": "aclrtQueryEventWaitStatus(evt, as<aclrtEventWaitStatus *>(status))",
    "rtEventRecord": "aclrtRecordEvent",
    "rtEventReset": "aclrtResetEvent",
    "rtEventSynchronize": "aclrtSynchronizeEvent",
    "rtEventSynchronizeWithTimeout": "aclrtSynchronizeEventWithTimeout",
    "rtGetEventID": "aclrtGetEventId",
    "rtIpcGetEventHandle": "aclrtIpcGetEventHandle(event, as<aclrtIpcEventHandle *>(handle))",
    "rtIpcOpenEventHandle": "aclrtIpcOpenEventHandle(*as<aclrtIpcEventHandle *>(&handle), event)",
    # notifies
    "rtGetNotifyID": "aclrtGetNotifyId",
    "rtIpcOpenNotify": "aclrtNotifyImportByKey(notify, name, 0)",
    "rtIpcOpenNotifyWithFlag": "aclrtNotifyImportByKey",
    "rtIpcSetNotifyName": "aclrtNotifyGetExportKey(notify, name, len, 0)",
    "rtNotifyCreate": "(require_current(deviceId), aclrtCreateNotify(notify, 0))",
    "rtNotifyCreateWithFlag": "(require_current(deviceId), aclrtCreateNotify(notify, flag))",
    "rtNotifyDestroy": "aclrtDestroyNotify",
    "rtNotifyRecord": "aclrtRecordNotify",
    "rtNotifyReset": "aclrtNotifyBatchReset(&notify, 1)",
    "rtNotifyWait": "aclrtWaitAndResetNotify(notify, stm, 0)",
    "rtNotifyWaitWithTimeOut": "aclrtWaitAndResetNotify",
    # memory and copies
    "rtDvppFree": "aclrtFree",
    "rtDvppMalloc": "aclrtMalloc(devPtr, size, ACL_MEM_MALLOC_HUGE_FIRST)",
    "rtFlushCache": "aclrtMemFlush",
    "rtFree": "aclrtFree",
    "rtFreeHost": "aclrtFreeHost",
    "rtFreeHostWithDevSync": "aclrtFreeHostWithDevSync",
    "rtFreeWithDevSync": "aclrtFreeWithDevSync",
    "rtInvalidCache": "aclrtMemInvalidate",
    "rtMalloc": _MALLOC,
    "rtMallocCached": "aclrtMallocCached(devPtr, size, malloc_policy(type))",
    "rtMallocHost": "aclrtMallocHost(hostPtr, size)",
    "rtMemAlloc": "allocate(devPtr, size, policy, advise, cfg)",
    "rtMemAllocManaged": '(require_zero("flag", flag), aclrtMemAllocManaged(ptr, size, ACL_RT_MEM_ATTACH_GLOBAL))',
    "rtMemFreeManaged": "aclrtFree",
    "rtMemGetInfo": "aclrtGetMemInfo(ACL_HBM_MEM, freeSize, totalSize)",
    "rtMemGetInfoEx": "aclrtGetMemInfo(as<aclrtMemAttr>(memInfoType), freeSize, totalSize)",
    "rtMemcpy": _COPY,
    "rtMemcpy2d": "aclrtMemcpy2d(dst, dstPitch, src, srcPitch, width, height, copy_kind(kind))",
    "rtMemcpy2dAsync": "aclrtMemcpy2dAsync(dst, dstPitch, src, srcPitch, width, height, copy_kind(kind), stm)",
    "rtMemcpyAsync": _COPY_ASYNC,
    "rtMemcpyAsyncEx": _COPY_ASYNC,
    "rtMemcpyAsyncWithCfg": _COPY_ASYNC,
    "rtMemcpyAsyncWithCfgV2": _COPY_ASYNC,
    "rtMemcpyAsyncWithoutCheckKind": _COPY_ASYNC,
    "rtMemcpyEx": _COPY,
    "rtMemcpyHostTask": _COPY_ASYNC,
    "rtMemset": "aclrtMemset(devPtr, destMax, as<int32_t>(val), cnt)",
    "rtMemsetAsync": "aclrtMemsetAsync(ptr, destMax, as<int32_t>(val), cnt, stm)",
    "rtPointerGetAttributes": "attributes_of(attributes, ptr)",
    "rtReduceAsync": _REDUCE,
    "rtReduceAsyncWithCfg": _REDUCE,
    "rtReduceAsyncWithCfgV2": _REDUCE,
    # memory of several processes
    "rtIpcCloseMemory": "close_memory(ptr)",
    "rtIpcDestroyMemoryName": "aclrtIpcMemClose",
    "rtIpcOpenMemory": "open_memory(ptr, name)",
    "rtIpcSetMemoryAttr": "aclrtIpcMemSetAttr(name, as<aclrtIpcMemAttrType>(type), attr)",
    "rtIpcSetMemoryName": "aclrtIpcMemGetExportKey(const_cast<void *>(ptr), byteCount, name, len, 0)",
    "rtSetIpcMemPid": "aclrtIpcMemSetImportPid(name, pid, as<size_t>(num))",
    # virtual memory
    "rtFreePhysical": "aclrtFreePhysical",
    "rtMallocPhysical": "with_property(prop, [&](auto *property) "
    "{ return aclrtMallocPhysical(handle, size, property, flags); })",
    "rtMapMem": "aclrtMapMem",
    "rtMemExportToShareableHandle": "aclrtMemExportToShareableHandle(handle, as<aclrtMemHandleType>(handleType), "
    "flags, shareableHandle)",
    "rtMemExportToShareableHandleV2": "aclrtMemExportToShareableHandleV2(handle, flags, "
    "as<aclrtMemSharedHandleType>(handleType), shareableHandle)",
    "rtMemGetAccess": "aclrtMemGetAccess(virPtr, as<aclrtMemLocation *>(location), flags)",
    "rtMemGetAllocationGranularity": "with_property(prop, [&](auto *property) "
    "{ return aclrtMemGetAllocationGranularity(property, as<aclrtMemGranularityOptions>(option), granularity); })",
    "rtMemImportFromShareableHandle": "aclrtMemImportFromShareableHandle",
    "rtMemImportFromShareableHandleV2": "(require_current(devId), aclrtMemImportFromShareableHandleV2("
    "const_cast<void *>(shareableHandle), as<aclrtMemSharedHandleType>(handleType), flags, handle))",
    "rtMemRetainAllocationHandle": "aclrtMemRetainAllocationHandle",
    "rtMemSetAccess": "aclrtMemSetAccess(virPtr, size, as<aclrtMemAccessDesc *>(desc), count)",
    "rtMemSetPidToShareableHandle": "aclrtMemSetPidToShareableHandle",
    "rtMemSetPidToShareableHandleV2": "aclrtMemSetPidToShareableHandleV2(const_cast<void *>(shareableHandle), "
    "as<aclrtMemSharedHandleType>(handleType), pid, pidNum)",
    "rtReleaseMemAddress": "aclrtReleaseMemAddress",
    "rtReserveMemAddress": "aclrtReserveMemAddress",
    "rtUnmapMem": "aclrtUnmapMem",
    # kernels
    "rtBinaryGetFunction": "aclrtBinaryGetFunctionByEntry",
    "rtBinaryGetFunctionByName": "aclrtBinaryGetFunction",
    "rtBinaryLoad": "load_binary(bin, binHandle)",
    "rtBinaryLoadWithoutTilingKey": "aclrtBinaryLoadFromData(data, length, nullptr, binHandle)",
    "rtBinaryUnLoad": "aclrtBinaryUnLoad",
    "rtCacheLastTaskOpInfo": "aclrtCacheLastTaskOpInfo",
    "rtCleanDeviceSatStatus": "aclrtResetOverflowStatus",
    "rtDevBinaryRegister": "register_binary(bin, hdl)",
    "rtDevBinaryUnRegister": "unregister_binary(hdl)",
    "rtFunctionGetAttribute": "aclrtGetFunctionAttribute(funcHandle, as<aclrtFuncAttribute>(attrType), attrValue)",
    "rtFunctionGetMetaInfo": "meta_information(funcHandle, type, data, length)",
    "rtFunctionGetMetaInfoSize": "size_of_meta_information(funcHandle, type, size)",
    "rtFunctionRegister": "register_stub(binHandle, stubFunc, stubName, kernelInfoExt)",
    "rtGetDeviceSatStatus": "aclrtGetOverflowStatus",
    "rtGetFunctionByName": '(require(stubFunc, "stubFunc"), find_stub(stubName, stubFunc))',
    "rtKernelLaunch": "aclrtLaunchKernelWithHostArgs(function_of(stubFunc), numBlocks, stm, nullptr, args, argsSize, "
    "nullptr, 0)",
    "rtKernelLaunchWithFlag": _LAUNCH_STUB,
    "rtKernelLaunchWithFlagV2": _LAUNCH_STUB,
    "rtKernelLaunchWithHandle": _LAUNCH_HANDLE,
    "rtKernelLaunchWithHandleV2": _LAUNCH_HANDLE,
    "rtLaunchKernelByFuncHandleV3": "launch(funcHandle, numBlocks, argsInfo, stm)",
    "rtNpuClearFloatStatus": "aclrtNpuClearFloatOverFlowStatus",
    "rtNpuGetFloatStatus": "aclrtNpuGetFloatOverFlowStatus",
    "rtQueryFunctionRegistered": "find_stub(stubName, nullptr)",
    "rtRegisterAllKernel": "register_binary(bin, hdl)",
    "rtRegisterFuncSymbol": "register_stub(binHandle, symbol, kernelName, nullptr)",
    # callbacks
    "rtCallbackLaunch": "aclrtLaunchCallback(callBackFunc, fnData, isBlock ? ACL_CALLBACK_BLOCK : "
    "ACL_CALLBACK_NO_BLOCK, stm)",
    "rtProcessHostFunc": "aclrtProcessHostFunc",
    "rtProcessReport": "aclrtProcessReport",
    "rtSubscribeHostFunc": "aclrtSubscribeHostFunc",
    "rtSubscribeReport": "aclrtSubscribeReport",
    "rtUnSubscribeHostFunc": "aclrtUnSubscribeHostFunc",
    "rtUnSubscribeReport": "aclrtUnSubscribeReport",
    # models and labels
    "rtEndGraph": "aclmdlRIEndTask",
    "rtEndGraphEx": '(require_zero("flags", flags), aclmdlRIEndTask(mdl, stm))',
    "rtLabelCreate": "aclrtCreateLabel",
    "rtLabelDestroy": "aclrtDestroyLabel",
    "rtLabelSet": "aclrtSetLabel",
    "rtModelAbort": "aclmdlRIAbort",
    "rtModelBindStream": "aclmdlRIBindStream",
    "rtModelCreate": "aclmdlRIBuildBegin",
    "rtModelDestroy": "aclmdlRIDestroy",
    "rtModelExecute": "aclmdlRIExecuteAsync(mdl, stm)",
    "rtModelExecuteSync": "aclmdlRIExecute(mdl, timeout)",
    "rtModelGetId": "aclmdlRIGetId",
    "rtModelLoadComplete": "aclmdlRIBuildEnd(mdl, nullptr)",
    "rtModelUnbindStream": "aclmdlRIUnbindStream",
    "rtSetModelName": "aclmdlRISetName",
}

# Refusals that name what does the same.
REASONS = {
    "rtDisableP2P": "call aclrtDeviceDisablePeerAccess, for the current device",
    "rtEnableP2P": "call aclrtDeviceEnablePeerAccess, for the current device",
    "rtGetP2PStatus": "call aclrtDevicePeerAccessStatus",
    "rtLabelListCpy": "call aclrtCreateLabelList",
    "rtLabelSwitchByIndex": "call aclrtSwitchLabelByIndex, with the list of aclrtCreateLabelList",
    "rtMemAdvise": "call aclrtMemManagedAdvise",
    "rtMemGetAllocationPropertiesFromHandle": "call aclrtMemGetAllocationPropertiesFromHandle",
    "rtMemPrefetchToDevice": "call aclrtMemManagedPrefetchAsync",
    "rtRegTaskFailCallbackByModule": "call aclrtExceptionInfoCallbackRegister",
    "rtSetIpcNotifyPid": "call aclrtNotifySetImportPid",
    "rtSetTaskAbortCallBack": "call aclrtSetDeviceTaskAbortCallback",
    "rtSetTaskFailCallback": "call aclrtSetExceptionInfoCallback",
}

# Documented functions behind the conversions that are more than one call, for the page.
_BEHIND = {
    "allocate": "aclrtMallocWithCfg, aclrtMallocCached, aclrtMallocForTaskScheduler",
    "attributes_of": "aclrtPointerGetAttributes",
    "close_memory": "aclrtIpcMemClose",
    "complete": "aclrtStreamQuery",
    "complete_event": "aclrtQueryEvent",
    "control_address": "aclrtGetHardwareSyncAddr",
    "core_count": "aclrtGetDeviceInfo",
    "device_ids": "aclrtGetDeviceCount",
    "failure_mode": "aclrtGetStreamAttribute",
    "find_stub": "the stub of rtFunctionRegister",
    "flags_of": "aclrtStreamGetFlags",
    "last_task": "aclrtGetThreadLastTaskId, with the number of the stream",
    "launch": "aclrtLaunchKernelWithHostArgs, aclrtLaunchKernel",
    "load_binary": "aclrtBinaryLoadFromData",
    "meta_information": "aclrtGetFunctionAttribute",
    "open_memory": "aclrtIpcMemImportByKey",
    "register_binary": "aclrtBinaryLoadFromData, at the first launch",
    "register_stub": "aclrtBinaryGetFunction, at launches",
    "size_of_meta_information": "aclrtGetFunctionAttribute",
    "soc_name": "aclrtGetSocName",
    "soc_value": "aclrtGetDeviceInfo",
    "unregister_binary": "aclrtBinaryUnLoad",
    "wait_for_event": "aclrtStreamWaitEventWithTimeout",
}

_PAGE = """\
<!-- Generated by codegen from codegen/runtime.py; do not edit. -->
# Inner functions of the runtime

Some libraries and programs call the runtime below its documented interface, in `libruntime.so`: `rtMalloc`,
`rtStreamCreate`, `rtKernelLaunch`. `runtime/rt.h` declares what they use; [native clients](native_clients.md) has the
places of the header.

The {count} functions of this table do what the documented function behind them does. They return the runtime's own
codes: where the documented function has `ACL_ERROR_INVALID_PARAM` (100000), they have `ACL_ERROR_RT_PARAM_INVALID`
(107000). Values that the documented function has no parameter for, such as flags of a context, are refused.

- `rtDevBinaryRegister` and `rtFunctionRegister` need no device. A binary is loaded at the first launch. It can be any
  binary that `aclrtBinaryLoadFromData` takes ([kernels](kernels.md)). Machine code of an NPU can be registered, and its
  launch is refused.
- `rtFunctionGetMetaInfo` knows the kind of a kernel, and of one for both kinds of cores how many of each work together.
- `rtGetSocSpec` knows the numbers of cores, the sizes of the memory and of the cache, `SoC_version` and `NpuArch`.
- Settings of copies and launches that concern the hardware alone (`qosCfg`, `cfgInfo`, `smDesc`, `flags` of a launch)
  have no effect.

The other functions of the runtime's public headers are in the library, too. They return
`ACL_ERROR_RT_FEATURE_NOT_SUPPORT` (207000) with a text that names the function, and the documented one to call where
there is one. Headers of tasks that are written for the hardware (FFTS, STARS) and of queues between processes are not
there.

| Function | Does the same |
|---|---|
{rows}
"""


def page() -> str:
    """Return the page of the guide that lists the functions."""
    rows = "\n".join(f"| `{name}` | {_documented(CALLS[name])} |" for name in sorted(CALLS))
    return _PAGE.format(count=len(CALLS), rows=rows)


def _documented(call: str) -> str:
    found = re.findall(r"\bacl(?:rt|mdlRI)\w+(?=\(|$)", call)
    helpers = [_BEHIND[name] for name in re.findall(r"\b\w+(?=\()", call) if name in _BEHIND]
    return re.sub(r"\b(acl\w+)", r"`\1`", ", ".join(found or helpers))
