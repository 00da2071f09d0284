// SPDX-License-Identifier: Apache-2.0
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

template <class Link>
bool StreamList<Link>::push(Stream &stream) {
    if (Link::next(stream) != nullptr) {
        return false;
    }
    Link::next(stream) = &stream;
    (first_ == nullptr ? first_ : Link::next(*last_)) = &stream;
    last_ = &stream;
    return true;
}

template <class Link>
Stream *StreamList<Link>::behind(Stream &stream) {
    Stream *const next = Link::next(stream);
    return next == &stream ? nullptr : next;
}

template <class Link>
Stream &StreamList<Link>::pop() {
    Stream &stream = *first_;
    first_ = behind(stream);
    Link::next(stream) = nullptr;
    return stream;
}

template <class Link>
bool StreamList<Link>::remove(Stream &stream) {
    StreamList others;
    bool is_found = false;
    while (!empty()) {
        Stream &next = pop();
        if (&next == &stream) {
            is_found = true;
        } else {
            others.push(next);
        }
    }
    *this = others;
    return is_found;
}

template <class Link>
std::vector<Stream *> StreamList<Link>::all() const {
    std::vector<Stream *> streams;
    for (Stream *stream = first_; stream != nullptr; stream = behind(*stream)) {
        streams.push_back(stream);
    }
    return streams;
}

Stream *&RunnableLink::next(Stream &stream) { return stream.runnable_next_; }
Stream *&HeldLink::next(Stream &stream) { return stream.held_next_; }
template class StreamList<RunnableLink>;
template class StreamList<HeldLink>;

void HeldList::push(Stream &stream) {
    if (streams_.push(stream)) {
        Ref<Stream>(stream).release();
    }
}

Ref<Stream> HeldList::pop() { return Ref<Stream>::adopt(&streams_.pop()); }

void HeldList::remove(Stream &stream) {
    if (streams_.remove(stream)) {
        Ref<Stream>::adopt(&stream).reset();
    }
}

}  // namespace aclsim
