/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered allocation from memory pools (API reference 11-10). */
#pragma once

#include "base.h"

typedef void *aclrtMemPool;

typedef struct aclrtMemPoolProps {
    aclrtMemAllocationType allocType;
    aclrtMemHandleType handleType;
    aclrtMemLocation location;
    size_t maxSize;
    unsigned char reserved[32];
} aclrtMemPoolProps;

typedef enum aclrtMemPoolAttr {
    ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
    ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 4,
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 5,
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 6,
    ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 7,
    ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 8,
} aclrtMemPoolAttr;

aclError aclrtMemPoolCreate(aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps); /* since 9.0.0-beta.2, 910B */
aclError aclrtMemPoolDestroy(const aclrtMemPool memPool); /* since 9.0.0-beta.2, 910B */
aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream); /* since 9.1.0-beta.1, 910B */
aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value); /* since 9.0.0-beta.2, 910B */
aclError aclrtMemPoolMallocAsync(
    void **ptr, size_t size, aclrtMemPool memPool, aclrtStream stream); /* since 9.1.0-beta.1, 910B */
aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value); /* since 9.0.0-beta.2, 910B */
aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep); /* since 9.1.0-beta.1, 910B */
