// SPDX-License-Identifier: Apache-2.0
// A forwarded call.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/acl.h"

namespace unforgiving {

// A function of the API: one for each forwarder.
struct Site {
    explicit Site(const char *function_name) : name(function_name) {}
    const char *const name;
    std::atomic<std::uint64_t> calls{0};
};

// Counts the call, and waits as the settings say. Returns the code with which they make it fail; 0 if they do not.
aclError begin_call(Site &site);

}  // namespace unforgiving
