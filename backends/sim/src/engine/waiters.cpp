// SPDX-License-Identifier: Apache-2.0
#include "engine/waiters.h"

#include <new>
#include <vector>

#include "engine/core.h"

namespace aclsim {

void Waiters::add(Stream &stream) {
    if (stream.waits_in_ == this) {
        return;
    }
    stream.waits_in_ = this;
    shards_ |= 1U << Core::shard_of(stream);
    stream.waits_before_ = nullptr;
    stream.waits_behind_ = last_;
    (last_ == nullptr ? first_ : last_->waits_before_) = &stream;
    last_ = &stream;
}

void Waiters::remove(Stream &stream) {
    if (stream.waits_in_ != this) {
        return;
    }
    (stream.waits_behind_ == nullptr ? first_ : stream.waits_behind_->waits_before_) = stream.waits_before_;
    (stream.waits_before_ == nullptr ? last_ : stream.waits_before_->waits_behind_) = stream.waits_behind_;
    stream.waits_in_ = nullptr;
    shards_ = first_ == nullptr ? 0 : shards_;
}

Stream &Waiters::choose(Scheduler &scheduler) const {
    if (scheduler.takes_first()) {
        return *first_;
    }
    try {
        std::vector<Stream *> candidates;
        for (Stream *stream = first_; stream != nullptr; stream = stream->waits_before_) {
            candidates.push_back(stream);
        }
        return scheduler.pick(Choice::Waiter, candidates);
    } catch (const std::bad_alloc &) {  // neither the end of a task nor its cancellation may fail
        return *first_;
    }
}

void Waiters::wake_all(Core &core) {
    while (first_ != nullptr) {
        Stream &chosen = choose(core.scheduler());
        remove(chosen);
        core.make_runnable(chosen);
    }
}

}  // namespace aclsim
