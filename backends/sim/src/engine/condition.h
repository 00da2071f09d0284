// Tasks that block their stream until a condition holds: waits for notifies, counters, values and IPC events.
#pragma once

#include <cstdint>

#include "engine/task.h"
#include "engine/waiters.h"

namespace aclsim {

class Engine;

class ConditionTask : public Task {
  public:
    Start start(Stream &stream) final;
    void cancel(Stream &stream) override { waiters().remove(stream); }
    void rewind() override { is_armed_ = has_expired_ = false; }
    bool expire() final { return has_expired_ = true; }

  protected:
    // timeout_s: 0 is none. polls: the condition may come true without anybody in this process noticing, because
    // another process or the host writes the memory that it is about.
    ConditionTask(Engine &engine, std::uint32_t timeout_s, bool polls);
    virtual bool polls() const { return polls_; }
    // Engine lock held. Takes what the condition gives, if it holds now.
    virtual bool try_pass() = 0;
    // Who changes the condition inside this process wakes these.
    virtual Waiters &waiters() = 0;

  private:
    Engine &engine_;
    std::uint32_t timeout_s_;
    bool polls_;
    bool is_armed_ = false;
    bool has_expired_ = false;
};

}  // namespace aclsim
