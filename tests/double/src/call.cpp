// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine.h"
#include "settings.h"

namespace unforgiving {
namespace {

std::atomic<std::uint64_t> all_calls{0};

__attribute__((constructor)) void begin() {
    engine();
    settings();
}

void wait(int milliseconds) {
    while (milliseconds < 0) {
        pause();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

aclError begin_call(Site &site) {
    const std::uint64_t nth_of_site = ++site.calls;
    const std::uint64_t nth_of_all = ++all_calls;
    const auto is_about = [&](const Rule &it) {
        const bool is_any = it.function == "*";
        return (is_any || it.function == site.name) && (it.nth == 0 || it.nth == (is_any ? nth_of_all : nth_of_site));
    };
    const std::vector<Rule> &slow = settings().slow, &failing = settings().failing;
    const auto waiting = std::find_if(slow.begin(), slow.end(), is_about);
    if (waiting != slow.end()) {
        wait(waiting->value);
    }
    const auto failed = std::find_if(failing.begin(), failing.end(), is_about);
    return failed != failing.end() ? failed->value : ACL_SUCCESS;
}

}  // namespace unforgiving
