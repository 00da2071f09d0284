#include "engine/patience.h"

#include <cstdio>

#include "checks/stall.h"

namespace aclsim {

using Clock = std::chrono::steady_clock;

Patience::Patience(Clock::time_point deadline)
    : deadline_(deadline), until_(deadline == Clock::time_point::max() ? stall_time() : deadline) {}

bool Patience::sleep(std::unique_lock<std::mutex> &lock, std::condition_variable &changed) const {
    if (until_ == Clock::time_point::max()) {
        changed.wait(lock);
        return true;
    }
    return changed.wait_until(lock, until_) == std::cv_status::no_timeout;
}

// Without the lock: who reads standard error slowly holds nobody else up.
void Patience::say(std::unique_lock<std::mutex> &lock, const std::string &text) {
    lock.unlock();
    std::fputs((stall_heading() + text).c_str(), stderr);
    lock.lock();
}

}  // namespace aclsim
