/* SPDX-License-Identifier: Apache-2.0 */
/* Streams (API reference 06). */
#pragma once

#include "base.h"

/* @flags StreamFlag: options of a stream */
#define ACL_STREAM_FAST_LAUNCH 0x1
#define ACL_STREAM_FAST_SYNC 0x2
#define ACL_STREAM_PERSISTENT 0x4
#define ACL_STREAM_HUGE 0x8
#define ACL_STREAM_CPU_SCHEDULE 0x10
#define ACL_STREAM_DEVICE_USE_ONLY 0x20

/* @enum FailureMode: behaviour of a stream after a failed task */
#define ACL_CONTINUE_ON_FAILURE 0
#define ACL_STOP_ON_FAILURE 1

typedef enum aclrtStreamAttr {
    ACL_STREAM_ATTR_FAILURE_MODE = 1,
    ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
    ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
    ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
    ACL_STREAM_ATTR_PRIORITY = 5,
} aclrtStreamAttr;

typedef union aclrtStreamAttrValue {
    uint64_t failureMode;
    uint32_t overflowSwitch;
    uint32_t userCustomTag;
    uint32_t cacheOpInfoSwitch;
    uint32_t streamPriority;
    uint32_t reserve[4];
} aclrtStreamAttrValue;

typedef enum aclrtStreamState {
    ACL_RT_STREAM_STATE_CREATE_POST = 1,
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2,
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 65535,
} aclrtStreamStatus;

typedef enum aclrtCondition {
    ACL_RT_EQUAL = 0,
    ACL_RT_NOT_EQUAL = 1,
    ACL_RT_GREATER = 2,
    ACL_RT_GREATER_OR_EQUAL = 3,
    ACL_RT_LESS = 4,
    ACL_RT_LESS_OR_EQUAL = 5,
} aclrtCondition;

typedef enum aclrtCompareDataType {
    ACL_RT_SWITCH_INT32 = 0,
    ACL_RT_SWITCH_INT64 = 1,
} aclrtCompareDataType;

typedef struct aclrtStreamConfigHandle {
    void *workptr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
} aclrtStreamConfigHandle;

typedef enum aclrtStreamConfigAttr {
    ACL_RT_STREAM_WORK_ADDR_PTR = 0,
    ACL_RT_STREAM_WORK_SIZE = 1,
    ACL_RT_STREAM_FLAG = 2,
    ACL_RT_STREAM_PRIORITY = 3,
} aclrtStreamConfigAttr;

aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream); /* since 8.5.0-beta.1, 910B 310B 310P 910 950 */
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtDestroyStreamForce(aclrtStream stream);
aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value); /* since 8.5.0-beta.1 */
aclError aclrtGetStreamAvailableNum(uint32_t *streamCount); /* since 8.5.0-beta.1 */
aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag); /* 910B 910C 950 */
aclError aclrtPersistentTaskClean(aclrtStream stream); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtRegStreamStateCallback(const char *regName, aclrtStreamStateCallback callback, void *args); /* since 8.5.0-beta.1 */
aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value); /* since 8.5.0-beta.1 */
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag); /* 910B 910C 950 */
aclError aclrtStreamAbort(aclrtStream stream); /* 910B 910C 950 */
aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags); /* since 8.5.0-beta.1 */
aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);
aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority); /* since 8.5.0-beta.1 */
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);
aclError aclrtStreamStop(aclrtStream stream); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtSwitchStream(
    void *leftValue, aclrtCondition cond, void *rightValue, aclrtCompareDataType dataType, aclrtStream trueStream,
    aclrtStream falseStream, aclrtStream stream); /* since 8.5.0-beta.1, 910B 310B 310P 910 950 */
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
aclError aclrtCreateStream(aclrtStream *stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void); /* IPV350 */
aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle); /* IPV350 */
aclError aclrtSetStreamConfigOpt(
    aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue, size_t valueSize); /* IPV350 */
aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle); /* IPV350 */
