#include "engine/scheduler.h"

#include "engine/stream.h"

namespace aclsim {

void ReadyQueue::push(Stream &stream) {
    List &list = lists_[stream.priority];
    stream.ready_previous = list.tail;
    stream.ready_next = nullptr;
    (list.tail == nullptr ? list.head : list.tail->ready_next) = &stream;
    list.tail = &stream;
    size_.fetch_add(1, std::memory_order_release);
}

void ReadyQueue::remove(Stream &stream) {
    List &list = lists_[stream.priority];
    (stream.ready_previous == nullptr ? list.head : stream.ready_previous->ready_next) = stream.ready_next;
    (stream.ready_next == nullptr ? list.tail : stream.ready_next->ready_previous) = stream.ready_previous;
    stream.ready_previous = stream.ready_next = nullptr;
    size_.fetch_sub(1, std::memory_order_release);
}

Stream &EagerScheduler::next(const ReadyQueue &ready) {
    for (std::size_t priority = 0; priority + 1 < kPriorities; ++priority) {
        if (Stream *stream = ready.front(priority)) {
            return *stream;
        }
    }
    return *ready.front(kPriorities - 1);
}

}  // namespace aclsim
