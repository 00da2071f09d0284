#include "engine/task.h"

#include "engine/block_store.h"
#include "engine/stream.h"

namespace aclsim {

const char *name_of(TaskKind kind) {
    switch (kind) {
        case TaskKind::Record:
            return "EVENT_RECORD";
        case TaskKind::Wait:
            return "EVENT_WAIT";
        case TaskKind::Reset:
            return "EVENT_RESET";
        case TaskKind::Copy:
            return "MEMCPY";
        case TaskKind::Fill:
            return "MEMSET";
        case TaskKind::HostFunction:
            return "HOST_FUNC";
        case TaskKind::NotifyRecord:
            return "NOTIFY_RECORD";
        case TaskKind::NotifyWait:
            return "NOTIFY_WAIT";
        case TaskKind::ValueWrite:
            return "VALUE_WRITE";
        case TaskKind::ValueWait:
            return "VALUE_WAIT";
        case TaskKind::Reduce:
            return "REDUCE";
        case TaskKind::Trace:
            return "PROFILER_TRACE";
        case TaskKind::Cmo:
        case TaskKind::CmoBarrier:
            return "CMO";
        case TaskKind::Activate:
            return "STREAM_ACTIVE";
        case TaskKind::Conditional:
            return "CONDITIONAL";
        case TaskKind::Callback:
            return "CALLBACK";
        case TaskKind::Prefetch:
            return "PREFETCH";
        case TaskKind::Model:
            return "MODEL_EXECUTE";
        case TaskKind::Operator:
            return "OPERATOR";
        case TaskKind::Kernel:
            return "KERNEL";
        case TaskKind::Sleep:
            return "SLEEP";
        case TaskKind::Random:
            return "RANDOM";
        case TaskKind::Update:
            return "TASK_UPDATE";
        default:
            return "TASK";
    }
}

std::vector<Ref<Stream>> Task::parts() const { return {}; }

void *Task::operator new(std::size_t size) { return task_memory[Lock::held_shard()].take(size); }

void Task::operator delete(void *block, std::size_t size) { task_memory[Lock::held_shard()].give_back(block, size); }

}  // namespace aclsim
