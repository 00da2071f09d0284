// SPDX-License-Identifier: Apache-2.0
#include "engine/host_wait.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/core.h"
#include "engine/stream.h"
#include "support/config.h"
#include "support/error.h"
#include "support/program_call.h"
#include "support/standard_error.h"

namespace aclsim {
namespace {

// Delay of the first look for a deadlock; most waits end earlier.
constexpr std::chrono::milliseconds kFirstLook{10}, kLongestLook{1000};
constexpr std::chrono::milliseconds kLongestLookOfCheck{100};
constexpr std::chrono::milliseconds kAskInterval{20};

std::chrono::milliseconds longest_look() { return config().checks_deadlocks ? kLongestLookOfCheck : kLongestLook; }

// Returns true for waits that look for deadlocks.
bool looks(Time deadline) { return deadline == kNever && (config().checks_deadlocks || config().stall.count() != 0); }

const CallPlace *present_place() {
    const CurrentCall *const call = current_call();
    return call == nullptr || call->place.kind == CallPlace::Kind::Unknown ? nullptr : &call->place;
}

}  // namespace

Time InterruptPoll::look(Lock &lock) {
    const InterruptCheck check = core_.interrupt_check();
    if (check == nullptr) {
        return kNever;
    }
    bool is_interrupted = false;
    {
        const Unlocked unlocked(lock);
        call_or_fail("the interrupt check", [&] { is_interrupted = check() != 0; });
    }
    if (is_interrupted) {
        fail(code_, "interrupted while this call waited for %s", awaited_.c_str());
    }
    return core_.clock().now() + kAskInterval;
}

HostWait::HostWait(Core &core, const Stream &stream, std::uint64_t sequence, Time deadline, WaitCheck *check)
    : HostWait(core, Cause{&stream, sequence}, nullptr, nullptr, deadline, check) {}

HostWait::HostWait(Core &core, Outside outside, const char *awaited, Time deadline, WaitCheck *check)
    : HostWait(core, Cause{nullptr, 0, outside}, awaited, nullptr, deadline, check) {}

HostWait::HostWait(Core &core, const BlockingCall &call, WaitCheck *check)
    : HostWait(core, Cause{nullptr, 0, Outside::Caller}, nullptr, &call, kNever, check) {}

HostWait::HostWait(Core &core, const Cause &cause, const char *awaited, const BlockingCall *blocker, Time deadline,
                   WaitCheck *check)
    : core_(core),
      cause_(cause),
      awaited_(awaited),
      blocker_(blocker),
      function_(current_function()),
      place_(present_place()),
      deadline_(deadline),
      is_of_own_thread_(core.is_own_thread()),
      check_(check),
      check_at_(check == nullptr ? kNever : core.clock().now()),
      explain_at_(deadline != kNever || config().stall.count() == 0 ? kNever : core.clock().now() + config().stall),
      look_at_(looks(deadline) ? core.clock().now() + kFirstLook : kNever),
      look_interval_(kFirstLook) {
    core_.begin_wait(*this);
}

HostWait::~HostWait() { core_.end_wait(*this); }

// A wait behind a further call is left out, so that calls cannot be followed in a circle.
const HostWait *HostWait::wait_of_blocker() const {
    if (blocker_ == nullptr) {
        return nullptr;
    }
    const auto &waits = core_.host_waits();
    const auto found = std::find_if(waits.rbegin(), waits.rend(), [this](const HostWait *wait) {
        return wait->thread() == blocker_->thread && wait->blocker() == nullptr;
    });
    return found == waits.rend() ? nullptr : *found;
}

const HostWait &HostWait::decisive() const {
    const HostWait *const wait = wait_of_blocker();
    return wait != nullptr && wait->is_asleep() ? *wait : *this;
}

bool HostWait::sleep(Lock &lock, std::condition_variable_any &changed, Time look_again) {
    if (core_.has_deferred() && core_.deferred().move_streams(lock)) {
        return true;
    }
    is_asleep_ = true;
    const bool is_in_time = look_and_sleep(lock, changed, look_again);
    is_asleep_ = false;
    if (check_ != nullptr) {
        fail_if_hopeless();
    }
    return is_in_time;
}

bool HostWait::look_and_sleep(Lock &lock, std::condition_variable_any &changed, Time look_again) {
    if (check_at_ != kNever && core_.clock().now() >= check_at_) {
        check_at_ = check_->look(lock);
        check_before_look(core_.clock().now());
        return true;
    }
    const bool may_have_changed = look(lock);
    if (!text_.empty()) {
        write(lock);
        return true;
    }
    if (may_have_changed) {
        return true;
    }
    const Time when = std::min({deadline_, explain_at_, look_at_, check_at_, look_again});
    return core_.clock().wait_until(lock, changed, when) || when != deadline_;
}

// Looks for a deadlock, at growing intervals. At the end of the configured time, explains the wait in any case. Returns
// true if the lock may have been released meanwhile.
bool HostWait::look(Lock &lock) {
    const Time now = look_at_ == kNever ? Time() : core_.clock().now();
    if (explain_at_ != kNever && now >= explain_at_) {
        core_.stall_reporter().explain_stall(*this);
    } else if (look_at_ != kNever && now >= look_at_) {
        look_interval_ = std::min(2 * look_interval_, longest_look());
        look_at_ = now + look_interval_;
        check_before_look(now);
        const bool has_changed = std::exchange(looked_at_, core_.changes()) != core_.changes();
        if (has_changed || looks_again_) {
            looks_again_ = core_.stall_reporter().look_for_deadlock(*this, lock);
            return true;
        }
    }
    return false;
}

// A thread that interrupts the wait may end before the wait notices: there is a check right before each look.
void HostWait::check_before_look(Time now) {
    if (check_at_ != kNever && now < look_at_) {
        check_at_ = std::min(check_at_, look_at_);
    }
}

void HostWait::explain(const std::string &text) {
    text_ = text;
    explain_at_ = kNever;
    if (!config().checks_deadlocks) {
        look_at_ = kNever;
    }
}

void HostWait::note_deadlock(bool is_hopeless) {
    explain_at_ = look_at_ = kNever;
    is_hopeless_ = is_hopeless;
}

void HostWait::fail_if_hopeless() const {
    if (is_hopeless_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "this wait can never end: a deadlock");
    }
}

void HostWait::write(Lock &lock) {
    if (!text_.empty()) {
        const std::string text = std::exchange(text_, {});
        const Unlocked unlocked(lock);
        print_error("%s", text.c_str());
    }
}

void sleep_until(Core &core, Lock &lock, Time end, aclError code, const char *awaited) {
    InterruptPoll poll(core, code, awaited);
    std::condition_variable_any never;
    HostWait wait(core, Outside::Clock, awaited, end, &poll);
    while (wait.sleep(lock, never)) {
    }
}

}  // namespace aclsim
