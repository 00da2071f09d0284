/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of cores (API reference 16). */
#pragma once

#include "base.h"

typedef struct tagRtGroupInfo aclrtGroupInfo;

typedef enum aclrtGroupAttr {
    ACL_GROUP_AICORE_INT = 0,
    ACL_GROUP_AIV_INT = 1,
    ACL_GROUP_AIC_INT = 2,
    ACL_GROUP_SDMANUM_INT = 3,
    ACL_GROUP_ASQNUM_INT = 4,
    ACL_GROUP_GROUPID_INT = 5,
} aclrtGroupAttr;

aclrtGroupInfo *aclrtCreateGroupInfo(void); /* 310P */
aclError aclrtDestroyGroupInfo(aclrtGroupInfo *groupInfo); /* 310P */
aclError aclrtGetAllGroupInfo(aclrtGroupInfo *groupInfo); /* 310P */
aclError aclrtGetGroupCount(uint32_t *count); /* 310P */
aclError aclrtGetGroupInfoDetail(
    const aclrtGroupInfo *groupInfo, int32_t groupIndex, aclrtGroupAttr attr, void *attrValue, size_t valueLen,
    size_t *paramRetSize); /* 310P */
aclError aclrtSetGroup(int32_t groupId); /* 310P */
