// SPDX-License-Identifier: Apache-2.0
#include "engine/deferred_work.h"

#include <utility>

#include "engine/core.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

thread_local bool t_does_deferred = false;  // inside deferred work, which may call the library via the program

}  // namespace

// Consequences of older work are not the youngest; only work of other threads is behind them.
void UnfinishedWork::add(DeferredWork &added) {
    DeferredWork *older = youngest_;
    while (older != nullptr && older->age_ > added.age_) {
        older = older->older_;
    }
    added.older_ = older;
    added.younger_ = std::exchange(older == nullptr ? oldest_ : older->younger_, &added);
    (added.younger_ == nullptr ? youngest_ : added.younger_->older_) = &added;
}

void UnfinishedWork::remove(const DeferredWork &finished) {
    (finished.older_ == nullptr ? oldest_ : finished.older_->younger_) = finished.younger_;
    (finished.younger_ == nullptr ? youngest_ : finished.younger_->older_) = finished.older_;
}

void DeferredQueue::add(std::unique_ptr<DeferredWork> work) {
    work->age_ = finishing_age_ != 0 ? finishing_age_ : ++newest_age_;
    unfinished_.add(*work);
    append(std::move(work));
}

void DeferredQueue::append(std::unique_ptr<DeferredWork> work) {
    DeferredWork *const added = work.get();
    (first_ ? last_->next_ : first_) = std::move(work);
    last_ = added;
}

void DeferredQueue::do_all(Lock &lock) {
    while (first_ != nullptr) {
        // All: the call must not return while other threads do some of it.
        perform(lock, std::move(first_), /*takes_more=*/true);
    }
}

bool DeferredQueue::move_streams(Lock &lock) {
    std::unique_ptr<DeferredWork> moving;
    take(/*moves_streams=*/true, moving);
    const bool is_any = moving != nullptr;
    perform(lock, std::move(moving), /*takes_more=*/false);
    return is_any;
}

// Takes work that is deferred in the meantime as well. Work that moves streams comes next, before any function of the
// program is called.
void DeferredQueue::perform(Lock &lock, std::unique_ptr<DeferredWork> own, bool takes_more) {
    const Uncancelled uncancelled;
    const bool is_nested = std::exchange(t_does_deferred, true);
    while (own != nullptr) {
        lock.unlock();
        own->work();
        lock.lock();
        auto next = std::move(own->next_);
        auto again = finish(std::move(own));
        core_.pump();
        if (takes_more) {
            take(/*moves_streams=*/false, next);
        }
        if (again != nullptr) {
            again->next_ = std::move(next);
            next = std::move(again);
        }
        if (takes_more) {
            take(/*moves_streams=*/true, next);
        }
        own = std::move(next);
    }
    t_does_deferred = is_nested;
}

std::unique_ptr<DeferredWork> DeferredQueue::finish(std::unique_ptr<DeferredWork> done) {
    finishing_age_ = done->age_;
    done->finish();
    if (!done->has_more()) {
        unfinished_.remove(*done);
        done.reset();  // may be the last reference to objects whose ends defer work
        if (waits_ > 0) {
            finished_.notify_all();
        }
    }
    finishing_age_ = 0;
    return done;
}

void DeferredQueue::take(bool moves_streams, std::unique_ptr<DeferredWork> &chain) {
    std::unique_ptr<DeferredWork> *end = &chain;
    auto behind = std::move(chain);
    for (auto all = std::move(first_); all != nullptr;) {
        auto next = std::move(all->next_);
        if (all->moves_streams() == moves_streams) {
            *end = std::move(all);
            end = &(*end)->next_;
        } else {
            append(std::move(all));
        }
        all = std::move(next);
    }
    *end = std::move(behind);
}

bool DeferredQueue::await(Lock &lock) {
    const Uncancelled uncancelled;
    const bool may_wait = !t_does_deferred;
    const std::uint64_t newest = newest_age_;
    const bool is_any = !empty() || (may_wait && unfinished_.has_up_to(newest));
    do_all(lock);
    ++waits_;
    while (may_wait && unfinished_.has_up_to(newest)) {
        finished_.wait(lock);
        do_all(lock);
    }
    --waits_;
    return is_any;
}

void DeferredQueue::await_cancellations(Lock &lock) {
    const Uncancelled uncancelled;
    while (unlikely(cancellations_ > 0) && !t_does_deferred) {
        if (first_ != nullptr) {
            do_all(lock);
        } else {
            finished_.wait(lock);
        }
    }
}

}  // namespace aclsim
