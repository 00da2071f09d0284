/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, groups and settings of a context. The functions are in libruntime.so. */
/* @refused ACL_ERROR_RT_FEATURE_NOT_SUPPORT: the simulator does not have this function of the runtime */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef void *rtContext_t;

rtError_t rtCtxCreate(rtContext_t *createCtx, uint32_t flags, int32_t devId);
rtError_t rtCtxCreateEx(rtContext_t *createCtx, uint32_t flags, int32_t devId);
rtError_t rtCtxDestroy(rtContext_t destroyCtx);
rtError_t rtCtxDestroyEx(rtContext_t destroyCtx);
rtError_t rtCtxSetCurrent(rtContext_t currentCtx);
rtError_t rtCtxGetCurrent(rtContext_t *currentCtx);
rtError_t rtGetPriCtxByDeviceId(int32_t devId, rtContext_t *primaryCtx);
rtError_t rtCtxGetDevice(int32_t *devId);
rtError_t rtSetGroup(int32_t groupId);
rtError_t rtGetGroupCount(uint32_t *cnt);
rtError_t rtSetCtxINFMode(bool infMode);
rtError_t rtCtxSetSysParamOpt(const rtSysParamOpt configOpt, const int64_t configVal);
rtError_t rtCtxGetSysParamOpt(const rtSysParamOpt configOpt, int64_t *const configVal);
rtError_t rtCtxGetOverflowAddr(void **overflowAddr);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
