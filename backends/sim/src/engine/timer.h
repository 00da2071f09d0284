// SPDX-License-Identifier: Apache-2.0
// Looks again at blocked streams that no other thread wakes: at their time limit and, if their condition may come true
// unnoticed, at intervals. Uses one thread, started by the first task that may need it.
#pragma once

#include <condition_variable>
#include <set>
#include <utility>

#include "engine/stream.h"

namespace aclsim {

class Core;

// Requires the engine lock.
class Timer {
  public:
    explicit Timer(Core &core) : core_(core) {}
    // Call before submitting such a task, which would never be woken without the thread. Fails with
    // ACL_ERROR_RT_RESOURCE_ALLOC_FAIL if the host has no thread left.
    void start() REQUIRES(engine_lock);
    // Makes the stream's blocked head expire at that time. Cannot fail if it was to expire at another time.
    void arm(Stream &stream, Time when) REQUIRES(engine_lock);
    // Starts the stream's blocked head again at intervals.
    void poll(Stream &stream) REQUIRES(engine_lock);
    // Call when the stream's head has ended.
    void disarm(Stream &stream) REQUIRES(engine_lock) {
        if (stream.is_timed_) {
            forget(stream);
        }
    }
    bool is_armed(const Stream &stream) const REQUIRES(engine_lock) { return stream.expires_at_ != kNever; }

  private:
    using Appointments = std::set<std::pair<Time, Stream *>>;
    void forget(Stream &stream) REQUIRES(engine_lock);
    void serve();
    Time next_look() const REQUIRES(engine_lock);
    void wake_before(Time when) REQUIRES(engine_lock);
    void look() REQUIRES(engine_lock);
    Stream &next_expired(Time now) const REQUIRES(engine_lock);
    void expire(Stream &stream) REQUIRES(engine_lock);

    Core &core_;
    Appointments limits_ GUARDED_BY(engine_lock);
    Appointments polled_ GUARDED_BY(engine_lock);  // ordered by the begin of polling: first come, first served
    Time next_poll_ GUARDED_BY(engine_lock){};
    Time rests_until_ GUARDED_BY(engine_lock){};
    Time sleeps_until_ GUARDED_BY(engine_lock){};  // if the thread sleeps
    std::condition_variable_any changed_;
    bool started_ GUARDED_BY(engine_lock) = false;
};

}  // namespace aclsim
