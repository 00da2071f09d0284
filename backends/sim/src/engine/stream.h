// SPDX-License-Identifier: Apache-2.0
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

// Conditions of a device that keep streams from accepting tasks.
struct DeviceHealth {
    aclError lost GUARDED_BY(engine_lock) = ACL_SUCCESS;  // error of all calls on a lost device: aclsimLoseDevice
    bool aborting GUARDED_BY(engine_lock) = false;        // aclrtDeviceTaskAbort is running
};

// Group of streams that a failure stops together: a context.
class StreamGroup : public Object {
  public:
    explicit StreamGroup(const DeviceHealth &health) : health_(health) {}
    // Checked by every submission to one of its streams.
    bool accepts(const Stream &stream) const REQUIRES(engine_lock);
    // Throws a Failure with the reason why the group does not accept tasks.
    virtual void require_accepting(const Stream &stream) const REQUIRES(engine_lock) = 0;
    // Stops a group whose streams stop on failures, because a task failed: starts none of its tasks anymore, and wakes
    // every thread that waits for one of its streams.
    virtual void stop(aclError reason) REQUIRES(engine_lock) = 0;

    bool has_failures GUARDED_BY(engine_lock) = false;       // some stream may have a failure that was not reported
    bool stops_on_failure GUARDED_BY(engine_lock) = false;   // some stream is in STOP mode
    aclError failure GUARDED_BY(engine_lock) = ACL_SUCCESS;  // STOP mode: the first failure, permanent
    std::string failure_reason GUARDED_BY(engine_lock);      // given by the task, or ""

  private:
    const DeviceHealth &health_;
};

// Owner that keeps the tasks of a stream for repeated executions: a model.
class TaskKeeper {
  public:
    virtual ~TaskKeeper() = default;
    // Throws a Failure unless the stream still accepts tasks.
    virtual void require_open(const Stream &stream) const REQUIRES(engine_lock) = 0;
};

// Times of the stream's work on the profiled device; see TimingModel.
struct StreamTiming {
    Time busy_until{};        // end of the work that the stream has begun
    Time begun_at{};          // begin of the newest begun task on the device
    std::uint64_t begun = 0;  // sequence number of the newest begun task
    std::uint64_t known = 0;  // sequence number of the newest task when the timer was armed
    bool is_awaited = false;  // the timer is armed for the end of the device work, so that the head can start or end
    bool is_late = false;     // the stream continues later than the device, but only because the timer was late
};

constexpr std::size_t kStreamSize = 448;  // size of ContextStream, the class of every stream
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
        Idle,     // queue is empty, or the stream may not execute it
        Held,     // the scheduler, the timing model, or a missing global lock keeps the head from starting
        Blocked,  // head waits for another stream or for the user
        Ready,    // head waits for a thread
        Running,  // a thread runs the head, or has run it while the device would still be busy
    };

    // With ACL_STREAM_PERSISTENT, the stream does not execute its tasks but keeps them for a model
    // (events_streams_sync.md section 3).
    Stream(StreamGroup &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level);

    // Call before the calling thread sleeps until that task is done; call again if it was woken too early.
    void wake_when_done(std::uint64_t sequence) REQUIRES(engine_lock) {
        has_sleepers = true;
        wake_at = std::min(wake_at, sequence);
    }
    // Returns true if the queued tasks are to be executed.
    bool is_active() const REQUIRES(engine_lock) { return executes_tasks || is_replaying; }
    // Returns true if the stream is bound to a model. Checks executes_tasks first, which is false for every bound
    // stream, to avoid fetching the second cache line of other streams.
    bool is_bound() const REQUIRES(engine_lock) { return !executes_tasks && keeper != nullptr; }
    bool is_done(std::uint64_t sequence) const { return completed.load(std::memory_order_acquire) >= sequence; }
    Point newest() const REQUIRES(engine_lock) { return {serial, submitted}; }
    Point next() const REQUIRES(engine_lock) { return {serial, submitted + 1}; }  // point of the next submission
    Point point(const Task &task) const REQUIRES(engine_lock) { return {serial, task.sequence}; }

    // Members read for an idle stream, by a task or by a device synchronization. They come first and, together with the
    // members of Object, fill one cache line: programs have thousands of streams. Guarded by the engine lock, except
    // `completed`, which waiting threads poll, and `dropped`, which long tasks poll.
    const bool executes_tasks;
    State state GUARDED_BY(engine_lock) = State::Idle;
    bool has_sleepers GUARDED_BY(engine_lock) = false;  // threads sleep until it reaches `wake_at`
    StreamGroup &group;
    std::uint64_t submitted GUARDED_BY(engine_lock) = 0;  // sequence number of the newest task
    std::atomic<std::uint64_t> completed{0};              // sequence number of the newest completed task
    // Sequence number of the newest task that a host thread has waited for.
    std::uint64_t synchronized GUARDED_BY(engine_lock) = 0;
    const std::uint32_t flags;                           // creation flags
    std::uint16_t aborting GUARDED_BY(engine_lock) = 0;  // threads that abort it now
    bool is_destroyed GUARDED_BY(engine_lock) = false;
    bool is_redirected GUARDED_BY(engine_lock) = false;  // submissions go elsewhere: see ContextStream

    const std::uint64_t serial;                         // unique in the process, never reused
    bool is_replaying GUARDED_BY(engine_lock) = false;  // the queue holds an execution of the model that it is bound to
    TaskQueue queue GUARDED_BY(engine_lock);
    std::atomic<std::uint64_t> dropped{0};  // sequence number of the newest task when the queue was last dropped
    // Smallest sequence number that a sleeping thread waits for.
    std::uint64_t wake_at GUARDED_BY(engine_lock) = UINT64_MAX;
    TaskKeeper *keeper GUARDED_BY(engine_lock) = nullptr;  // model that it is bound to
    const std::uint32_t id;                                // reused by other streams of the device after destruction
    const std::uint32_t priority;
    std::uint64_t aborts GUARDED_BY(engine_lock) = 0;  // drops of the queue; a wait during a drop was aborted
    aclError abort_reason GUARDED_BY(engine_lock) = ACL_ERROR_RT_STREAM_ABORT;  // code of the newest abort
    aclError failure GUARDED_BY(engine_lock) = ACL_SUCCESS;  // code of a failed task, since the last synchronization
    std::string failure_reason GUARDED_BY(engine_lock);      // given by the task, or ""
    std::thread::id runner GUARDED_BY(engine_lock);          // thread that runs the head
    std::thread::id destroyer GUARDED_BY(engine_lock);       // thread that destroys the stream
    std::condition_variable_any progress;                    // `completed` reached `wake_at`, or the queue was dropped
    StreamTiming timing GUARDED_BY(engine_lock);

  private:
    friend class ReadyQueue;
    friend struct HeldLink;
    friend struct RunnableLink;
    friend class Timer;
    friend class Waiters;
    Stream *ready_previous_ GUARDED_BY(engine_lock) = nullptr;
    Stream *ready_next_ GUARDED_BY(engine_lock) = nullptr;
    Stream *runnable_next_ GUARDED_BY(engine_lock) = nullptr;  // see StreamList; nullptr: in no list
    Stream *held_next_ GUARDED_BY(engine_lock) = nullptr;
    Waiters *waits_in_ GUARDED_BY(engine_lock) = nullptr;
    Stream *waits_behind_ GUARDED_BY(engine_lock) = nullptr;
    Stream *waits_before_ GUARDED_BY(engine_lock) = nullptr;
    // State of the timer, for the head.
    bool is_timed_ GUARDED_BY(engine_lock) = false;  // the timer has set the times
    Time expires_at_ GUARDED_BY(engine_lock) = kNever;
    Time polled_since_ GUARDED_BY(engine_lock) = kNever;
};

inline bool StreamGroup::accepts(const Stream &stream) const {
    const bool is_group_well = (static_cast<aclError>(health_.aborting) | health_.lost | failure) == ACL_SUCCESS;
    return is_group_well && stream.aborting == 0;
}

}  // namespace aclsim
