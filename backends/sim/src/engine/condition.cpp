// SPDX-License-Identifier: Apache-2.0
#include "engine/condition.h"

#include <chrono>
#include <utility>

#include "engine/core.h"

namespace aclsim {

ConditionTask::ConditionTask(Core &core, std::uint32_t timeout_s, bool polls)
    : core_(core), timeout_s_(timeout_s), polls_(polls) {
    if (timeout_s > 0 || polls) {
        core.timer().start();
    }
}

Start ConditionTask::start(Stream &stream) {
    const bool has_passed = try_pass();
    if (has_passed || has_expired_) {
        if (has_passed && core_.observers().want(kOrder | kMemory)) {
            note_passed(stream);
        }
        leave(stream);
        result = has_passed ? outcome() : ACL_ERROR_RT_TASK_TIMEOUT;
        return Start::Done;
    }
    waiters().add(stream);
    if (polls()) {
        core_.timer().poll(stream);
    }
    if (is_timed() && !std::exchange(is_armed_, true)) {
        core_.timer().arm(stream, core_.clock().now() + std::chrono::seconds(timeout_s_));
    }
    return Start::Blocked;
}

}  // namespace aclsim
