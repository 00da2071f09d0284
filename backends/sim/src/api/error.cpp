// SPDX-License-Identifier: Apache-2.0
// Last failure that the runtime remembers (events_streams_sync.md section 11). These calls do not lock because they
// concern only the calling thread.
#include "support/error.h"

#include "abi/aclsim_refusal.h"
#include "api/entry.h"

using namespace aclsim;

namespace {

aclError thread_error(Function function, aclrtLastErrLevel level, bool clear) {
    const CurrentCall call(function);
    try {
        if (level != ACL_RT_THREAD_LEVEL) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "level %d is not ACL_RT_THREAD_LEVEL", static_cast<int>(level));
        }
    } catch (const Failure &failure) {
        return failure.code;
    }
    return last_error(clear);
}

}  // namespace

const char *aclGetRecentErrMsg() { return take_recent_text(); }

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    return thread_error(Function::aclrtPeekAtLastError, level, false);
}

aclError aclrtGetLastError(aclrtLastErrLevel level) { return thread_error(Function::aclrtGetLastError, level, true); }

aclError aclsimRefuse(const char *function, aclError code, const char *text) {
    const CurrentCall call(function == nullptr ? "a library above the runtime" : function);
    try {
        fail_unremembered(code, "%s", text == nullptr ? "" : text);
    } catch (const Failure &failure) {
        return failure.code;
    }
}
