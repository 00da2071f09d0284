/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, and their capture. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define RT_STREAM_DEFAULT 0x00
#define RT_STREAM_PERSISTENT 0x01
#define RT_STREAM_FORCE_COPY 0x02
#define RT_STREAM_HUGE 0x04
#define RT_STREAM_AICPU 0x08
#define RT_STREAM_CPU_SCHEDULE 0x08
#define RT_STREAM_FORBIDDEN_DEFAULT 0x10
#define RT_STREAM_HEAD 0x20
#define RT_STREAM_PRIMARY_DEFAULT 0x40
#define RT_STREAM_PRIMARY_FIRST_DEFAULT 0x80
#define RT_STREAM_OVERFLOW 0x100
#define RT_STREAM_VECTOR_CORE_USE 0x1000
#define RT_STREAM_ACSQ_LOCK 0x2000
#define RT_STREAM_DQS_CTRL 0x4000
#define RT_STREAM_DQS_INTER_CHIP 0x8000
#define RT_STREAM_PRIORITY_DEFAULT 0
#define RT_NORMAL_STREAM 0x00
#define RT_HUGE_STREAM 0x01
#define RT_STREAM_FAST_LAUNCH 0x200
#define RT_STREAM_FAST_SYNC 0x400
#define RT_STREAM_CP_PROCESS_USE 0x800
#define RT_MAX_MODELS_IN_ONE_STREAM 256

typedef struct TagStreamConfigHandle {
    void *workPtr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
} rtStreamConfigHandle;

typedef enum tagRtClearStep { RT_STREAM_STOP = 0, RT_STREAM_CLEAR = 1 } rtClearStep_t;

typedef enum tagRtStreamCaptureStatus {
    RT_STREAM_CAPTURE_STATUS_NONE = 0,
    RT_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    RT_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
    RT_STREAM_CAPTURE_STATUS_MAX = 3
} rtStreamCaptureStatus;

rtError_t rtStreamCreateWithFlags(rtStream_t *stm, int32_t priority, uint32_t flags);
rtError_t rtStreamGetSqid(const rtStream_t stm, uint32_t *sqId);
rtError_t rtStreamGetCqid(const rtStream_t stm, uint32_t *cqId, uint32_t *logicCqId);
rtError_t rtGetMaxStreamAndTask(uint32_t streamType, uint32_t *maxStrCount, uint32_t *maxTaskCount);
rtError_t rtStreamGetWorkspace(const rtStream_t stm, void **workaddr, size_t *worksize);
rtError_t rtStreamCreate(rtStream_t *stm, int32_t priority);
rtError_t rtStreamCreateWithFlagsExternal(rtStream_t *stm, int32_t priority, uint32_t flags);
rtError_t rtStreamCreateWithConfig(rtStream_t *stm, rtStreamConfigHandle *handle);
rtError_t rtStreamGetPriority(const rtStream_t stm, uint32_t *priority);
rtError_t rtStreamGetFlags(const rtStream_t stm, uint32_t *flags);
rtError_t rtStreamDestroy(rtStream_t stm);
rtError_t rtStreamDestroyForce(rtStream_t stm);
rtError_t rtStreamWaitEvent(rtStream_t stm, rtEvent_t evt);
rtError_t rtStreamWaitEventWithTimeout(rtStream_t stm, rtEvent_t evt, uint32_t timeout);
rtError_t rtStreamSynchronize(rtStream_t stm);
rtError_t rtStreamSynchronizeWithTimeout(rtStream_t stm, int32_t timeout);
rtError_t rtStreamQuery(rtStream_t stm);
rtError_t rtGetStreamId(rtStream_t stm, int32_t *streamId);
rtError_t rtGetAvailStreamNum(const uint32_t streamType, uint32_t *const streamCount);
rtError_t rtGetAvailEventNum(uint32_t *const eventCount);
rtError_t rtNameStream(rtStream_t stm, const char_t *name);
rtError_t rtStreamSwitchEx(void *ptr, rtCondition_t condition, void *valuePtr, rtStream_t trueStream, rtStream_t stm,
                           rtSwitchDataType_t dataType);
rtError_t rtStreamActive(rtStream_t activeStream, rtStream_t stm);
rtError_t rtStreamSwitchN(void *ptr, uint32_t size, void *valuePtr, rtStream_t *trueStreamPtr, uint32_t elementSize,
                          rtStream_t stm, rtSwitchDataType_t dataType);
rtError_t rtSetStreamOverflowSwitch(rtStream_t stm, uint32_t flags);
rtError_t rtGetStreamOverflowSwitch(rtStream_t stm, uint32_t *flags);
rtError_t rtGetStreamTag(rtStream_t stm, uint32_t *geOpTag);
rtError_t rtStreamClear(rtStream_t stm, rtClearStep_t step);
rtError_t rtStreamTaskClean(rtStream_t stm);
rtError_t rtCtxGetCurrentDefaultStream(rtStream_t *stm);
rtError_t rtStreamAbort(rtStream_t stm);
rtError_t rtStreamBeginCapture(rtStream_t stm, const rtStreamCaptureMode mode);
rtError_t rtStreamEndCapture(rtStream_t stm, rtModel_t *captureMdl);
rtError_t rtStreamGetCaptureInfo(rtStream_t stm, rtStreamCaptureStatus *const status, rtModel_t *captureMdl);
rtError_t rtThreadExchangeCaptureMode(rtStreamCaptureMode *mode);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
