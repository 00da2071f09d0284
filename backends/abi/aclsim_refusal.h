/* SPDX-License-Identifier: Apache-2.0 */
/* Reports failures of the simulator's companions, which are libraries above the runtime, like those of the runtime. */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Makes the text, preceded by the name of the function, the newest one of the calling thread for aclGetRecentErrMsg.
 * Returns the code. aclrtGetLastError does not return it: functions above the runtime do not change its result. */
aclError aclsimRefuse(const char *function, aclError code, const char *text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
