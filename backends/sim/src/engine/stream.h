// A stream: an actor with a queue of tasks. It is never a thread; at most one thread runs its head at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <thread>

#include "engine/clock.h"
#include "engine/facts.h"
#include "engine/registry.h"
#include "engine/task.h"

namespace aclsim {

class Stream;
class Waiters;

// Streams that a failure stops together: a context.
class StreamGroup : public Object {
  public:
    // What every submission to one of its streams checks; throws a Failure.
    virtual void require_accepting(const Stream &stream) const = 0;
    // A task failed in a group that stops on failures: nothing more of it is started, and every thread that waits for
    // one of its streams is woken.
    virtual void stop(aclError reason) = 0;

    bool stops_on_failure = false;   // some stream of it is in STOP mode
    aclError failure = ACL_SUCCESS;  // STOP mode: the first failure, and it stays
};

// Keeps the tasks of a stream for its own executions: a model.
class TaskKeeper {
  public:
    virtual ~TaskKeeper() = default;
    // Throws a Failure unless the stream still takes tasks.
    virtual void require_open(const Stream &stream) const = 0;
};

class Stream : public Object {
  public:
    static constexpr Kind kKind = Kind::Stream;

    enum class State : std::uint8_t {
        Idle,     // nothing queued
        Held,     // the scheduler does not let the head start
        Blocked,  // the head waits for another stream or for the user
        Ready,    // the head waits for a thread
        Running,  // a thread runs the head
    };

    // One that does not execute its tasks keeps them for a model.
    Stream(StreamGroup &owner, std::uint32_t stream_id, std::uint32_t priority_level, bool executes);

    // Is what it has in its queue to be executed?
    bool is_active() const { return executes_tasks || is_replaying; }
    bool is_done(std::uint64_t sequence) const { return completed.load(std::memory_order_acquire) >= sequence; }
    Point newest() const { return {serial, submitted}; }
    Point point(const Task &task) const { return {serial, task.sequence}; }

    StreamGroup &group;
    const std::uint64_t serial;  // no other stream of the process has it, ever
    const std::uint32_t id;      // another stream of the device has it when this one is gone
    const std::uint32_t priority;
    const bool executes_tasks;

    // The actor. Guarded by the engine's lock, but for `completed`, which waiting threads poll, and `dropped`, which
    // long tasks poll.
    TaskQueue queue;
    State state = State::Idle;
    std::uint64_t submitted = 0;              // sequence number of the newest task
    std::atomic<std::uint64_t> completed{0};  // sequence number of the newest task that is done
    std::uint64_t synchronized = 0;           // ... that a host thread knows to be done, because it has waited for it
    std::uint64_t aborts = 0;                 // how often the queue was dropped: a wait across one was aborted
    std::atomic<std::uint64_t> dropped{0};    // sequence number of the newest task when the queue was dropped
    aclError abort_reason = ACL_ERROR_RT_STREAM_ABORT;  // of the newest abort
    std::uint32_t aborting = 0;                         // threads that abort it now
    aclError failure = ACL_SUCCESS;                     // of a task, since the last synchronization
    std::thread::id runner;                             // the thread that runs the head
    std::thread::id destroyer;                          // the thread that tears the stream down
    bool is_destroyed = false;
    std::condition_variable progress;    // `completed` reached `wake_at`, or the queue was dropped
    std::uint64_t wake_at = UINT64_MAX;  // the smallest sequence number that a sleeping thread waits for
    TaskKeeper *keeper = nullptr;        // the model that it is bound to
    bool is_replaying = false;           // its queue holds an execution of the model

  private:
    friend class ReadyQueue;
    friend class Timer;
    friend class Waiters;
    Stream *ready_previous_ = nullptr;
    Stream *ready_next_ = nullptr;
    Waiters *waits_in_ = nullptr;
    Stream *waits_behind_ = nullptr;
    Stream *waits_before_ = nullptr;
    Time expires_at_ = kNever;  // of the head
    Time polled_since_ = kNever;
};

}  // namespace aclsim
