#include "engine/waiters.h"

#include "engine/core.h"

namespace aclsim {

void Waiters::add(Stream &stream) {
    if (stream.waits_in == this) {
        return;
    }
    stream.waits_in = this;
    stream.waits_before = nullptr;
    stream.waits_behind = last_;
    (last_ == nullptr ? first_ : last_->waits_before) = &stream;
    last_ = &stream;
}

void Waiters::remove(Stream &stream) {
    if (stream.waits_in != this) {
        return;
    }
    (stream.waits_behind == nullptr ? first_ : stream.waits_behind->waits_before) = stream.waits_before;
    (stream.waits_before == nullptr ? last_ : stream.waits_before->waits_behind) = stream.waits_behind;
    stream.waits_in = nullptr;
}

void Waiters::wake(Engine &engine) {
    while (Stream *stream = first_) {
        remove(*stream);
        engine.make_runnable(*stream);
    }
}

}  // namespace aclsim
