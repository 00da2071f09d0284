/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts (API reference 05). */
#pragma once

#include "base.h"

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);
aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream); /* since 8.5.0-beta.1 */
aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr); /* since 8.5.0-beta.1 */
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
aclError aclrtDestroyContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext *context);
aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active); /* since 8.5.0-beta.1 */
aclError aclrtSetCurrentContext(aclrtContext context);
