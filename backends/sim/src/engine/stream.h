// A stream: an actor with a queue of tasks. It is never a thread; at most one thread runs its head at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <thread>

#include "engine/registry.h"
#include "engine/task.h"

namespace aclsim {

class Context;
class Engine;
class Model;
class Waiters;

class Stream final : public Object, public std::enable_shared_from_this<Stream> {
  public:
    static constexpr Kind kKind = Kind::Stream;

    enum class State : std::uint8_t {
        Idle,     // nothing queued
        Held,     // the scheduler does not let the head start
        Blocked,  // the head waits for another stream or for the user
        Ready,    // the head waits for a thread
        Running,  // a thread runs the head
    };

    Stream(Context &owner, std::uint32_t stream_id, std::uint32_t creation_flags, std::uint32_t priority_level)
        : context(owner), id(stream_id), flags(creation_flags), priority(priority_level) {}

    // What is submitted to a PERSISTENT stream is kept for a model, not executed (section 3).
    bool executes_tasks() const { return (flags & ACL_STREAM_PERSISTENT) == 0; }
    // Is what it has in its queue to be executed?
    bool is_active() const { return executes_tasks() || plays; }
    // Synchronizing or asking these says "complete" without looking (section 3, SynchronizeStream).
    bool is_always_complete() const {
        return (flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0;
    }
    bool is_complete() const { return is_always_complete() || completed.load(std::memory_order_acquire) == submitted; }

    Context &context;
    const std::uint32_t id;
    const std::uint32_t flags;
    const std::uint32_t priority;

    // The actor. Guarded by the engine's lock, but for `completed`, which waiting threads poll, and `dropped`, which
    // long tasks poll.
    TaskQueue queue;
    State state = State::Idle;
    std::uint64_t submitted = 0;              // sequence number of the newest task
    std::atomic<std::uint64_t> completed{0};  // sequence number of the newest task that is done
    std::uint64_t synchronized = 0;           // ... that a host thread knows to be done, because it has waited for it
    std::uint64_t aborts = 0;                 // how often the queue was dropped: who waited across one was aborted
    std::atomic<std::uint64_t> dropped{0};    // sequence number of the newest task when the queue was dropped
    aclError abort_reason = ACL_ERROR_RT_STREAM_ABORT;  // of the newest abort
    std::uint32_t aborting = 0;                         // threads that abort it now
    std::thread::id destroyer;                          // of the thread that tears it down
    bool destroyed = false;
    std::condition_variable progress;    // `completed` reached `wake_at`, or the queue was dropped
    std::uint64_t wake_at = UINT64_MAX;  // the smallest sequence number that a sleeping thread waits for
    Model *model = nullptr;              // that it is bound to
    bool plays = false;                  // its queue holds an execution of the model
    Stream *ready_previous = nullptr;    // links of ReadyQueue
    Stream *ready_next = nullptr;
    Waiters *waits_in = nullptr;  // links of Waiters
    Stream *waits_behind = nullptr;
    Stream *waits_before = nullptr;
    static constexpr std::chrono::steady_clock::time_point kNever = std::chrono::steady_clock::time_point::max();
    std::chrono::steady_clock::time_point expires_at = kNever;  // of the head; kept by Timer
    std::chrono::steady_clock::time_point polled_since = kNever;

    // Failures and attributes.
    aclError failure = ACL_SUCCESS;  // the last one since the last synchronization (section 1, failure visibility)
    bool stops_on_failure = false;
    std::uint32_t overflow_switch = 0;
    std::uint32_t custom_tag = 0xFFFFFFFF;            // until set [obs]
    std::array<std::int64_t, 2> core_limits{-1, -1};  // cube, vector; -1: the device's limit

    // Who runs callbacks of this stream (section 0.3).
    enum class CallbackOwner : std::uint8_t { None, User, Runtime };
    CallbackOwner callback_owner = CallbackOwner::None;
    std::uint64_t callback_thread = 0;  // of CallbackOwner::User
};

}  // namespace aclsim
