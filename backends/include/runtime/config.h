/* SPDX-License-Identifier: Apache-2.0 */
/* Time limits of operators, the last error, and counts of cores. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef enum tagRTLastErrLevel { RT_THREAD_LEVEL = 0, RT_CONTEXT_LEVEL = 1 } rtLastErrLevel_t;

rtError_t rtGetAiCoreCount(uint32_t *aiCoreCnt);
rtError_t rtGetAiCpuCount(uint32_t *aiCpuCnt);
rtError_t rtSetOpWaitTimeOut(uint32_t timeout);
rtError_t rtSetOpExecuteTimeOut(uint32_t timeout);
rtError_t rtSetOpExecuteTimeOutWithMs(uint32_t timeout);
rtError_t rtGetOpExecuteTimeOut(uint32_t *const timeout);
rtError_t rtGetOpTimeOutInterval(uint64_t *interval);
rtError_t rtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);
rtError_t rtGetOpExecuteTimeoutV2(uint32_t *const timeout);
rtError_t rtGetIsHeterogenous(int32_t *heterogenous);
rtError_t rtGetLastError(rtLastErrLevel_t level);
rtError_t rtPeekAtLastError(rtLastErrLevel_t level);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
