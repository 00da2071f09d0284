// When blocked streams are looked at again without anybody waking them: at a time limit, and every now and then those
// whose condition may come true unnoticed. One thread, started by the first task that may need it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "engine/stream.h"

namespace aclsim {

class Engine;

// Engine lock held.
class Timer {
  public:
    explicit Timer(Engine &engine) : engine_(engine) {}
    // Before such a task is submitted: it would wait for good where the host has no thread left. Fails then, with
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    void start();
    // The stream's head, which blocks, expires when the time has come.
    void arm(Stream &stream, std::chrono::steady_clock::time_point when);
    // The stream's head, which blocks, is started again every now and then.
    void poll(Stream &stream);
    // The stream's head is over.
    void disarm(Stream &stream) {
        if (stream.expires_at != Stream::kNever || stream.polled_since != Stream::kNever) {
            forget(stream);
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    using Appointments = std::set<std::pair<Clock::time_point, Stream *>>;
    void forget(Stream &stream);
    void serve();
    Clock::time_point next_look() const;
    void look();
    void expire(Stream &stream);

    Engine &engine_;
    Appointments limits_;
    Appointments polled_;  // by the time since when: first come, first served
    Clock::time_point next_poll_{};
    Clock::time_point rests_until_{};
    std::condition_variable changed_;
    bool started_ = false;
};

}  // namespace aclsim
