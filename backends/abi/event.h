/* SPDX-License-Identifier: Apache-2.0 */
/* Events (API reference 07). */
#pragma once

#include "base.h"

#define ACL_IPC_EVENT_HANDLE_SIZE 64

/* @flags EventFlag: options of an event */
#define ACL_EVENT_SYNC 0x1
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x2
#define ACL_EVENT_TIME_LINE 0x8
#define ACL_EVENT_DEVICE_USE_ONLY 0x10
#define ACL_EVENT_EXTERNAL 0x20
#define ACL_EVENT_IPC 0x40

/* @enum EventRecordFlag: kinds of records of aclrtRecordEventWithFlag */
#define ACL_EVENT_RECORD_DEFAULT 0
#define ACL_EVENT_RECORD_EXTERNAL 1

/* @enum EventWaitFlag: kinds of waits of aclrtStreamWaitEventWithFlag */
#define ACL_EVENT_WAIT_DEFAULT 0
#define ACL_EVENT_WAIT_EXTERNAL 1

typedef struct aclrtIpcEventHandle {
    char reserved[64];
} aclrtIpcEventHandle;

typedef enum aclrtEventStatus {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 65535,
} aclrtEventWaitStatus;

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
aclError aclrtDestroyEvent(aclrtEvent event);
aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);
aclError aclrtGetEventAvailNum(uint32_t *eventCount); /* since 8.5.0-beta.1 */
aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId); /* since 8.5.0-beta.1 */
aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag); /* since 9.2.0-beta.1, 910B 910C 950 */
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtSetOpWaitTimeout(uint32_t timeout); /* 910B 910C 310B 910 950 */
aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag); /* since 9.2.0-beta.1, 910B 910C 950 */
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout); /* since 8.5.0-beta.1 */
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);
aclError aclrtCreateEvent(aclrtEvent *event);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
aclError aclrtSynchronizeEvent(aclrtEvent event);
