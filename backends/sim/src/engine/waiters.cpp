#include "engine/waiters.h"

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

void Waiters::wake_all(Core &core) {
    while (first_ != nullptr) {
        Stream *chosen = first_;
        if (!core.scheduler().takes_first()) {
            std::vector<Stream *> candidates;
            for (Stream *stream = first_; stream != nullptr; stream = stream->waits_before_) {
                candidates.push_back(stream);
            }
            chosen = &core.scheduler().pick(Choice::Waiter, candidates);
        }
        remove(*chosen);
        core.make_runnable(*chosen);
    }
}

}  // namespace aclsim
