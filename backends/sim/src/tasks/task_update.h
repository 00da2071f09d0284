// SPDX-License-Identifier: Apache-2.0
// Updates of tasks that a model keeps (events_streams_sync.md section 10, aclrtTaskUpdateAsync): when they start, they
// read new parameters of another task from device memory, effective from its next execution.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "abi/acl.h"
#include "engine/task.h"
#include "tasks/binary.h"

namespace aclsim {

class Kernels;
class Memory;

// Task of a model, identified by its stream and its number (aclrtGetThreadLastTaskId).
struct TaskName {
    Ref<Stream> stream;
    std::uint32_t id;
    Task *find() const REQUIRES(engine_lock);  // nullptr: the stream's model has no such task
};

inline constexpr TaskInfo kTaskUpdate{"TASK_UPDATE"};

// Update of a random-number task, read as the addresses, seed and count of an aclrtRandomNumTaskInfo.
class RandomUpdateTask final : public Task {
  public:
    RandomUpdateTask(Memory &memory, TaskName target, const void *source)
        : memory_(memory), target_(std::move(target)), source_(source) {}
    const TaskInfo &info() const override { return kTaskUpdate; }
    Start start(Stream &stream) override REQUIRES(engine_lock);

  private:
    Memory &memory_;
    TaskName target_;
    const void *source_;
};

// Update of a kernel, read as the number of a function and a number of blocks.
class KernelUpdateTask final : public Task, public TaskDetails {
  public:
    KernelUpdateTask(Kernels &kernels, TaskName target, Ref<Binary> binary, const void *entry, const void *blocks)
        : kernels_(kernels), target_(std::move(target)), binary_(std::move(binary)), entry_(entry), blocks_(blocks) {}
    const TaskInfo &info() const override { return kTaskUpdate; }
    Start start(Stream &stream) override REQUIRES(engine_lock);
    const TaskDetails &details() const override { return *this; }
    std::string failure_reason() const override REQUIRES(engine_lock) { return failure_; }

  private:
    std::string update(const Stream &stream) REQUIRES(engine_lock);  // description of the error

    Kernels &kernels_;
    TaskName target_;
    Ref<Binary> binary_;
    const void *entry_;
    const void *blocks_;
    std::string failure_;
};

}  // namespace aclsim
