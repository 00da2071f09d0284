/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries, functions in them, their launch, and callbacks. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define RT_DEV_BINARY_MAGIC_ELF 0x43554245
#define RT_DEV_BINARY_MAGIC_ELF_AICPU 0x41415243
#define RT_DEV_BINARY_MAGIC_ELF_AIVEC 0x41415246
#define RT_DEV_BINARY_MAGIC_ELF_AICUBE 0x41494343
#define RT_KERNEL_DEFAULT 0x00
#define RT_KERNEL_CONVERT 0x01
#define RT_KERNEL_DUMPFLAG 0x02
#define RT_FUSION_KERNEL_DUMPFLAG 0x04
#define RT_KERNEL_CUSTOM_AICPU 0x08
#define RT_KERNEL_FFTSPLUS_DYNAMIC_SHAPE_DUMPFLAG 0x10
#define RT_KERNEL_FFTSPLUS_STATIC_SHAPE_DUMPFLAG 0x20
#define RT_KERNEL_CMDLIST_NOT_FREE 0x40
#define RT_KERNEL_USE_SPECIAL_TIMEOUT 0x100
#define RT_DEV_BINARY_MAGIC_PLAIN 0xabceed50
#define RT_DEV_BINARY_MAGIC_PLAIN_AICPU 0xabceed51
#define RT_DEV_BINARY_MAGIC_PLAIN_AIVEC 0xabceed52
#define RT_KERNEL_DEVICE_FIRST 0x10
#define RT_KERNEL_HOST_ONLY 0x20
#define RT_KERNEL_HOST_FIRST 0x40
#define RT_KERNEL_BIUPERF_FLAG 0x80
#define RT_DEFAULT_KERNEL_MODE 0x00
#define RT_NORMAL_KERNEL_MODE 0x01
#define RT_ALL_KERNEL_MODE 0x02
#define RT_STATIC_SHAPE_KERNEL 0x00
#define RT_DYNAMIC_SHAPE_KERNEL 0x01
#define RT_DDR_ADDR 0x0

typedef struct tagRtDevBinary {
    uint32_t magic;
    uint32_t version;
    const void *data;
    uint64_t length;
} rtDevBinary_t;

typedef struct rtHostInputInfo {
    uint32_t addrOffset;
    uint32_t dataOffset;
} rtHostInputInfo_t;

typedef struct tagRtArgsEx {
    void *args;
    rtHostInputInfo_t *hostInputInfoPtr;
    uint32_t argsSize;
    uint32_t tilingAddrOffset;
    uint32_t tilingDataOffset;
    uint16_t hostInputInfoNum;
    uint8_t hasTiling;
    uint8_t isNoNeedH2DCopy;
    uint8_t reserved[4];
} rtArgsEx_t;

typedef struct tagRtAicpuArgsEx {
    void *args;
    rtHostInputInfo_t *hostInputInfoPtr;
    rtHostInputInfo_t *kernelOffsetInfoPtr;
    uint32_t argsSize;
    uint16_t hostInputInfoNum;
    uint16_t kernelOffsetInfoNum;
    uint32_t soNameAddrOffset;
    uint32_t kernelNameAddrOffset;
    bool isNoNeedH2DCopy;
    uint16_t timeout;
    uint8_t reserved;
} rtAicpuArgsEx_t;

typedef union rtLaunchAttributeValue_union {
    uint32_t blockDim;
    uint32_t dynamicShareMemSize;
    uint32_t dynUBufSize;
    struct {
        uint32_t groupDim;
        uint32_t groupBlockDim;
    } Group;
    uint8_t qos;
    uint8_t partId;
    uint8_t schemMode;
    uint32_t blockDimOffset;
    uint8_t dumpflag;
} rtLaunchAttributeValue_t;

typedef enum rtLaunchAttributeId {
    RT_LAUNCH_ATTRIBUTE_BLOCKDIM = 0,
    RT_LAUNCH_ATTRIBUTE_DYNAMIC_SHARE_MEM_SIZE = 1,
    RT_LAUNCH_ATTRIBUTE_DYN_UBUF_SIZE = 1,
    RT_LAUNCH_ATTRIBUTE_GROUP = 2,
    RT_LAUNCH_ATTRIBUTE_QOS = 3,
    RT_LAUNCH_ATTRIBUTE_PARTID = 4,
    RT_LAUNCH_ATTRIBUTE_SCHEMMODE = 5,
    RT_LAUNCH_ATTRIBUTE_BLOCKDIM_OFFSET = 6,
    RT_LAUNCH_ATTRIBUTE_DUMPFLAG = 7,
    RT_LAUNCH_ATTRIBUTE_MAX = 8
} rtLaunchAttributeId_t;

typedef struct rtLaunchAttribute {
    rtLaunchAttributeId_t id;
    rtLaunchAttributeValue_t value;
} rtLaunchAttribute_t;

typedef struct rtLaunchConfig {
    rtLaunchAttribute_t *attrs;
    uint32_t numAttrs;
} rtLaunchConfig_t;

typedef struct tagRtSmData {
    uint64_t L2_mirror_addr;
    uint32_t L2_data_section_size;
    uint8_t L2_preload;
    uint8_t modified;
    uint8_t priority;
    int8_t prev_L2_page_offset_base;
    uint8_t L2_page_offset_base;
    uint8_t L2_load_to_ddr;
    uint8_t reserved[2];
} rtSmData_t;

typedef struct tagRtSmCtrl {
    rtSmData_t data[8];
    uint64_t size;
    uint8_t remap[64];
    uint8_t l2_in_main;
    uint8_t reserved[3];
} rtSmDesc_t;

typedef enum rtKernelType {
    KERNEL_TYPE_CCE = 0,
    KERNEL_TYPE_FWK = 1,
    KERNEL_TYPE_AICPU = 2,
    KERNEL_TYPE_AICPU_CUSTOM = 4,
    KERNEL_TYPE_AICPU_KFC = 5,
    KERNEL_TYPE_CUSTOM_KFC = 6,
    KERNEL_TYPE_HWTS = 10,
    KERNEL_TYPE_RESERVED = 99
} rtKernelType_t;

typedef enum {
    RT_FUNCTION_ATTR_KERNEL_TYPE = 1,
    RT_FUNCTION_ATTR_KERNEL_RATIO = 2,
    RT_FUNCTION_ATTR_KERNEL_SCHED_MODE = 3,
    RT_FUNCTION_ATTR_MAX = 4
} rtFuncAttribute;

rtError_t rtGetNotifyAddress(rtNotify_t notify, uint64_t *const notifyAddres);
rtError_t rtSetExceptionExtInfo(const rtArgsSizeInfo_t *const sizeInfo);
rtError_t rtAicpuKernelLaunchExWithArgs(const uint32_t kernelType, const char_t *const opName, const uint32_t numBlocks,
                                        const rtAicpuArgsEx_t *argsInfo, rtSmDesc_t *const smDesc, const rtStream_t stm,
                                        const uint32_t flags);
rtError_t rtBinarySetExceptionCallback(rtBinHandle binHandle, rtOpExceptionCallback callback, void *userData);
rtError_t rtGetFuncHandleFromExceptionInfo(const rtExceptionInfo_t *info, rtFuncHandle *func);
rtError_t rtBinaryGetMetaNum(const rtBinHandle binHandle, const rtBinaryMetaType type, size_t *numOfMeta);
rtError_t rtBinaryGetMetaInfo(const rtBinHandle binHandle, const rtBinaryMetaType type, const size_t numOfMeta,
                              void **data, const size_t *dataSize);
rtError_t rtFunctionGetMetaInfo(const rtFuncHandle funcHandle, const rtFunctionMetaType type, void *data,
                                const uint32_t length);
rtError_t rtFunctionGetMetaInfoSize(const rtFuncHandle funcHandle, const rtFunctionMetaType type, size_t *size);
rtError_t rtGetL2CacheOffset(uint32_t deviceId, uint64_t *offset);
rtError_t rtRegisterAllKernel(const rtDevBinary_t *bin, void **hdl);
rtError_t rtNopTask(rtStream_t stm);
void rtRegisterVariable(void *binHandle, const void *hostVar, const char *deviceVarName, size_t size, uint32_t flags,
                        void *reserve);
rtError_t rtRegisterFuncSymbol(void *binHandle, const void *symbol, const char *kernelName, void *reserve);
rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **hdl);
rtError_t rtDevBinaryUnRegister(void *hdl);
rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char_t *stubName, const void *kernelInfoExt,
                             uint32_t funcMode);
rtError_t rtGetFunctionByName(const char_t *stubName, void **stubFunc);
rtError_t rtGetAddrByFun(const void *stubFunc, void **addr);
rtError_t rtQueryFunctionRegistered(const char_t *stubName);
rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, rtSmDesc_t *smDesc,
                         rtStream_t stm);
rtError_t rtKernelLaunchWithHandle(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                   rtSmDesc_t *smDesc, rtStream_t stm, const void *kernelInfo);
rtError_t rtKernelLaunchWithHandleV2(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                     rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtKernelLaunchWithFlag(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                 rtStream_t stm, uint32_t flags);
rtError_t rtKernelLaunchWithFlagV2(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                   rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo);
rtError_t rtNpuGetFloatStatus(void *outputAddrPtr, uint64_t outputSize, uint32_t checkMode, rtStream_t stm);
rtError_t rtNpuClearFloatStatus(uint32_t checkMode, rtStream_t stm);
rtError_t rtSubscribeReport(uint64_t threadId, rtStream_t stm);
rtError_t rtCallbackLaunch(rtCallback_t callBackFunc, void *fnData, rtStream_t stm, bool isBlock);
rtError_t rtProcessReport(int32_t timeout);
rtError_t rtUnSubscribeReport(uint64_t threadId, rtStream_t stm);
rtError_t rtBinaryLoad(const rtDevBinary_t *bin, rtBinHandle *binHandle);
rtError_t rtBinaryGetFunction(const rtBinHandle binHandle, const uint64_t tilingKey, rtFuncHandle *funcHandle);
rtError_t rtBinaryUnLoad(rtBinHandle binHandle);
rtError_t rtGetDeviceSatStatus(void *const outputAddrPtr, const uint64_t outputSize, rtStream_t stm);
rtError_t rtCleanDeviceSatStatus(rtStream_t stm);
rtError_t rtSubscribeHostFunc(uint64_t threadId, rtStream_t stream);
rtError_t rtProcessHostFunc(int32_t timeout);
rtError_t rtUnSubscribeHostFunc(uint64_t threadId, rtStream_t stream);
rtError_t rtBinaryGetFunctionByName(const rtBinHandle binHandle, const char *kernelName, rtFuncHandle *funcHandle);
rtError_t rtBinaryLoadWithoutTilingKey(const void *data, const uint64_t length, rtBinHandle *binHandle);
rtError_t rtLaunchKernelByFuncHandleV3(rtFuncHandle funcHandle, uint32_t numBlocks, const rtArgsEx_t *const argsInfo,
                                       rtStream_t stm, const rtTaskCfgInfo_t *const cfgInfo);
rtError_t rtCacheLastTaskOpInfo(const void *const infoPtr, const size_t infoSize);
rtError_t rtFunctionGetAttribute(rtFuncHandle funcHandle, rtFuncAttribute attrType, int64_t *attrValue);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
