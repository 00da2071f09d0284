// Threads that run the tasks which need one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>

#include "engine/lock.h"
#include "engine/scheduler.h"

namespace aclsim {

class Core;

// Data movement has one executor for all devices; host functions have one of a single thread per context. Threads are
// started when there is work for them and live as long as the executor.
class Executor : public std::enable_shared_from_this<Executor> {
  public:
    Executor(Core &core, std::uint32_t thread_limit, bool accepts_help)
        : can_be_helped(accepts_help), core_(core), thread_limit_(thread_limit) {}

    // All with the engine lock held.
    void enqueue(Stream &stream) REQUIRES(engine_lock);
    void remove(Stream &stream) REQUIRES(engine_lock) { ready_.remove(stream); }
    void wake() REQUIRES(engine_lock);  // streams may start again
    void stop() REQUIRES(engine_lock);  // threads end when they are done with what they run
    bool has_thread() REQUIRES(engine_lock) { return threads_ > 0 || start_thread(); }

    // May a thread that waits for a stream run its task itself? Not with host functions: they have a thread of their
    // own (events_streams_sync.md section 9, aclrtLaunchHostFunc).
    const bool can_be_helped;

  private:
    void serve();
    Stream &next() const REQUIRES(engine_lock);
    // Without the lock, until a stream is ready or it was long enough. Not analysed: it takes the lock on a condition.
    void spin(Lock &lock) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS;
    void idle(Lock &lock) REQUIRES(engine_lock);
    bool start_thread() REQUIRES(engine_lock);  // is there one now?

    Core &core_;
    const std::uint32_t thread_limit_;
    ReadyQueue ready_;
    std::condition_variable work_;
    std::uint32_t threads_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t sleeping_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t wakeups_ GUARDED_BY(engine_lock) = 0;  // sleeping threads that have been notified
    // At most one thread spins: the others would only take processors from users.
    std::uint32_t spinning_ GUARDED_BY(engine_lock) = 0;
    bool stopped_ GUARDED_BY(engine_lock) = false;
};

}  // namespace aclsim
