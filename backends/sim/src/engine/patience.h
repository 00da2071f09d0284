// How long a thread waits: to a deadline, or, without one, until it is time to say what keeps it, and then on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

namespace aclsim {

class Patience {
  public:
    explicit Patience(std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

    // Waits for a change. false: the deadline has passed. awaited() tells, once, what a wait without deadline is for.
    template <class Awaited>
    bool wait(std::unique_lock<std::mutex> &lock, std::condition_variable &changed, Awaited awaited) {
        if (sleep(lock, changed)) {
            return true;
        }
        if (until_ == deadline_) {
            return false;
        }
        until_ = deadline_;
        say(lock, awaited());
        return true;
    }

  private:
    bool sleep(std::unique_lock<std::mutex> &lock, std::condition_variable &changed) const;
    static void say(std::unique_lock<std::mutex> &lock, const std::string &text);

    const std::chrono::steady_clock::time_point deadline_;
    std::chrono::steady_clock::time_point until_;
};

}  // namespace aclsim
