// What other parts do at fixed places of the engine, without the engine knowing them. Engine lock held, unless a
// function says otherwise.
#pragma once

#include <memory>

#include "engine/clock.h"
#include "engine/task.h"

namespace aclsim {

class HostWait;

// May put another task in the place of one that is being submitted (fault injection).
class TaskFilter {
  public:
    virtual ~TaskFilter() = default;
    virtual void filter(const Stream &stream, std::unique_ptr<Task> &task) REQUIRES(engine_lock) = 0;
};

// Is told of failed tasks, and lets threads that have waited for a stream wait for what follows from a failure.
class FailureHandler {
  public:
    virtual ~FailureHandler() = default;
    virtual void task_failed(const Stream &stream, const Task &task) REQUIRES(engine_lock) = 0;
    virtual bool is_pending() const REQUIRES(engine_lock) = 0;
    // May release the lock. false: the deadline has passed.
    virtual bool settle(Lock &lock, const Stream &stream, Time deadline) REQUIRES(engine_lock) = 0;
    // The calling thread is about to sleep, and cannot deal with what its call has made fail.
    virtual void thread_sleeps() REQUIRES(engine_lock) = 0;
};

// Explains waits that take long, or will never end.
class StallReporter {
  public:
    virtual ~StallReporter() = default;
    // The thread has waited for the time that the configuration names.
    virtual void explain_stall(HostWait &wait) REQUIRES(engine_lock) = 0;
    // Explains the wait if it can never end; may release the lock. true: look again although the engine does not
    // change, because only the threads of the program, which come and go unnoticed, keep it from being a deadlock.
    virtual bool look_for_deadlock(HostWait &wait, Lock &lock) REQUIRES(engine_lock) = 0;
};

// Work that grows with a size, or may block, and is therefore done without the lock: by the thread whose call, or whose
// task, made it necessary, before that returns.
class DeferredWork {
  public:
    virtual ~DeferredWork() = default;
    virtual void work() noexcept EXCLUDES(engine_lock) = 0;  // lock not held
    virtual void finish() REQUIRES(engine_lock) {}           // lock held
    // Do streams only move forward with it? A thread that sleeps does such work, and no other: it might call functions
    // of the program, which may wait for the call that sleeps.
    virtual bool moves_streams() const { return false; }

    std::unique_ptr<DeferredWork> next;  // that was deferred after it
};

}  // namespace aclsim
