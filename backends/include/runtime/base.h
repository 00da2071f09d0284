/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the runtime's inner functions (rt*), and its functions for labels and failures. The functions are in
 * libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef int32_t rtError_t;

#define RT_ERROR_NONE 0

typedef char char_t;

typedef float float32_t;

typedef double float64_t;

typedef enum tagRtDeviceStatus {
    RT_DEVICE_STATUS_NORMAL = 0,
    RT_DEVICE_STATUS_ABNORMAL = 1,
    RT_DEVICE_STATUS_END = 0xffff
} rtDeviceStatus;

typedef enum tagRtCondition {
    RT_EQUAL = 0,
    RT_NOT_EQUAL = 1,
    RT_GREATER = 2,
    RT_GREATER_OR_EQUAL = 3,
    RT_LESS = 4,
    RT_LESS_OR_EQUAL = 5
} rtCondition_t;

typedef enum tagSysParamOpt {
    SYS_OPT_DETERMINISTIC = 0,
    SYS_OPT_ENABLE_DEBUG_KERNEL = 1,
    SYS_OPT_STRONG_CONSISTENCY = 2,
    SYS_OPT_ENABLE_KERNEL_EARLY_START = 3,
    SYS_OPT_RESERVED = 4
} rtSysParamOpt;

typedef struct tagRtTaskCfgInfo {
    uint8_t qos;
    uint8_t partId;
    uint8_t schemMode;
    bool d2dCrossFlag;
    uint32_t blockDimOffset;
    uint8_t dumpflag;
    uint8_t neverTimeout;
    uint8_t enableProfiling;
    uint8_t rev;
    uint32_t localMemorySize;
} rtTaskCfgInfo_t;

typedef enum tagRtSwitchDataType { RT_SWITCH_INT32 = 0, RT_SWITCH_INT64 = 1 } rtSwitchDataType_t;

typedef enum tagRtLimitType {
    RT_LIMIT_TYPE_LOW_POWER_TIMEOUT = 0,
    RT_LIMIT_TYPE_SIMT_STACK_SIZE = 1,
    RT_LIMIT_TYPE_SIMT_DVG_WARP_STACK_SIZE = 2,
    RT_LIMIT_TYPE_STACK_SIZE = 3,
    RT_LIMIT_TYPE_SIMD_PRINTF_FIFO_SIZE_PER_CORE = 4,
    RT_LIMIT_TYPE_SIMT_PRINTF_FIFO_SIZE = 5,
    RT_LIMIT_TYPE_RESERVED = 6
} rtLimitType_t;

typedef enum tagRtFloatOverflowMode {
    RT_OVERFLOW_MODE_SATURATION = 0,
    RT_OVERFLOW_MODE_INFNAN = 1,
    RT_OVERFLOW_MODE_UNDEF = 2
} rtFloatOverflowMode_t;

typedef enum tagRtExceptionExpandType {
    RT_EXCEPTION_INVALID = 0,
    RT_EXCEPTION_FFTS_PLUS = 1,
    RT_EXCEPTION_AICORE = 2,
    RT_EXCEPTION_UB = 3,
    RT_EXCEPTION_CCU = 4,
    RT_EXCEPTION_FUSION = 5,
    RT_EXCEPTION_AICPU = 6
} rtExceptionExpandType_t;

typedef struct rtArgsSizeInfo {
    void *infoAddr;
    uint32_t atomicIndex;
} rtArgsSizeInfo_t;

typedef void *rtBinHandle;

typedef void *rtFuncHandle;

typedef struct rtExceptionKernelInfo {
    uint32_t binSize;
    rtBinHandle bin;
    uint32_t kernelNameSize;
    const char *kernelName;
    const void *dfxAddr;
    uint16_t dfxSize;
    uint8_t reserved[2];
    int32_t elfDataFlag;
} rtExceptionKernelInfo_t;

typedef struct rtExceptionArgsInfo {
    uint32_t argsize;
    void *argAddr;
    rtArgsSizeInfo_t sizeInfo;
    rtExceptionKernelInfo_t exceptionKernelInfo;
} rtExceptionArgsInfo_t;

typedef struct rtFftsPlusExDetailInfo {
    uint16_t contextId;
    uint16_t threadId;
    rtExceptionArgsInfo_t exceptionArgs;
} rtFftsPlusExDetailInfo_t;

typedef enum rtFusionType { RT_FUSION_AICORE_CCU = 0, RT_FUSION_AICORE_AICPU = 1 } rtFusionExType_t;

typedef struct rtUbInfo {
    uint8_t functionId;
    uint8_t dieId;
    uint16_t jettyId;
    uint16_t piValue;
} rtUbInfo_t;

typedef enum rtUbExType { RT_UB_TYPE_DOORBELL = 0, RT_UB_TYPE_DIRECT_WQE = 1 } rtUbExType_t;

typedef struct rtUbExDetailInfo {
    rtUbExType_t ubType;
    uint8_t ubNum;
    uint8_t resv[3];
    rtUbInfo_t info[4];
} rtUbExDetailInfo_t;

typedef struct rtCCUExDetailInfo {
    uint8_t dieId;
    uint8_t missionId;
    uint16_t instrId;
    uint64_t args[13U];
    uint8_t status;
    uint8_t subStatus;
    uint8_t panicLog[128U];
} rtCcuMissionDetailInfo_t;

typedef struct rtMultiCCUExDetailInfo {
    uint16_t ccuMissionNum;
    rtCcuMissionDetailInfo_t missionInfo[8U];
} rtMultiCCUExDetailInfo_t;

typedef struct rtAicoreExDetailInfo {
    rtExceptionArgsInfo_t exceptionArgs;
} rtAicoreExDetailInfo_t;

typedef struct rtAicpuExDetailInfo {
    rtFuncHandle funcHandle;
    const char *soName;
    const char *functionName;
    const char *kernelName;
    void *argAddr;
    uint32_t argsize;
} rtAicpuExDetailInfo_t;

typedef struct rtFusionAICoreCCUExDetailInfo {
    rtExceptionArgsInfo_t exceptionArgs;
    rtMultiCCUExDetailInfo_t ccuDetailMsg;
} rtFusionAICoreCCUExDetailInfo_t;

typedef struct rtFusionExDetailInfo {
    rtFusionExType_t type;
    union {
        rtFusionAICoreCCUExDetailInfo_t aicoreCcuInfo;
    } u;
} rtFusionExDetailInfo_t;

typedef struct rtExceptionExpandInfo {
    rtExceptionExpandType_t type;
    union {
        rtFftsPlusExDetailInfo_t fftsPlusInfo;
        rtAicoreExDetailInfo_t aicoreInfo;
        rtAicpuExDetailInfo_t aicpuInfo;
        rtUbExDetailInfo_t ubInfo;
        rtMultiCCUExDetailInfo_t ccuInfo;
        rtFusionExDetailInfo_t fusionInfo;
    } u;
} rtExceptionExpandInfo_t;

typedef struct rtExceptionInfo {
    uint32_t taskid;
    uint32_t streamid;
    uint32_t tid;
    uint32_t deviceid;
    uint32_t retcode;
    rtExceptionExpandInfo_t expandInfo;
} rtExceptionInfo_t;

typedef void *rtStream_t;

typedef void (*rtTaskFailCallback)(rtExceptionInfo_t *exceptionInfo);

typedef void (*rtOpExceptionCallback)(rtExceptionInfo_t *exceptionInfo, void *userData);

typedef void *rtEvent_t;

typedef void *rtLabel_t;

typedef void *rtModel_t;

typedef void *rtNotify_t;

typedef enum tagRtStreamCaptureMode {
    RT_STREAM_CAPTURE_MODE_GLOBAL = 0,
    RT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    RT_STREAM_CAPTURE_MODE_RELAXED = 2,
    RT_STREAM_CAPTURE_MODE_MAX = 3
} rtStreamCaptureMode;

typedef void *rtTask_t;

typedef void (*rtCallback_t)(void *fnData);

typedef enum {
    RT_UTIL_TYPE_AICORE = 0,
    RT_UTIL_TYPE_AIVECTOR = 1,
    RT_UTIL_TYPE_AICPU = 2,
    RT_UTIL_TYPE_MAX = 3
} rtTypeUtil_t;

typedef enum {
    RT_DEVICE_ABORT = 0,
    RT_DEVICE_KILL = 1,
    RT_DEVICE_CLEAN = 2,
    RT_DEVICE_ABORT_PRE = 3,
    RT_DEVICE_ABORT_POST = 4
} rtTaskAbortStage_t;

typedef int32_t (*rtTaskAbortCallBack)(uint32_t devId, rtTaskAbortStage_t stage, uint32_t timeout, void *args);

typedef enum {
    RT_BINARY_TYPE_BIN_VERSION = 0,
    RT_BINARY_TYPE_DEBUG_INFO = 1,
    RT_BINARY_TYPE_DYNAMIC_PARAM = 2,
    RT_BINARY_TYPE_OPTIONAL_PARAM = 3,
    RT_BINARY_TYPE_RUNTIME_IMPLICIT_INFO = 4,
    RT_BINARY_TYPE_SK_INFO = 5,
    RT_BINARY_TYPE_MAX = 6
} rtBinaryMetaType;

typedef enum {
    RT_FUNCTION_TYPE_INVALID = 0,
    RT_FUNCTION_TYPE_KERNEL_TYPE = 1,
    RT_FUNCTION_TYPE_CROSS_CORE = 2,
    RT_FUNCTION_TYPE_MIX_TASK_RATION = 3,
    RT_FUNCTION_TYPE_DFX_TYPE = 4,
    RT_FUNCTION_TYPE_DFX_ARG_INFO = 5,
    RT_FUNCTION_TYPE_L0_EXCEPTION_DFX_IS_TIK = 6,
    RT_FUNCTION_TYPE_COMPILER_ALLOC_UB_SIZE = 7,
    RT_FUNCTION_TYPE_SU_STACK_SIZE = 8,
    RT_FUNCTION_TYPE_SIMT_WARP_STACK_SIZE = 9,
    RT_FUNCTION_TYPE_SIMT_DVG_WARP_STACK_SIZE = 10,
    RT_FUNCTION_TYPE_EARLY_START_ENABLE = 11,
    RT_FUNCTION_TYPE_AIV_TYPE_FLAG = 12,
    RT_FUNCTION_TYPE_DETERMINISTIC_INFO = 13,
    RT_FUNCTION_TYPE_FUNCTION_ENTRY_INFO = 14,
    RT_FUNCTION_TYPE_BLOCK_DIM_INFO = 15,
    RT_FUNCTION_TYPE_PARAM_SUMMARY = 16,
    RT_FUNCTION_TYPE_PARAM_INFO = 17,
    RT_FUNCTION_TYPE_SCHED_MODE_INFO = 18
} rtFunctionMetaType;

rtError_t rtRegTaskFailCallbackByModule(const char_t *moduleName, rtTaskFailCallback callback);
rtError_t rtGetTaskIdAndStreamID(uint32_t *taskId, uint32_t *streamId);
rtError_t rtGetSocSpec(const char *label, const char *key, char *val, const uint32_t maxLen);
rtError_t rtGetBinaryDeviceBaseAddr(void *handle, void **deviceBase);
rtError_t rtSetTaskAbortCallBack(const char *moduleName, rtTaskAbortCallBack callback, void *args);
rtError_t rtSetTaskFailCallback(rtTaskFailCallback callback);
rtError_t rtLabelCreate(rtLabel_t *lbl);
rtError_t rtLabelCreateV2(rtLabel_t *lbl, rtModel_t mdl);
rtError_t rtLabelSet(rtLabel_t lbl, rtStream_t stm);
rtError_t rtLabelDestroy(rtLabel_t lbl);
rtError_t rtLabelGoto(rtLabel_t lbl, rtStream_t stm);
rtError_t rtLabelSwitchByIndex(void *ptr, uint32_t maxValue, void *labelInfoPtr, rtStream_t stm);
rtError_t rtLabelGotoEx(rtLabel_t lbl, rtStream_t stm);
rtError_t rtLabelListCpy(rtLabel_t *lbl, uint32_t labelNumber, void *dst, uint32_t dstMax);
rtError_t rtLabelCreateEx(rtLabel_t *lbl, rtStream_t stm);
rtError_t rtLabelCreateExV2(rtLabel_t *lbl, rtModel_t mdl, rtStream_t stm);
rtError_t rtStreamSetMode(rtStream_t stm, const uint64_t stmMode);
rtError_t rtStreamGetMode(const rtStream_t stm, uint64_t *const stmMode);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
