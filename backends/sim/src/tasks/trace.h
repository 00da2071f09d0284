// Profiler mark (device_context_init_errors.md section 10, aclrtProfTrace): it has a position in the stream, and does
// nothing unless profiling is active.
#pragma once

#include "engine/task.h"

namespace aclsim {

class TraceTask final : public Task {
  public:
    static constexpr TaskInfo kInfo{"PROFILER_TRACE"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override REQUIRES(engine_lock) { return Start::Done; }
};

}  // namespace aclsim
