/* SPDX-License-Identifier: Apache-2.0 */
/* Captured and built graphs, "model running instances" (API reference 15). */
#pragma once

#include "base.h"

/* @enum DebugJsonPrintFlag: level of detail of aclmdlRIDebugJsonPrint */
#define ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY 0
#define ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE 1

typedef void *aclmdlRI;

typedef void *aclmdlRICondHandle;

typedef enum aclmdlRICondTaskType {
    ACL_MODEL_RI_COND_TYPE_IF = 0,
    ACL_MODEL_RI_COND_TYPE_WHILE = 1,
    ACL_MODEL_RI_COND_TYPE_SWITCH = 2,
} aclmdlRICondTaskType;

typedef struct tagAclmdlRICondTaskParams {
    aclmdlRICondHandle handle;
    aclmdlRICondTaskType type;
    uint32_t size;
    aclmdlRI *modelRIArray;
} aclmdlRICondTaskParams;

typedef enum aclmdlRICaptureMode {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1,
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2,
} aclmdlRICaptureMode;

typedef enum aclmdlRICaptureStatus {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2,
} aclmdlRICaptureStatus;

typedef void *aclrtTaskGrp;

typedef enum aclmdlRICondHandleFlag {
    ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT = 1,
} aclmdlRICondHandleFlag;

typedef void *aclmdlRITask;

typedef enum aclmdlRITaskType {
    ACL_MODEL_RI_TASK_DEFAULT = 0,
    ACL_MODEL_RI_TASK_KERNEL = 1,
    ACL_MODEL_RI_TASK_EVENT_RECORD = 2,
    ACL_MODEL_RI_TASK_EVENT_WAIT = 3,
    ACL_MODEL_RI_TASK_EVENT_RESET = 4,
    ACL_MODEL_RI_TASK_VALUE_WRITE = 5,
    ACL_MODEL_RI_TASK_VALUE_WAIT = 6,
} aclmdlRITaskType;

typedef struct aclmdlRIKernelTaskParams {
    aclrtFuncHandle funcHandle;
    aclrtLaunchKernelCfg *cfg;
    void *args;
    uint32_t isHostArgs;
    size_t argsSize;
    uint32_t numBlocks;
    uint32_t rsv[10];
} aclmdlRIKernelTaskParams;

typedef struct aclmdlRIEventRecordTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t recordFlag;
} aclmdlRIEventRecordTaskParams;

typedef struct aclmdlRIEventWaitTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t waitFlag;
} aclmdlRIEventWaitTaskParams;

typedef struct aclmdlRIEventResetTaskParams {
    aclrtEvent event;
    uint32_t eventFlag;
    uint32_t resetFlag;
} aclmdlRIEventResetTaskParams;

typedef struct aclmdlRIValueWriteTaskParams {
    void *devAddr;
    uint64_t value;
} aclmdlRIValueWriteTaskParams;

typedef struct aclmdlRIValueWaitTaskParams {
    void *devAddr;
    uint64_t value;
    uint32_t flag;
} aclmdlRIValueWaitTaskParams;

typedef struct aclmdlRITaskParams {
    aclmdlRITaskType type;
    uint32_t rsv0[3];
    aclrtTaskGrp taskGrp;
    void *opInfoPtr;
    size_t opInfoSize;
    uint8_t rsv1[32];
    __extension__ union { /* C99 has no unnamed unions */
        uint8_t rsv2[128];
        struct aclmdlRIKernelTaskParams kernelTaskParams;
        struct aclmdlRIEventRecordTaskParams eventRecordTaskParams;
        struct aclmdlRIEventWaitTaskParams eventWaitTaskParams;
        struct aclmdlRIEventResetTaskParams eventResetTaskParams;
        struct aclmdlRIValueWriteTaskParams valueWriteTaskParams;
        struct aclmdlRIValueWaitTaskParams valueWaitTaskParams;
    };
} aclmdlRITaskParams;

aclError aclmdlRIAbort(aclmdlRI modelRI); /* since 8.5.0-beta.1 */
aclError aclmdlRIAddCondTask(
    aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags); /* since 9.1.0.pre, 910B 910C 950 */
aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream, uint32_t flag); /* since 8.5.0-beta.1 */
aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag); /* since 8.5.0-beta.1 */
aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve); /* since 8.5.0-beta.1 */
aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureGetInfo(
    aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode); /* 910B 910C 310P 950 */
aclError aclmdlRICaptureToModelRIBegin(
    aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode); /* since 9.1.0.pre, 910B 910C 950 */
aclError aclmdlRICondHandleCreate(
    aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag, aclmdlRICondHandle *handle); /* since 9.1.0.pre, 910B 910C 950 */
aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t **ptr); /* since 9.1.0.pre, 910B 910C 950 */
aclError aclmdlRIDebugJsonPrint(
    aclmdlRI modelRI, const char *path, uint32_t flags); /* since 8.5.0-beta.1, 910B 910C 310P 950 */
aclError aclmdlRIDebugPrint(aclmdlRI modelRI); /* 910B 910C 310P 950 */
aclError aclmdlRIDestroy(aclmdlRI modelRI);
aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData); /* since 9.0.0-beta.2 */
aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func); /* since 9.0.0-beta.2 */
aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout); /* since 8.5.0-beta.1 */
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream); /* 910B 910C 310P 950 */
aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId); /* since 9.1.0-beta.3, 910B 910C 310P 950 */
aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name); /* since 8.5.0-beta.1 */
aclError aclmdlRIGetStreams(
    aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRIGetTasksByStream(
    aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRIKernelTaskGetAttribute(
    aclmdlRITask task, aclrtLaunchKernelAttrId attrId, aclrtLaunchKernelAttrValue *attrValue); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRISetName(aclmdlRI modelRI, const char *name); /* since 8.5.0-beta.1 */
aclError aclmdlRITaskDisable(aclmdlRITask task); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclmdlRIUpdate(aclmdlRI modelRI); /* since 9.1.0-beta.1, 910B 910C 950 */
aclError aclrtCheckArchCompatibility(const char *socVersion, int32_t *canCompatible); /* since 8.5.0-beta.1 */
