// SPDX-License-Identifier: Apache-2.0
// Tasks of the profiler. They have a position in their stream, and do nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/task.h"

namespace aclsim {

// Mark without a name (device_context_init_errors.md section 10, aclrtProfTrace).
class TraceTask final : public Task {
  public:
    static constexpr TaskInfo kInfo{"PROFILER_TRACE"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Done; }
};

// Mark that a profile shows: a message, or the beginning or end of a step (profiling.md sections 5 and 6).
class MarkTask final : public Task, public TaskDetails {
  public:
    static constexpr TaskInfo kMessage{"MARK", "a mark", kIsMark};
    static constexpr TaskInfo kStep{"STEP", "a mark", kIsMark};

    explicit MarkTask(std::string message) : message_(std::move(message)) {}
    MarkTask(std::uint64_t step, bool ends_step) : step_(step), ends_step_(ends_step) {}
    const TaskInfo &info() const override { return step_ == 0 ? kMessage : kStep; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Done; }
    const TaskDetails &details() const override { return *this; }
    void label(const Stream &, TaskLabel &label) const override REQUIRES(engine_lock) {
        label.name = step_ == 0 ? message_ : "step " + std::to_string(step_) + (ends_step_ ? " end" : " start");
        label.step = step_;
        label.ends_step = ends_step_;
    }

  private:
    std::string message_;
    std::uint64_t step_ = 0;
    bool ends_step_ = false;
};

}  // namespace aclsim
