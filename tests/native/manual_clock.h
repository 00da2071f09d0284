// A clock that a test moves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/clock.h"

namespace aclsim {

inline constexpr Time kBegin{std::chrono::hours(24 * 365 * 200)};  // far from what the host's clock says

// It stands still until it is advanced.
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
    // Engine lock held. The condition variables of threads that have gone on since are all alive in this test.
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
