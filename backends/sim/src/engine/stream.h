// A stream: an actor with a queue of tasks. It is never a thread; at most one thread runs its head at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <string>
#include <thread>

#include "engine/clock.h"
#include "engine/facts.h"
#include "engine/registry.h"
#include "engine/slot_arena.h"
#include "engine/task.h"

namespace aclsim {

class Stream;
class Waiters;

// What of a device keeps streams from taking tasks.
struct DeviceHealth {
    aclError lost GUARDED_BY(engine_lock) = ACL_SUCCESS;  // what everything on it fails with: aclsimLoseDevice
    bool aborting GUARDED_BY(engine_lock) = false;        // aclrtDeviceTaskAbort runs
};

// Streams that a failure stops together: a context.
class StreamGroup : public Object {
  public:
    explicit StreamGroup(const DeviceHealth &health) : health_(health) {}
    // What every submission to one of its streams asks.
    bool accepts(const Stream &stream) const REQUIRES(engine_lock);
    // The reason why it does not, as a Failure.
    virtual void require_accepting(const Stream &stream) const REQUIRES(engine_lock) = 0;
    // A task failed in a group that stops on failures: nothing more of it is started, and every thread that waits for
    // one of its streams is woken.
    virtual void stop(aclError reason) REQUIRES(engine_lock) = 0;

    bool has_failures GUARDED_BY(engine_lock) = false;       // some stream of it may have one that nobody was told of
    bool stops_on_failure GUARDED_BY(engine_lock) = false;   // some stream of it is in STOP mode
    aclError failure GUARDED_BY(engine_lock) = ACL_SUCCESS;  // STOP mode: the first failure, and it stays

  private:
    const DeviceHealth &health_;
};

// Keeps the tasks of a stream for its own executions: a model.
class TaskKeeper {
  public:
    virtual ~TaskKeeper() = default;
    // Throws a Failure unless the stream still takes tasks.
    virtual void require_open(const Stream &stream) const REQUIRES(engine_lock) = 0;
};

// The stream's work on the device that a profile describes; see TimingModel.
struct StreamTiming {
    Time busy_until{};        // of what the stream has begun
    Time begun_at{};          // the newest task in that, on the device
    std::uint64_t begun = 0;  // sequence number of the newest task in that
    bool is_awaited = false;  // the timer will tell when the device is done, so that the head starts, or ends
    std::uint64_t known = 0;  // sequence number of the newest task when the timer was set
    bool is_late = false;     // the stream goes on later than the device, but only because the timer was late
};

constexpr std::size_t kStreamSize = 448;  // of a ContextStream, which every stream is
inline SlotArena<kStreamSize, 1U << 18> stream_slots;

class alignas(64) Stream : public Object {
  public:
    static void *operator new(std::size_t, std::uint32_t shard) NO_THREAD_SAFETY_ANALYSIS {
        return stream_slots.take(shard);
    }
    static void operator delete(void *slot, std::uint32_t) NO_THREAD_SAFETY_ANALYSIS { stream_slots.give_back(slot); }
    static void operator delete(void *slot) NO_THREAD_SAFETY_ANALYSIS { stream_slots.give_back(slot); }
    static constexpr Kind kKind = Kind::Stream;
    static constexpr auto *kSlots = &stream_slots;

    enum class State : std::uint8_t {
        Idle,     // nothing queued
        Held,     // the scheduler, the timing model, or the lack of the global lock does not let the head start
        Blocked,  // the head waits for another stream or for the user
        Ready,    // the head waits for a thread
        Running,  // a thread runs the head, or has run it and the device would still do so
    };

    // With ACL_STREAM_PERSISTENT it does not execute its tasks, but keeps them for a model (events_streams_sync.md
    // section 3).
    Stream(StreamGroup &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level);

    // The calling thread is about to sleep until that task is done. It asks again when it was woken too early.
    void wake_when_done(std::uint64_t sequence) REQUIRES(engine_lock) {
        has_sleepers = true;
        wake_at = std::min(wake_at, sequence);
    }
    // Is what it has in its queue to be executed?
    bool is_active() const REQUIRES(engine_lock) { return executes_tasks || is_replaying; }
    // To a model? Only one that does not execute its tasks can be, and of others the second cache line is left alone.
    bool is_bound() const REQUIRES(engine_lock) { return !executes_tasks && keeper != nullptr; }
    bool is_done(std::uint64_t sequence) const { return completed.load(std::memory_order_acquire) >= sequence; }
    Point newest() const REQUIRES(engine_lock) { return {serial, submitted}; }
    Point next() const REQUIRES(engine_lock) { return {serial, submitted + 1}; }  // of the task to be submitted
    Point point(const Task &task) const REQUIRES(engine_lock) { return {serial, task.sequence}; }

    // What an idle stream is asked, by a task or the device's synchronization, comes first and fills one cache line
    // with what an Object has: programs have thousands of streams. Guarded by the engine's lock, but for `completed`,
    // which waiting threads poll, and `dropped`, which long tasks poll.
    const bool executes_tasks;
    State state GUARDED_BY(engine_lock) = State::Idle;
    bool has_sleepers GUARDED_BY(engine_lock) = false;  // threads that sleep until it comes to `wake_at`
    StreamGroup &group;
    std::uint64_t submitted GUARDED_BY(engine_lock) = 0;  // sequence number of the newest task
    std::atomic<std::uint64_t> completed{0};              // sequence number of the newest task that is done
    // Sequence number of the newest task that a host thread knows to be done, because it has waited for it.
    std::uint64_t synchronized GUARDED_BY(engine_lock) = 0;
    const std::uint32_t flags;                           // that it was created with
    std::uint16_t aborting GUARDED_BY(engine_lock) = 0;  // threads that abort it now
    bool is_destroyed GUARDED_BY(engine_lock) = false;
    bool is_redirected GUARDED_BY(engine_lock) = false;  // what is submitted to it goes elsewhere: see ContextStream

    const std::uint64_t serial;                         // no other stream of the process has it, ever
    bool is_replaying GUARDED_BY(engine_lock) = false;  // its queue holds an execution of the model that it is bound to
    TaskQueue queue GUARDED_BY(engine_lock);
    std::atomic<std::uint64_t> dropped{0};  // sequence number of the newest task when the queue was dropped
    // The smallest sequence number that a sleeping thread waits for.
    std::uint64_t wake_at GUARDED_BY(engine_lock) = UINT64_MAX;
    TaskKeeper *keeper GUARDED_BY(engine_lock) = nullptr;  // the model that it is bound to
    const std::uint32_t id;                                // another stream of the device has it when this one is gone
    const std::uint32_t priority;
    std::uint64_t aborts GUARDED_BY(engine_lock) = 0;  // how often the queue was dropped: a wait across one was aborted
    aclError abort_reason GUARDED_BY(engine_lock) = ACL_ERROR_RT_STREAM_ABORT;  // of the newest abort
    aclError failure GUARDED_BY(engine_lock) = ACL_SUCCESS;  // of a task, since the last synchronization
    std::string failure_reason GUARDED_BY(engine_lock);      // that the task gave for it, or ""
    std::thread::id runner GUARDED_BY(engine_lock);          // the thread that runs the head
    std::thread::id destroyer GUARDED_BY(engine_lock);       // the thread that tears the stream down
    std::condition_variable_any progress;                    // `completed` reached `wake_at`, or the queue was dropped
    StreamTiming timing GUARDED_BY(engine_lock);

  private:
    friend class ReadyQueue;
    friend class RunnableList;
    friend class Timer;
    friend class Waiters;
    Stream *ready_previous_ GUARDED_BY(engine_lock) = nullptr;
    Stream *ready_next_ GUARDED_BY(engine_lock) = nullptr;
    Stream *runnable_next_ GUARDED_BY(engine_lock) = nullptr;  // the last one is its own; nullptr: it is in no list
    Waiters *waits_in_ GUARDED_BY(engine_lock) = nullptr;
    Stream *waits_behind_ GUARDED_BY(engine_lock) = nullptr;
    Stream *waits_before_ GUARDED_BY(engine_lock) = nullptr;
    // The timer's, of the head.
    bool is_timed_ GUARDED_BY(engine_lock) = false;  // it has set the times
    Time expires_at_ GUARDED_BY(engine_lock) = kNever;
    Time polled_since_ GUARDED_BY(engine_lock) = kNever;
};

inline bool StreamGroup::accepts(const Stream &stream) const {
    const bool is_group_well = (static_cast<aclError>(health_.aborting) | health_.lost | failure) == ACL_SUCCESS;
    return is_group_well && stream.aborting == 0;
}

}  // namespace aclsim
