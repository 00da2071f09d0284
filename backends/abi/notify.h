/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies and counting notifies (API reference 08, 09). */
#pragma once

#include "base.h"

/* @flags NotifyFlag: options of a notify */
#define ACL_NOTIFY_DEFAULT 0x0
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x1

/* @flags NotifyExportFlag: options for the export of a notify */
#define ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT 0x0
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x2

/* @flags NotifyImportFlag: options for the import of a notify */
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x2

typedef void *aclrtNotify;

typedef struct aclrtServerPid {
    uint32_t sdid;
    int32_t *pid;
    size_t num;
} aclrtServerPid;

typedef void *aclrtCntNotify;

typedef enum aclrtCntNotifyRecordMode {
    ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE = 0,
    ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE = 1,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE = 2,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE = 4,
} aclrtCntNotifyRecordMode;

typedef struct aclrtCntNotifyRecordInfo {
    aclrtCntNotifyRecordMode mode;
    uint32_t value;
} aclrtCntNotifyRecordInfo;

typedef enum aclrtCntNotifyWaitMode {
    ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE = 0,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE = 1,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE = 2,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE = 3,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE = 4,
} aclrtCntNotifyWaitMode;

typedef struct aclrtCntNotifyWaitInfo {
    aclrtCntNotifyWaitMode mode;
    uint32_t value;
    uint32_t timeout;
    uint8_t isClear;
    uint8_t rsv[3];
} aclrtCntNotifyWaitInfo;

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag); /* since 8.5.0-beta.1 */
aclError aclrtDestroyNotify(aclrtNotify notify); /* since 8.5.0-beta.1 */
aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId); /* since 8.5.0-beta.1 */
aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtNotifyGetExportKey(
    aclrtNotify notify, char *key, size_t len, uint64_t flags); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtNotifyImportByKey(
    aclrtNotify *notify, const char *key, uint64_t flags); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtNotifySetImportPid(
    aclrtNotify notify, int32_t *pid, size_t num); /* since 8.5.0-beta.1, 910B 910C 310P 910 950 */
aclError aclrtNotifySetImportPidInterServer(
    aclrtNotify notify, aclrtServerPid *serverPids, size_t num); /* since 8.5.0-beta.1, 910C */
aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout); /* since 8.5.0-beta.1 */
aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag); /* since 8.5.0-beta.1, 950 */
aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify); /* since 8.5.0-beta.1, 950 */
aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId); /* since 8.5.0-beta.1, 950 */
aclError aclrtCntNotifyRecord(
    aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info); /* since 8.5.0-beta.1, 950 */
aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream); /* since 8.5.0-beta.1, 950 */
aclError aclrtCntNotifyWaitWithTimeout(
    aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info); /* since 8.5.0-beta.1, 950 */
