// SPDX-License-Identifier: Apache-2.0
// Settings of the double from environment variables, read once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace unforgiving {

// ASCEND_RT_DOUBLE_FAIL=aclrtMalloc:3=207001;*:100=507899: the third call of aclrtMalloc fails with the code, and the
// hundredth of any function; 0 means every call. ASCEND_RT_DOUBLE_SLOW has milliseconds instead, before the call;
// -1 means forever.
struct Rule {
    std::string function;
    std::uint64_t nth;
    int value;
};

struct Settings {
    std::vector<Rule> failing, slow;
    // ASCEND_RT_DOUBLE_EXCEPTION_DELAY, in milliseconds: how long after a failure the program hears of it.
    std::chrono::milliseconds exception_delay{0};
    // ASCEND_RT_DOUBLE_LOG: file to which each process that ends adds a line.
    std::string log;
};

const Settings &settings();

}  // namespace unforgiving
