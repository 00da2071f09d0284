#include "engine/task.h"

#include <new>
#include <utility>

#include "engine/stream.h"

namespace aclsim {
namespace {

struct FreeMemory {
    FreeMemory *next;
};

constexpr std::size_t kStep = 32;
constexpr std::size_t kLargest = 256;
// The rest goes back to the general allocator, so that a queue that was long once does not keep its memory.
constexpr std::size_t kKept = 4096;

struct Returned {
    FreeMemory *first = nullptr;
    std::size_t count = 0;
};
Returned g_returned[kLargest / kStep + 1] GUARDED_BY(engine_lock);  // by size

constexpr std::size_t size_class(std::size_t size) { return (size + kStep - 1) / kStep; }

// The address sanitizer should see every use of a freed task.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

}  // namespace

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
        case TaskKind::Random:
            return "RANDOM";
        case TaskKind::Update:
            return "TASK_UPDATE";
        default:
            return "TASK";
    }
}

std::vector<Ref<Stream>> Task::parts() const { return {}; }

void *Task::operator new(std::size_t size) {
    if (!kRecycles || size > kLargest) {
        return ::operator new(size);
    }
    Returned &returned = g_returned[size_class(size)];
    if (returned.first == nullptr) {
        return ::operator new(size_class(size) * kStep);
    }
    --returned.count;
    return std::exchange(returned.first, returned.first->next);
}

void Task::operator delete(void *block, std::size_t size) {
    Returned *const returned = size > kLargest ? nullptr : &g_returned[size_class(size)];
    if (!kRecycles || returned == nullptr || returned->count == kKept) {
        ::operator delete(block);
        return;
    }
    ++returned->count;
    returned->first = new (block) FreeMemory{returned->first};
}

}  // namespace aclsim
