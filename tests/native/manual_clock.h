// SPDX-License-Identifier: Apache-2.0
// Clock that a test controls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/clock.h"

namespace aclsim {

inline constexpr Time kBegin{std::chrono::hours(24 * 365 * 200)};  // far from the time of the host's clock

// The time changes only by advance().
class ManualClock final : public Clock {
  public:
    Time now() const override { return kBegin + std::chrono::milliseconds(advanced_ms_); }
    bool wait_until(Lock &lock, std::condition_variable_any &changed, Time when) override {
        if (now() >= when) {
            return false;
        }
        waiting_.push_back(&changed);
        changed.wait(lock);
        return now() < when;
    }
    // Requires the engine lock. Notifies the condition variables of all waits so far, including waits that have ended,
    // so all of these variables must be alive.
    void advance(std::chrono::milliseconds by) {
        advanced_ms_ += by.count();
        for (std::condition_variable_any *it : waiting_) {
            it->notify_all();
        }
    }

  private:
    std::atomic<std::int64_t> advanced_ms_{0};
    std::vector<std::condition_variable_any *> waiting_;
};

}  // namespace aclsim
