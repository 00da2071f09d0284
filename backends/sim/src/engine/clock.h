// SPDX-License-Identifier: Apache-2.0
// Source of time, and waiting until a time. Every part of the simulator that reads the time uses a Clock, so that a
// test, or a repeatable schedule, can provide another one.
#pragma once

#include <chrono>
#include <condition_variable>

#include "engine/lock.h"

namespace aclsim {

using Time = std::chrono::steady_clock::time_point;

constexpr Time kNever = Time::max();

class Clock {
  public:
    virtual ~Clock() = default;
    virtual Time now() const = 0;
    // Waits for a notification or until the given time; returns false in the second case. As with every condition
    // variable, the caller must check its condition again.
    virtual bool wait_until(Lock &lock, std::condition_variable_any &changed, Time when) REQUIRES(engine_lock) = 0;
};

// Monotonic clock of the host.
class SteadyClock final : public Clock {
  public:
    Time now() const override { return std::chrono::steady_clock::now(); }
    bool wait_until(Lock &lock, std::condition_variable_any &changed, Time when) override REQUIRES(engine_lock) {
        if (when == kNever) {
            changed.wait(lock);
            return true;
        }
        return changed.wait_until(lock, when) == std::cv_status::no_timeout;
    }
};

// Returns the host's clock, for purposes that must not depend on the clock of the simulated machine. It lives until the
// process ends.
inline Clock &host_clock() {
    static auto *const clock = new SteadyClock();
    return *clock;
}

}  // namespace aclsim
