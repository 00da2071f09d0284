// What time it is, and waiting until a time comes. Everything in the simulator that looks at the time has a Clock, so
// that a test, or a schedule that is to be repeated, can bring its own.
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
    // Until a notification, or until the time has come; false in the second case. As with every condition variable the
    // caller checks its condition again.
    virtual bool wait_until(Lock &lock, std::condition_variable_any &changed, Time when) REQUIRES(engine_lock) = 0;
};

// The host's monotonic clock.
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

// The host's clock, for what must go on whatever clock the simulated machine has. It lives until the process ends.
inline Clock &host_clock() {
    static auto *const clock = new SteadyClock();
    return *clock;
}

}  // namespace aclsim
