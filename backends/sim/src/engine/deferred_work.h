// SPDX-License-Identifier: Apache-2.0
// Work that grows with a size or may block, and is therefore done without the lock.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/lock.h"

namespace aclsim {

class Core;

// Done by the thread whose call or task made it necessary, before that call or task returns.
class DeferredWork {
  public:
    DeferredWork() = default;
    DeferredWork(DeferredWork &&) = default;
    DeferredWork &operator=(DeferredWork &&) = delete;
    virtual ~DeferredWork() = default;
    virtual void work() noexcept EXCLUDES(engine_lock) = 0;  // call without holding the engine lock
    virtual void finish() REQUIRES(engine_lock) {}           // requires the engine lock; streams move forward after it
    virtual bool has_more() const { return false; }          // work() and finish() are called again; see SlicedWork
    // Returns true if the work only moves streams forward. A sleeping thread performs such work and no other: other
    // work might call functions of the program, which may wait for the sleeping call.
    virtual bool moves_streams() const { return false; }

  private:
    friend class DeferredQueue;
    friend class UnfinishedWork;
    std::unique_ptr<DeferredWork> next_;  // done after this one
    std::uint64_t age_ = 0;               // lower for older work
    DeferredWork *older_ = nullptr;       // neighbours among the unfinished
    DeferredWork *younger_ = nullptr;
};

// Work that is deferred and not finished, the oldest first. Adding to it allocates nothing.
class UnfinishedWork {
  public:
    void add(DeferredWork &added) REQUIRES(engine_lock);
    void remove(const DeferredWork &finished) REQUIRES(engine_lock);
    bool has_up_to(std::uint64_t age) const REQUIRES(engine_lock) { return oldest_ != nullptr && oldest_->age_ <= age; }

  private:
    DeferredWork *oldest_ GUARDED_BY(engine_lock) = nullptr;
    DeferredWork *youngest_ GUARDED_BY(engine_lock) = nullptr;
};

class DeferredQueue {
  public:
    explicit DeferredQueue(Core &core) : core_(core) {}
    void add(std::unique_ptr<DeferredWork> work) REQUIRES(engine_lock);  // allocates nothing
    bool empty() const REQUIRES(engine_lock) { return first_ == nullptr; }
    // Performs only the work that moves streams forward. Returns false if there is none.
    bool move_streams(Lock &lock) REQUIRES(engine_lock);
    void do_all(Lock &lock) REQUIRES(engine_lock);  // performs all work that no other thread has taken
    // Performs all work, and waits for work that other threads perform if it was deferred before this call or is a
    // consequence of such work. Returns false if there is none. A thread that already performs deferred work waits for
    // no other thread, which might be waiting for it.
    bool await(Lock &lock) REQUIRES(engine_lock);
    // Count work that ends what a dropped task does outside the engine. A call that drops tasks waits for all of it,
    // also if another thread performs it; the exception is the same as above.
    void begin_cancellation() REQUIRES(engine_lock) { ++cancellations_; }
    void end_cancellation() REQUIRES(engine_lock) {
        --cancellations_;
        finished_.notify_all();
    }
    void await_cancellations(Lock &lock) REQUIRES(engine_lock);

  private:
    void append(std::unique_ptr<DeferredWork> work) REQUIRES(engine_lock);
    void perform(Lock &lock, std::unique_ptr<DeferredWork> own, bool takes_more) REQUIRES(engine_lock);
    // Returns the work to do again, or nullptr.
    std::unique_ptr<DeferredWork> finish(std::unique_ptr<DeferredWork> done) REQUIRES(engine_lock);
    // Puts those that only move streams, or the others, before the chain.
    void take(bool moves_streams, std::unique_ptr<DeferredWork> &chain) REQUIRES(engine_lock);

    Core &core_;
    std::unique_ptr<DeferredWork> first_ GUARDED_BY(engine_lock);  // head of a chain
    DeferredWork *last_ GUARDED_BY(engine_lock) = nullptr;
    UnfinishedWork unfinished_;
    std::uint64_t newest_age_ GUARDED_BY(engine_lock) = 0;
    std::uint64_t finishing_age_ GUARDED_BY(engine_lock) = 0;  // age of deferred work; 0: none
    std::size_t waits_ GUARDED_BY(engine_lock) = 0;
    std::size_t cancellations_ GUARDED_BY(engine_lock) = 0;  // under way
    std::condition_variable_any finished_;
};

}  // namespace aclsim
