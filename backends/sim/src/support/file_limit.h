// SPDX-License-Identifier: Apache-2.0
// Limit on the size of files that the process writes (ulimit -f). The kernel sends SIGXFSZ, which ends the process, to
// a thread that exceeds it, so check the limit before creating a file of that size.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace aclsim {

// Describes the limit that prevents a file of that size, and the remedy; "" if there is none.
inline std::string file_limit_problem(std::uint64_t size) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur) {
        return {};
    }
    return "the limit on the size of files (ulimit -f) is " + std::to_string(limit.rlim_cur) + " bytes; raise it to " +
           std::to_string(size) + " or unlimited, with ulimit -f or in the batch system";
}

}  // namespace aclsim
