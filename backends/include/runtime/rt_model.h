/* SPDX-License-Identifier: Apache-2.0 */
/* Models: streams that are run as one. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"
#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define EXECUTOR_NONE 0x0
#define EXECUTOR_TS 0x01
#define EXECUTOR_AICPU 0x02
#define RT_DEBUG_FLAG_AICORE_OVERFLOW (0x1U << 0U)
#define RT_DEBUG_FLAG_ATOMIC_ADD_OVERFLOW (0x1U << 1U)

rtError_t rtSetStreamSqLock(rtStream_t stm);
rtError_t rtSetStreamSqUnlock(rtStream_t stm);
rtError_t rtStreamAddToModel(rtStream_t stm, rtModel_t captureMdl);
rtError_t rtModelGetId(rtModel_t mdl, uint32_t *modelId);
rtError_t rtModelCreate(rtModel_t *mdl, uint32_t flag);
rtError_t rtModelDestroy(rtModel_t mdl);
rtError_t rtModelBindStream(rtModel_t mdl, rtStream_t stm, uint32_t flag);
rtError_t rtModelUnbindStream(rtModel_t mdl, rtStream_t stm);
rtError_t rtModelLoadComplete(rtModel_t mdl);
rtError_t rtModelExecute(rtModel_t mdl, rtStream_t stm, uint32_t flag);
rtError_t rtModelExecuteSync(rtModel_t mdl, rtStream_t stm, uint32_t flag, int32_t timeout);
rtError_t rtModelGetTaskId(rtModel_t mdl, uint32_t *taskId, uint32_t *streamId);
rtError_t rtEndGraph(rtModel_t mdl, rtStream_t stm);
rtError_t rtEndGraphEx(rtModel_t mdl, rtStream_t stm, uint32_t flags);
rtError_t rtModelAbort(rtModel_t mdl);
rtError_t rtModelExit(rtModel_t mdl, rtStream_t stm);
rtError_t rtSetModelName(rtModel_t mdl, const char_t *mdlName);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
