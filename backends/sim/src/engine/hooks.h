// SPDX-License-Identifier: Apache-2.0
// Hooks of other components at fixed points of the engine, which does not depend on them. Functions require the engine
// lock unless stated otherwise.
#pragma once

#include <memory>

#include "engine/clock.h"
#include "engine/task.h"

namespace aclsim {

class HostWait;

// Optionally replaces a task that is being submitted (fault injection).
class TaskFilter {
  public:
    virtual ~TaskFilter() = default;
    virtual void filter(const Stream &stream, std::unique_ptr<Task> &task) REQUIRES(engine_lock) = 0;
};

// Receives failed tasks, and lets threads that waited for a stream also wait for the consequences of a failure.
class FailureHandler {
  public:
    virtual ~FailureHandler() = default;
    virtual void task_failed(const Stream &stream, const Task &task) REQUIRES(engine_lock) = 0;
    // Returns true if the consequences of a failure of the stream are still to come and another thread will handle
    // them; false in the thread that handles them. Asked only while there are any: see Core::begin_report.
    virtual bool is_reporting(const Stream &stream) const REQUIRES(engine_lock) = 0;
    // May release the lock. Returns false if the deadline has passed.
    virtual bool settle(Lock &lock, const Stream &stream, Time deadline) REQUIRES(engine_lock) = 0;
    // Called before the calling thread sleeps: it cannot handle failures caused by its call.
    virtual void thread_sleeps() REQUIRES(engine_lock) = 0;
};

// Explains waits that take long or will never end.
class StallReporter {
  public:
    virtual ~StallReporter() = default;
    // Called after the thread has waited for the configured time.
    virtual void explain_stall(HostWait &wait) REQUIRES(engine_lock) = 0;
    // Explains the wait if it can never end; may release the lock. Returns true to look again even if the engine does
    // not change, because only the threads of the program, which come and go unnoticed, keep it from being a deadlock.
    virtual bool look_for_deadlock(HostWait &wait, Lock &lock) REQUIRES(engine_lock) = 0;
};

}  // namespace aclsim
