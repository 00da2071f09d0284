// SPDX-License-Identifier: Apache-2.0
// This library's part in what it shares with the simulator: whose findings they are, failures, and the end.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "call.h"
#include "support/error.h"
#include "support/findings.h"

namespace aclsim {

CheckedProcess checked_process() {
    const char *const directory = std::getenv("ASCEND_RT_SIM_CHECK_DIRECTORY");
    return {"ascend_rt check", directory == nullptr ? "" : directory, R"("library":"vendor","checks":["races"])"};
}

// The vendor's library knows nothing of the call that fails, so its text goes to standard error.
void fail_unremembered(aclError code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("ascend_rt check: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputs("\n", stderr);
    va_end(arguments);
    throw Failure{code, /*remembered=*/false};
}

namespace wrapped {
namespace {

__attribute__((destructor)) void end() { end_of_process(); }

}  // namespace

void end_of_process() {
    if (Check::is_on() && Check::exists()) {
        note([](Check &check) {
            check.finish();
            return true;
        });
        end_findings();
    }
}

}  // namespace wrapped
}  // namespace aclsim
