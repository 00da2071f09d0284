// SPDX-License-Identifier: Apache-2.0
// Deadlocks that the check has found (ASCEND_RT_SIM_CHECK=deadlocks): their reports, and what follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/acl.h"

namespace aclsim {

// Wait that can never end: of a stream, or of a thread.
struct StuckWait {
    std::string agent;       // "stream 2 of device 0", or "thread 4711"
    std::uint64_t task = 0;  // number in its stream; 0: a thread
    std::string waits_for;
    std::string function;               // call that submitted the task, or that waits
    std::vector<std::string> frames{};  // places of that call, innermost first
    std::uint64_t thread = 0;           // pthread_self(), for the program's description; 0: a stream
};

struct Deadlock {
    std::string summary;  // waits without their places
    std::vector<StuckWait> waits{};
    std::string end;  // last line
};

// Completes the waits of threads with what the program says about them. Call without the engine lock.
void describe_threads(Deadlock &deadlock, aclsimThreadDescriber describe);
// Writes a finding, or a text to standard error. Call without the engine lock.
void report(const Deadlock &deadlock);
// Ends the process with ACLSIM_EXIT_DEADLOCK, unless the waits are to fail instead.
void end_after_deadlock();

}  // namespace aclsim
