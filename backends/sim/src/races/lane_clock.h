// Vector time of the race check. A lane is a sequence of ordered steps: the tasks of a stream, or the calls of the
// host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "races/counted.h"

namespace aclsim::races {

using LaneId = std::uint32_t;  // reused after the end of a lane; the steps go on
using Step = std::uint64_t;    // 0 precedes all steps

// For each lane, the newest step that precedes something. Never changed after its creation, so that records, waits and
// calls share one.
class Clock {
  public:
    Clock() = default;
    explicit Clock(std::vector<Step> steps) : steps_(std::move(steps)) {}
    Step of(LaneId lane) const { return lane < steps_.size() ? steps_[lane] : 0; }
    const std::vector<Step> &steps() const { return steps_; }

    mutable std::uint32_t references = 0;

  private:
    std::vector<Step> steps_;
};
using ClockRef = Counted<const Clock>;

inline ClockRef clock_zero() { return ClockRef(new Clock); }

// Knowledge that grows: copied only if that changes it.
class Knowledge {
  public:
    explicit Knowledge(ClockRef known) : known_(std::move(known)) {}

    void learn(LaneId lane, Step step) {
        if (step > of(lane)) {
            std::vector<Step> &steps = own();
            if (steps.size() <= lane) {
                steps.resize(lane + 1);
            }
            steps[lane] = step;
        }
    }
    void learn(const ClockRef &other) {
        if (other == known_ && !is_changed_) {
            return;
        }
        for (std::size_t lane = 0; lane < other->steps().size(); ++lane) {
            learn(static_cast<LaneId>(lane), other->steps()[lane]);
        }
    }
    Step of(LaneId lane) const { return !is_changed_ ? known_->of(lane) : lane < changed_.size() ? changed_[lane] : 0; }
    ClockRef result() && { return is_changed_ ? ClockRef(new Clock(std::move(changed_))) : known_; }

  private:
    std::vector<Step> &own() {
        if (!is_changed_) {
            changed_ = known_->steps();
            is_changed_ = true;
        }
        return changed_;
    }

    ClockRef known_;
    std::vector<Step> changed_;
    bool is_changed_ = false;
};

}  // namespace aclsim::races
