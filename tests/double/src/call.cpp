#include "call.h"

#include "engine.h"
#include "settings.h"

namespace unforgiving {
namespace {

std::atomic<std::uint64_t> all_calls{0};

__attribute__((constructor)) void begin() {
    engine();
    settings();
}

}  // namespace

aclError begin_call(Site &site) {
    const std::uint64_t nth_of_site = ++site.calls;
    const std::uint64_t nth_of_all = ++all_calls;
    for (const Failing &it : settings().failing) {
        const bool is_any = it.function == "*";
        if ((is_any || it.function == site.name) && (it.nth == 0 || it.nth == (is_any ? nth_of_all : nth_of_site))) {
            return it.code;
        }
    }
    return ACL_SUCCESS;
}

}  // namespace unforgiving
