/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libprofapi.so that programs above the runtime bind to add reports to a profile. */
/* @refused ACL_ERROR_API_NOT_SUPPORT: the simulator's profiles take no reports of other libraries */
#pragma once

#include "abi/acl.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct MsprofApi MsprofApi;

typedef int32_t (*ProfCommandHandle)(uint32_t type, void *data, uint32_t len);

uint64_t MsprofGetHashId(const char *hashInfo, size_t length);
uint64_t MsprofSysCycleTime(void);
int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
int32_t MsprofReportAdditionalInfo(uint32_t agingFlag, const void *data, uint32_t length);
int32_t MsprofReportApi(uint32_t agingFlag, const MsprofApi *api);
int32_t MsprofReportCompactInfo(uint32_t agingFlag, const void *data, uint32_t length);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
