#include "condition.h"

#include <algorithm>

#include "engine.h"

namespace aclsim {
namespace {

constexpr std::chrono::microseconds kPollInterval{200};

}  // namespace

ConditionTask::ConditionTask(Engine &engine, std::uint32_t timeout_s, bool polls)
    : engine_(engine), deadline_(Clock::time_point::max()), timeout_s_(timeout_s), polls_(polls) {}

Start ConditionTask::start(Stream &stream) {
    waiters().remove(stream);
    if (try_pass()) {
        return Start::Done;
    }
    if (!has_started_) {
        has_started_ = true;
        deadline_ = timeout_s_ > 0 ? Clock::now() + std::chrono::seconds(timeout_s_) : deadline_;
    }
    if (Clock::now() >= deadline_) {
        result = ACL_ERROR_RT_TASK_TIMEOUT;
        return Start::Done;
    }
    waiters().add(stream);
    arm(stream);
    return Start::Blocked;
}

void ConditionTask::rewind() {
    has_started_ = false;
    deadline_ = Clock::time_point::max();
    next_look_ = {};
}

// One moment at a time: a task that is woken often does not fill the timer.
void ConditionTask::arm(Stream &stream) {
    const Clock::time_point now = Clock::now();
    if (now < next_look_) {
        return;
    }
    next_look_ = polls_ ? std::min(deadline_, now + kPollInterval) : deadline_;
    if (next_look_ != Clock::time_point::max()) {
        engine_.timer().arm(stream, sequence, next_look_);
    }
}

}  // namespace aclsim
