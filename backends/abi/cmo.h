/* SPDX-License-Identifier: Apache-2.0 */
/* Cache maintenance operations (API reference 11-06). */
#pragma once

#include "base.h"

#define ACL_RT_CMO_MAX_BARRIER_NUM 6

typedef enum aclrtCmoType {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3,
} aclrtCmoType;

typedef struct aclrtBarrierCmoInfo {
    aclrtCmoType cmoType;
    uint32_t barrierId;
} aclrtBarrierCmoInfo;

typedef struct aclrtBarrierTaskInfo {
    size_t barrierNum;
    aclrtBarrierCmoInfo cmoInfo[6];
} aclrtBarrierTaskInfo;

aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream); /* 910B 910C 950 */
aclError aclrtCmoAsyncWithBarrier(
    void *src, size_t size, aclrtCmoType cmoType, uint32_t barrierId, aclrtStream stream); /* since 8.5.0-beta.1, 310B */
aclError aclrtCmoAsyncWithDesc(
    void *cmoDesc, aclrtCmoType cmoType, aclrtStream stream, const void *reserve); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtCmoGetDescSize(size_t *size); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtCmoSetDesc(void *cmoDesc, void *src, size_t size); /* since 8.5.0-beta.1, 910B 910C 950 */
aclError aclrtCmoWaitBarrier(
    aclrtBarrierTaskInfo *taskInfo, aclrtStream stream, uint32_t flag); /* since 8.5.0-beta.1, 310B */
