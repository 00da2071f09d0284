#include "engine/scheduler.h"

#include <algorithm>

#include "engine/stream.h"

namespace aclsim {

void ReadyQueue::push(Stream &stream) {
    List &list = lists_[stream.priority];
    stream.ready_previous_ = list.tail;
    stream.ready_next_ = nullptr;
    (list.tail == nullptr ? list.head : list.tail->ready_next_) = &stream;
    list.tail = &stream;
    size_.fetch_add(1, std::memory_order_release);
}

void ReadyQueue::remove(Stream &stream) {
    List &list = lists_[stream.priority];
    (stream.ready_previous_ == nullptr ? list.head : stream.ready_previous_->ready_next_) = stream.ready_next_;
    (stream.ready_next_ == nullptr ? list.tail : stream.ready_next_->ready_previous_) = stream.ready_previous_;
    stream.ready_previous_ = stream.ready_next_ = nullptr;
    size_.fetch_sub(1, std::memory_order_release);
}

Stream *ReadyQueue::front() const {
    const auto found =
        std::find_if(lists_.begin(), lists_.end(), [](const List &list) { return list.head != nullptr; });
    return found == lists_.end() ? nullptr : found->head;
}

std::vector<Stream *> ReadyQueue::all() const {
    std::vector<Stream *> streams;
    for (const List &list : lists_) {
        for (Stream *stream = list.head; stream != nullptr; stream = stream->ready_next_) {
            streams.push_back(stream);
        }
    }
    return streams;
}

void RunnableList::push(Stream &stream) {
    if (stream.runnable_next_ != nullptr) {
        return;
    }
    stream.runnable_next_ = &stream;
    (first_ == nullptr ? first_ : last_->runnable_next_) = &stream;
    last_ = &stream;
}

Stream *RunnableList::behind(const Stream &stream) {
    return stream.runnable_next_ == &stream ? nullptr : stream.runnable_next_;
}

Stream &RunnableList::pop() {
    Stream &stream = *first_;
    first_ = behind(stream);
    stream.runnable_next_ = nullptr;
    return stream;
}

void RunnableList::remove(Stream &stream) {
    RunnableList others;
    while (!empty()) {
        Stream &next = pop();
        if (&next != &stream) {
            others.push(next);
        }
    }
    *this = others;
}

std::vector<Stream *> RunnableList::all() const {
    std::vector<Stream *> streams;
    for (Stream *stream = first_; stream != nullptr; stream = behind(*stream)) {
        streams.push_back(stream);
    }
    return streams;
}

}  // namespace aclsim
