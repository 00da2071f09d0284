// SPDX-License-Identifier: Apache-2.0
#include "engine/executor.h"

#include <algorithm>
#include <utility>

#include "engine/core.h"
#include "support/uncancelled.h"

namespace aclsim {

void Executor::enqueue(Stream &stream) {
    stream.state = Stream::State::Ready;
    ready_.push(stream);
    arrivals_.store(arrivals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    call_if_needed();
}

void Executor::call_if_needed() {
    if (ready_.size() > spinning_ + looking_) {
        call_thread();
    }
}

void Executor::Server::take(Executor &executor, Stream &stream) {
    executor.remove(stream);
    if (looks_at_ != nullptr) {
        --std::exchange(looks_at_, nullptr)->looking_;
    }
    works_for_ = &executor;
}

void Executor::Server::look() {
    looks_at_ = std::exchange(works_for_, nullptr);
    if (looks_at_ != nullptr) {
        ++looks_at_->looking_;
    }
}

void Executor::Server::leave() {
    if (Executor *const left = std::exchange(looks_at_, nullptr)) {
        --left->looking_;
        left->call_if_needed();
    }
}

void Executor::call_thread() {
    if (sleeping_ > wakeups_) {
        ++wakeups_;
        work_.notify_one();
    } else if (threads_ < thread_limit_) {
        start_thread();
    }
}

void Executor::share(SharedWork &work, std::uint32_t others) {
    {
        const Lock lock = core_.acquire_shard(shard_);
        work.wanted_ = std::min(others, thread_limit_);
        shared_.push_back(&work);
        for (std::uint32_t i = 0; i < work.wanted_; ++i) {
            call_thread();
        }
    }
    struct Leave {
        Executor &executor;
        SharedWork &work;
        ~Leave() { executor.withdraw(work); }
    };
    const Leave leave{*this, work};  // also when the work ends the thread
    work.work();
}

void Executor::withdraw(SharedWork &work) {
    const Uncancelled uncancelled;
    Lock lock = core_.acquire_shard(shard_);
    shared_.erase(std::remove(shared_.begin(), shared_.end(), &work), shared_.end());
    while (work.joined_ > 0) {
        sleep(left_, lock);
    }
}

// Joins the work shared by a running task.
void Executor::join(Lock &lock) {
    SharedWork &work = *shared_.front();
    ++work.joined_;
    if (--work.wanted_ == 0) {
        shared_.erase(shared_.begin());
    }
    struct Leave {
        Executor &executor;
        SharedWork &work;
        Lock &lock;
        ~Leave() NO_THREAD_SAFETY_ANALYSIS {
            lock.lock_again();
            if (--work.joined_ == 0) {
                executor.left_.notify_all();
            }
        }
    };
    lock.unlock();
    const Leave leave{*this, work, lock};  // also when the work ends the thread
    work.work();
}

// Sleeps and retakes the same lock afterwards. Retaking the global lock, as other sleeping threads do, would make
// workers wait for each other whenever work arrives.
void Executor::sleep(std::condition_variable_any &changed, Lock &lock) {
    struct Again {
        Lock &held;
        void lock() NO_THREAD_SAFETY_ANALYSIS { held.lock_again(); }
        void unlock() NO_THREAD_SAFETY_ANALYSIS { held.unlock(); }
    };
    Again again{lock};
    changed.wait(again);
}

void Executor::wake() {
    wakeups_ = sleeping_;
    work_.notify_all();
}

void Executor::stop() {
    stopped_ = true;
    work_.notify_all();
}

// Starts a thread. If the host has none left, the next task tries again; meanwhile synchronizing threads help, if
// allowed.
bool Executor::start_thread() {
    if (aclsim::start_thread([self = shared_from_this()] { self->serve(); })) {
        ++threads_;
    }
    return threads_ > 0;
}

Stream &Executor::next() const {
    return core_.scheduler().takes_first() ? *ready_.front() : core_.scheduler().pick(Choice::Ready, ready_.all());
}

void Executor::serve() {
    Lock lock = core_.acquire();
    core_.begin_own_thread();
    struct Ends {
        Executor &executor;
        Lock &lock;
        ~Ends() REQUIRES(engine_lock) {
            executor.core_.upgrade_to_global(lock);
            executor.core_.end_own_thread();
            --executor.threads_;
            if (!executor.stopped_) {
                executor.call_if_needed();
            }
        }
    };
    const Ends ends{*this, lock};  // also when a function of the program has ended the thread
    Server server;
    while (!stopped_) {
        core_.prefer_shard(lock, shard_);
        if (shared_.empty() && ready_.size() > 0 && !core_.is_held()) {
            Stream &stream = next();
            server.take(*this, stream);
            core_.run_head(lock, stream, server);
        } else {
            server.leave();
            shared_.empty() ? idle(lock) : join(lock);
        }
        if (core_.has_deferred()) {
            server.leave();
            core_.upgrade_to_global(lock);
            core_.do_deferred(lock);
        }
    }
}

void Executor::spin(Lock &lock) {
    lock.unlock();
    bool has_lock = false;
    std::uint64_t seen = 0;
    // Spin as long as streams become ready: waking a thread takes ten times as long as submitting a task, even if the
    // submitter then runs the task itself.
    do {
        seen = arrivals_.load(std::memory_order_relaxed);
        // Try only: the thread that made a stream ready usually serves it itself, and would contend for the lock for
        // nothing.
        has_lock = core_.spinner().until([&] { return ready_.size() > 0 && core_.try_lock_again(lock); });
    } while (!has_lock && arrivals_.load(std::memory_order_relaxed) != seen);
    if (!has_lock) {
        core_.lock_again(lock);
    }
}

void Executor::idle(Lock &lock) {
    if (spinning_ == 0 && !core_.is_held()) {
        ++spinning_;
        spin(lock);
        --spinning_;
        if (!shared_.empty() || (ready_.size() > 0 && !core_.is_held())) {
            return;
        }
    }
    ++sleeping_;
    while (wakeups_ == 0 && !stopped_) {
        sleep(work_, lock);
    }
    wakeups_ -= wakeups_ > 0 ? 1 : 0;
    --sleeping_;
}

}  // namespace aclsim
