// SPDX-License-Identifier: Apache-2.0
// Tasks that block their stream until a condition holds: waits for notifies, counters, values and IPC events.
#pragma once

#include <cstdint>

#include "engine/task.h"
#include "engine/waiters.h"

namespace aclsim {

class Core;

class ConditionTask : public BlockingTask {
  public:
    Start start(Stream &stream) override REQUIRES(engine_lock);
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) { leave(stream); }
    void rewind() override REQUIRES(engine_lock) { is_armed_ = has_expired_ = false; }
    bool expire() final REQUIRES(engine_lock) { return has_expired_ = true; }

  protected:
    // timeout_s: 0 means none. polls: the condition may come true unnoticed by the engine, because another process or
    // the host writes the memory concerned.
    ConditionTask(Core &core, std::uint32_t timeout_s, bool polls);
    virtual bool polls() const REQUIRES(engine_lock) { return polls_; }
    bool is_timed() const { return timeout_s_ > 0; }
    // Consumes the condition if it holds now. Requires the engine lock.
    virtual bool try_pass() REQUIRES(engine_lock) = 0;
    // Returns the result of a task whose condition held.
    virtual aclError outcome() const REQUIRES(engine_lock) { return ACL_SUCCESS; }
    // Reports to observers which task made the condition true, if that is known.
    virtual void note_passed(const Stream &) REQUIRES(engine_lock) {}
    // Called when the wait ends for any reason.
    virtual void leave(Stream &stream) REQUIRES(engine_lock) { waiters().remove(stream); }
    // Streams to be woken by a task that changes the condition.
    virtual Waiters &waiters() REQUIRES(engine_lock) = 0;

    Core &core_;

  private:
    std::uint32_t timeout_s_;
    bool polls_;
    bool is_armed_ GUARDED_BY(engine_lock) = false;
    bool has_expired_ GUARDED_BY(engine_lock) = false;
};

}  // namespace aclsim
