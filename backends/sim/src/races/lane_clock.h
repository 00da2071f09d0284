// SPDX-License-Identifier: Apache-2.0
// Vector time of the race check. A lane is a sequence of ordered steps: the tasks of a stream, or the calls of the
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "races/counted.h"

namespace aclsim::races {

using LaneId = std::uint32_t;  // reused after the end of a lane; the steps go on
using Step = std::uint64_t;    // 0 precedes all steps

// For each lane, the newest step that precedes something. Never changed once it is shared: records, waits and calls
// have one clock.
class Clock {
  public:
    Step of(LaneId lane) const { return lane < steps_.size() ? steps_[lane] : 0; }
    const std::vector<Step> &steps() const { return steps_; }
    void set(LaneId lane, Step step) {
        if (steps_.size() <= lane) {
            steps_.resize(lane + 1);
        }
        steps_[lane] = step;
    }

    mutable std::uint32_t references = 0;

  private:
    std::vector<Step> steps_;
};

// Clocks without references, for those that come next: nearly each call that orders something makes one. Guarded by the
// mutex of the check. Forever: what refers to clocks may be destroyed late.
inline auto &spare_clocks = *new std::vector<std::unique_ptr<Clock>>;

inline void dispose_of(const Clock *clock) {
    constexpr std::size_t kMostSpare = 64;
    std::unique_ptr<Clock> owned(const_cast<Clock *>(clock));
    if (spare_clocks.size() < kMostSpare) {
        spare_clocks.push_back(std::move(owned));
    }
}

inline std::unique_ptr<Clock> copy_of(const Clock &clock) {
    if (spare_clocks.empty()) {
        spare_clocks.push_back(std::make_unique<Clock>());
    }
    std::unique_ptr<Clock> copy = std::move(spare_clocks.back());
    spare_clocks.pop_back();
    *copy = clock;
    copy->references = 0;
    return copy;
}

using ClockRef = Counted<const Clock>;

inline ClockRef clock_zero() { return ClockRef(new Clock); }

// Knowledge that grows: copied only if that changes it.
class Knowledge {
  public:
    explicit Knowledge(ClockRef known) : known_(std::move(known)) {}

    void learn(LaneId lane, Step step) {
        if (step > of(lane)) {
            if (changed_ == nullptr) {
                changed_ = copy_of(*known_);
            }
            changed_->set(lane, step);
        }
    }
    void learn(const ClockRef &other) {
        if (other == known_ && changed_ == nullptr) {
            return;
        }
        for (std::size_t lane = 0; lane < other->steps().size(); ++lane) {
            learn(static_cast<LaneId>(lane), other->steps()[lane]);
        }
    }
    Step of(LaneId lane) const { return changed_ == nullptr ? known_->of(lane) : changed_->of(lane); }
    ClockRef result() && { return changed_ == nullptr ? known_ : ClockRef(changed_.release()); }

  private:
    ClockRef known_;
    std::unique_ptr<Clock> changed_;
};

}  // namespace aclsim::races
