/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime configuration: system options and core limits (API reference 03). */
#pragma once

#include "base.h"

typedef enum aclrtDevResLimitType {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE = 1,
} aclrtDevResLimitType;

typedef enum aclSysParamOpt {
    ACL_OPT_DETERMINISTIC = 0,
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
    ACL_OPT_STRONG_CONSISTENCY = 2,
    ACL_OPT_ENABLE_KERNEL_EARLY_START = 3,
} aclSysParamOpt;

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value); /* since 8.5.0-beta.1 */
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value); /* since 8.5.0-beta.1 */
aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value); /* since 8.5.0-beta.1 */
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);
aclError aclrtResetDeviceResLimit(int32_t deviceId); /* since 8.5.0-beta.1 */
aclError aclrtResetStreamResLimit(aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value); /* since 8.5.0-beta.1 */
aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value); /* since 8.5.0-beta.1 */
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream); /* since 8.5.0-beta.1 */
aclError aclrtUseStreamResInCurrentThread(aclrtStream stream); /* since 8.5.0-beta.1 */
