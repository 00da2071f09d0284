// SPDX-License-Identifier: Apache-2.0
// Threads of the program that wait in calls of the runtime.
#pragma once

#include <cstddef>
#include <thread>

#include "api/simulator.h"
#include "engine/core.h"

inline std::size_t waiting_threads() {
    aclsim::Simulator &sim = aclsim::Simulator::get();
    const aclsim::Lock lock = sim.core.acquire();
    std::size_t asleep = 0;
    for (const aclsim::HostWait *wait : sim.core.host_waits()) {
        asleep += wait->is_asleep() ? 1 : 0;
    }
    return asleep;
}

// Blocks until so many wait.
inline void await_waiters(std::size_t count) {
    while (waiting_threads() != count) {
        std::this_thread::yield();
    }
}
