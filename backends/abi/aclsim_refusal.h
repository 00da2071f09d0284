/* For libraries above the runtime, the simulator's companions: a failure of theirs is told as the runtime's own. */
#pragma once

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Makes the text, with the function's name before it, the calling thread's newest for aclGetRecentErrMsg. Returns the
 * code, which aclrtGetLastError does not tell of: functions above the runtime do not change what it remembers. */
aclError aclsimRefuse(const char *function, aclError code, const char *text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
