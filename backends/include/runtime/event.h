/* SPDX-License-Identifier: Apache-2.0 */
/* Events and notifies. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define TASK_TAG_MAX_LEN 1024
#define RT_IPC_HANDLE_SIZE 64
#define RT_EVENT_DDSYNC_NS 0x01
#define RT_EVENT_STREAM_MARK 0x02
#define RT_EVENT_DDSYNC 0x04
#define RT_EVENT_TIME_LINE 0x08
#define RT_EVENT_MC2 0x10
#define RT_EVENT_EXTERNAL 0x20
#define RT_EVENT_IPC 0x40
#define RT_EVENT_DEFAULT (RT_EVENT_DDSYNC | RT_EVENT_TIME_LINE | RT_EVENT_STREAM_MARK)
#define RT_EVENT_WITH_FLAG (RT_EVENT_DDSYNC_NS)
#define RT_NOTIFY_FLAG_DEFAULT 0x00
#define RT_NOTIFY_FLAG_DOWNLOAD_TO_DEV 0x01
#define RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION (0x1U << 1)
#define RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS (0x1U << 1)
#define RT_NOTIFY_FLAG_SHR_ID_SHADOW (0x1U << 6)
#define RT_NOTIFY_FLAG_MAX (RT_NOTIFY_FLAG_DOWNLOAD_TO_DEV | RT_NOTIFY_FLAG_SHR_ID_SHADOW)
#define RT_NOTIFY_DEFAULT 0x00
#define RT_NOTIFY_MC2 0x01

typedef enum rtEventWaitStatus {
    EVENT_STATUS_COMPLETE = 0,
    EVENT_STATUS_NOT_READY = 1,
    EVENT_STATUS_MAX = 2
} rtEventWaitStatus_t;

typedef enum rtEventStatus { RT_EVENT_INIT = 0, RT_EVENT_RECORDED = 1 } rtEventStatus_t;

typedef struct rtIpcEventHandle {
    char reserved[64U];
} rtIpcEventHandle_t;

typedef enum {
    RT_STREAM_ID = 0,
    RT_EVENT_ID = 1,
    RT_MODEL_ID = 2,
    RT_NOTIFY_ID = 3,
    RT_CMO_ID = 4,
    RT_CNT_NOTIFY_ID = 5,
    RT_INVALID_ID = 6
} rtIdType_t;

typedef struct rtKernelLaunchNames {
    const char_t *soName;
    const char_t *kernelName;
    const char_t *opName;
} rtKernelLaunchNames_t;

rtError_t rtNotifyGetAddrOffset(rtNotify_t notify, uint64_t *devAddrOffset);
rtError_t rtSetTaskTag(const char_t *taskTag);
rtError_t rtEventCreate(rtEvent_t *evt);
rtError_t rtEventCreateWithFlag(rtEvent_t *evt, uint32_t flag);
rtError_t rtEventCreateExWithFlag(rtEvent_t *evt, uint32_t flag);
rtError_t rtEventDestroy(rtEvent_t evt);
rtError_t rtEventDestroySync(rtEvent_t evt);
rtError_t rtGetEventID(rtEvent_t evt, uint32_t *evtId);
rtError_t rtEventRecord(rtEvent_t evt, rtStream_t stm);
rtError_t rtEventReset(rtEvent_t evt, rtStream_t stm);
rtError_t rtEventSynchronize(rtEvent_t evt);
rtError_t rtEventSynchronizeWithTimeout(rtEvent_t evt, const int32_t timeout);
rtError_t rtEventQuery(rtEvent_t evt);
rtError_t rtEventQueryWaitStatus(rtEvent_t evt, rtEventWaitStatus_t *status);
rtError_t rtEventQueryStatus(rtEvent_t evt, rtEventStatus_t *status);
rtError_t rtEventElapsedTime(float32_t *timeInterval, rtEvent_t startEvent, rtEvent_t endEvent);
rtError_t rtEventGetTimeStamp(uint64_t *timeStamp, rtEvent_t evt);
rtError_t rtNotifyCreate(int32_t deviceId, rtNotify_t *notify);
rtError_t rtNotifyCreateWithFlag(int32_t deviceId, rtNotify_t *notify, uint32_t flag);
rtError_t rtNotifyDestroy(rtNotify_t notify);
rtError_t rtNotifyRecord(rtNotify_t notify, rtStream_t stm);
rtError_t rtNotifyReset(rtNotify_t notify);
rtError_t rtResourceClean(int32_t devId, rtIdType_t type);
rtError_t rtNotifyWait(rtNotify_t notify, rtStream_t stm);
rtError_t rtNotifyWaitWithTimeOut(rtNotify_t notify, rtStream_t stm, uint32_t timeOut);
rtError_t rtGetNotifyID(rtNotify_t notify, uint32_t *notifyId);
rtError_t rtIpcSetNotifyName(rtNotify_t notify, char_t *name, uint32_t len);
rtError_t rtIpcOpenNotify(rtNotify_t *notify, const char_t *name);
rtError_t rtIpcOpenNotifyWithFlag(rtNotify_t *notify, const char_t *name, uint32_t flag);
rtError_t rtSetIpcNotifyPid(const char_t *name, int32_t *pid, int32_t num);
rtError_t rtIpcGetEventHandle(rtEvent_t event, rtIpcEventHandle_t *handle);
rtError_t rtIpcOpenEventHandle(rtIpcEventHandle_t handle, rtEvent_t *event);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
