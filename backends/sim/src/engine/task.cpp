#include "engine/task.h"

#include "engine/block_store.h"
#include "engine/stream.h"

namespace aclsim {

std::vector<Ref<Stream>> Task::parts() const { return {}; }

void *Task::operator new(std::size_t size) { return task_memory[Lock::held_shard()].take(size); }

void Task::operator delete(void *block, std::size_t size) { task_memory[Lock::held_shard()].give_back(block, size); }

}  // namespace aclsim
