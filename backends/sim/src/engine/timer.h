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
    void start() REQUIRES(engine_lock);
    // The stream's head, which blocks, expires when the time has come.
    void arm(Stream &stream, Time when) REQUIRES(engine_lock);
    // The stream's head, which blocks, is started again at intervals.
    void poll(Stream &stream) REQUIRES(engine_lock);
    // The stream's head has ended.
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
    void look() REQUIRES(engine_lock);
    Stream &next_expired(Time now) const REQUIRES(engine_lock);
    void expire(Stream &stream) REQUIRES(engine_lock);

    Core &core_;
    Appointments limits_ GUARDED_BY(engine_lock);
    Appointments polled_ GUARDED_BY(engine_lock);  // by the time since when: first come, first served
    Time next_poll_ GUARDED_BY(engine_lock){};
    Time rests_until_ GUARDED_BY(engine_lock){};
    std::condition_variable_any changed_;
    bool started_ GUARDED_BY(engine_lock) = false;
};

}  // namespace aclsim
