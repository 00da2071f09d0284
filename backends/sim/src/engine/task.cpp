// SPDX-License-Identifier: Apache-2.0
#include "engine/task.h"

#include "engine/block_store.h"
#include "engine/stream.h"

namespace aclsim {
namespace {

class NoDetails final : public TaskDetails {};
const NoDetails kNoDetails;

}  // namespace

const TaskDetails &Task::details() const { return kNoDetails; }

std::vector<Ref<Stream>> BlockingTask::parts() const { return {}; }

void *Task::operator new(std::size_t size) { return task_memory[Lock::held_shard()].take(size); }

void Task::operator delete(void *block, std::size_t size) { task_memory[Lock::held_shard()].give_back(block, size); }

}  // namespace aclsim
