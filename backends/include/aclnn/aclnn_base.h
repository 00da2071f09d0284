/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of the operator library, in libnnopbase.so. */
/* @refused ACL_ERROR_API_NOT_SUPPORT: the simulator has no operators of CANN */
#pragma once

#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

aclnnStatus aclnnInit(const char *configPath);
aclnnStatus aclnnFinalize(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
