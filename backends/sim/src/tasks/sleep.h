// SPDX-License-Identifier: Apache-2.0
// Tasks that only take time, as an operator does that counts cycles of the device.
#pragma once

#include <cstdint>
#include <string>

#include "engine/task.h"

namespace aclsim {

class Core;

// Counts cycles of the clock that stamps events. The timer ends the task, so it occupies no thread.
class SleepTask final : public BlockingTask {
  public:
    SleepTask(Core &core, std::uint64_t cycles);
    static constexpr TaskInfo kInfo{"SLEEP"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock);
    void rewind() override REQUIRES(engine_lock) { is_over_ = false; }
    bool expire() override REQUIRES(engine_lock) { return is_over_ = true; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock);
    std::string awaited() const override REQUIRES(engine_lock);

  private:
    Core &core_;
    const std::uint64_t cycles_;
    bool is_over_ = false;
};

}  // namespace aclsim
