#include "engine/condition.h"

#include <utility>

#include "engine/core.h"

namespace aclsim {

ConditionTask::ConditionTask(Engine &engine, std::uint32_t timeout_s, bool polls)
    : engine_(engine), timeout_s_(timeout_s), polls_(polls) {
    if (timeout_s > 0 || polls) {
        engine.timer().start();
    }
}

Start ConditionTask::start(Stream &stream) {
    const bool has_passed = try_pass();
    if (has_passed || has_expired_) {
        waiters().remove(stream);
        result = has_passed ? ACL_SUCCESS : ACL_ERROR_RT_TASK_TIMEOUT;
        return Start::Done;
    }
    waiters().add(stream);
    if (polls()) {
        engine_.timer().poll(stream);
    }
    if (timeout_s_ > 0 && !std::exchange(is_armed_, true)) {
        engine_.timer().arm(stream, Clock::now() + std::chrono::seconds(timeout_s_));
    }
    return Start::Blocked;
}

}  // namespace aclsim
