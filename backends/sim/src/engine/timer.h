// Looks again at blocked streams that no other thread wakes: at their time limit, and at intervals those whose
// condition may come true unnoticed. One thread, started by the first task that may need it.
#pragma once

#include <condition_variable>
#include <set>
#include <utility>

#include "engine/stream.h"

namespace aclsim {

class Core;

// Engine lock held.
class Timer {
  public:
    explicit Timer(Core &core) : core_(core) {}
    // Before such a task is submitted, because without the thread it would never be woken. Fails with
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if the host has no thread left.
    void start();
    // The stream's head, which blocks, expires when the time has come.
    void arm(Stream &stream, Time when);
    // The stream's head, which blocks, is started again at intervals.
    void poll(Stream &stream);
    // The stream's head has ended.
    void disarm(Stream &stream) {
        if (stream.expires_at_ != kNever || stream.polled_since_ != kNever) {
            forget(stream);
        }
    }
    bool is_armed(const Stream &stream) const { return stream.expires_at_ != kNever; }

  private:
    using Appointments = std::set<std::pair<Time, Stream *>>;
    void forget(Stream &stream);
    void serve();
    Time next_look() const;
    void look();
    Stream &next_expired(Time now) const;
    void expire(Stream &stream);

    Core &core_;
    Appointments limits_;
    Appointments polled_;  // by the time since when: first come, first served
    Time next_poll_{};
    Time rests_until_{};
    std::condition_variable changed_;
    bool started_ = false;
};

}  // namespace aclsim
