#include "engine/executor.h"

#include <system_error>
#include <thread>

#include "engine/core.h"
#include "engine/stream.h"
#include "support/config.h"

namespace aclsim {

void Executor::enqueue(Stream &stream) {
    stream.state = Stream::State::Ready;
    ready_.push(stream);
    if (ready_.size() <= spinning_) {
        return;  // the spinning thread sees it
    }
    if (sleeping_ > wakeups_) {
        ++wakeups_;
        work_.notify_one();
    } else if (threads_ < thread_limit_) {
        start_thread();
    }
}

void Executor::wake() {
    wakeups_ = sleeping_;
    work_.notify_all();
}

void Executor::stop() {
    stopped_ = true;
    work_.notify_all();
}

bool Executor::start_thread() {
    try {
        // Detached: a process may end while a user's callback still runs; nobody could join that thread.
        std::thread([self = shared_from_this()] { self->serve(); }).detach();
        ++threads_;
    } catch (const std::system_error &) {
        // The host has no thread left. The next task tries again; meanwhile threads that synchronize help, if they may.
    }
    return threads_ > 0;
}

void Executor::serve() {
    auto lock = engine_.acquire();
    while (!stopped_) {
        if (ready_.size() == 0 || engine_.is_held()) {
            idle(lock);
            continue;
        }
        Stream &stream = engine_.scheduler().next(ready_);
        ready_.remove(stream);
        engine_.run_head(lock, stream);
        engine_.exceptions().deliver_aside(engine_, lock);
    }
    --threads_;
}

void Executor::idle(std::unique_lock<std::mutex> &lock) {
    if (spinning_ == 0 && !engine_.is_held()) {
        ++spinning_;
        lock.unlock();
        // Not acquire(): the thread that made a stream ready mostly serves it itself, and queueing for the lock behind
        // it would only make its next unlock expensive.
        if (!spin_until([&] { return ready_.size() > 0 && lock.try_lock(); })) {
            lock = engine_.acquire();
        }
        --spinning_;
        if (ready_.size() > 0 && !engine_.is_held()) {
            return;
        }
    }
    ++sleeping_;
    work_.wait(lock, [this] { return wakeups_ > 0 || stopped_; });
    wakeups_ -= wakeups_ > 0 ? 1 : 0;
    --sleeping_;
}

}  // namespace aclsim
