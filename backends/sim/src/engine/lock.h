// SPDX-License-Identifier: Apache-2.0
// The engine lock: guards all state of the simulator, and is never held while user code runs or large amounts of data
// are moved.
//
// It is divided into shards, one per device in use. An operation that concerns one device only holds that device's
// shard, so that devices do not wait for each other: calls (api/shard_entry.h), and the threads that run queued tasks.
// All other operations hold the global lock, which excludes all shards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

#include "support/expect.h"
#include "support/thread_annotations.h"

namespace aclsim {

// Represents the lock in thread-safety annotations: a function that receives a Lock by reference holds this capability.
class CAPABILITY("engine lock") EngineLock {};
inline EngineLock engine_lock;

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Delays between attempts to take a flag of the lock. Pauses grow, so that the owner can retake the flag without
// contention for the cache line; then the thread yields; finally it sleeps, because the owner may have a lower
// priority.
class Backoff {
  public:
    void pause();
    bool was_long() const;     // longer than most threads hold the lock
    bool was_patient() const;  // longer than a sleeping thread needs to look again

  private:
    int rounds_ = 0;
};

// State of a thread that waits for flags of the lock. After a long wait it draws a ticket: the oldest ticket goes
// first.
class Turn {
  public:
    static constexpr std::uint32_t kNoTicket = 0;

    void pause();
    std::uint32_t ticket() const { return ticket_; }
    // Returns true if the thread may take a flag that is reserved for that ticket. A thread with another ticket gives
    // way, but not forever: the ticket's owner may not get a processor.
    bool may_take(std::uint32_t ticket);

  private:
    std::uint32_t ticket_ = kNoTicket;
    std::uint32_t gives_way_to_ = kNoTicket;
    Backoff backoff_;
};

// Flag with one owner at a time, taken by one atomic exchange and released by a store; a mutex would need a second
// exchange. Any thread may take a free flag, which is cheapest as long as no thread holds it for long or retakes it
// repeatedly. Threads that have waited long get turns: the released flag is reserved for the oldest of them until it
// has taken it. A thread requests its turn on every attempt, so a thread that stops trying loses its turn.
class Flag {
  public:
    bool is_taken() const { return state_ == kTaken; }
    bool looks_free() const { return state_.load(std::memory_order_relaxed) == kFree; }
    bool try_take() {
        std::uint32_t state = kFree;
        return state_.compare_exchange_strong(state, kTaken);
    }
    void give_back() { state_.store(next_.load(std::memory_order_relaxed), std::memory_order_release); }

    // For waiting threads.
    bool try_take(Turn &turn);
    bool try_pass(const Turn &turn);      // returns true if it is not taken, even if it is reserved
    void give_up_turn(const Turn &turn);  // called by a thread that has passed

  private:
    static constexpr std::uint32_t kFree = Turn::kNoTicket;
    static constexpr std::uint32_t kTaken = 1;

    void ask_for_turn(std::uint32_t ticket);
    void end_turn(std::uint32_t ticket);

    std::atomic<std::uint32_t> state_{kFree};  // or the ticket of the thread that the flag is reserved for
    std::atomic<std::uint32_t> next_{kFree};   // state after the next release
};

// Flags of the shards and of the global lock. A thread that wants the global lock takes the global flag and waits until
// the shards are free; a thread that wants a shard takes the shard's flag, and releases it if the global flag is taken.
// Thus each sees the other, and the global lock costs little more with many devices than with one.
class Shards {
  public:
    static constexpr std::uint32_t kMost = 16;       // further devices share them
    static constexpr std::uint32_t kGlobal = kMost;  // not a shard: the global lock

    // Adds a shard. Requires the global lock.
    void add() REQUIRES(engine_lock) { count_.fetch_add(1); }
    std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
    // Counts a step that may end or begin a deadlock. Requires the shard, or the global lock.
    void note_change(std::uint32_t shard) REQUIRES(engine_lock) { ++shards_[shard].changes; }
    std::uint64_t changes() const REQUIRES(engine_lock) {
        std::uint64_t sum = 0;
        for (const Shard &shard : shards_) {
            sum += shard.changes;
        }
        return sum;
    }

  private:
    friend class Lock;
    struct alignas(64) Shard {  // avoids sharing a cache line between threads of different devices
        Flag flag;
        std::uint64_t changes = 0;
    };

    void lock() {
        if (unlikely(!try_lock())) {
            lock_in_turn();
        }
    }
    bool try_lock() {
        const bool is_taken = whole_.try_take();
        if (likely(is_taken) && unlikely(count() > 1)) {
            await_shards();
        }
        return is_taken;
    }
    void unlock() { whole_.give_back(); }
    void lock_shard(std::uint32_t number) {
        if (unlikely(!try_lock_shard(number))) {
            lock_shard_in_turn(number);
        }
    }
    bool try_lock_shard(std::uint32_t number) {
        Flag &own = shards_[number].flag;
        if (unlikely(whole_.is_taken() || !own.looks_free() || !own.try_take())) {
            return false;
        }
        return leave_unless_whole_is_free(number);
    }
    // Releases a shard that was just taken if another thread has taken the global lock in the meantime.
    bool leave_unless_whole_is_free(std::uint32_t number) {
        if (likely(!whole_.is_taken())) {
            return true;
        }
        unlock_shard(number);
        return false;
    }
    void unlock_shard(std::uint32_t number) { shards_[number].flag.give_back(); }

    void lock_in_turn();
    void lock_shard_in_turn(std::uint32_t number);
    void await_shards();  // requires the global flag

    std::atomic<std::uint32_t> count_{1};  // changed under the global lock
    alignas(64) Flag whole_;
    std::array<Shard, kMost> shards_;
};

// Scoped lock: held from construction to destruction, except between unlock() and the next lock.
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Shards &shards) ACQUIRE(engine_lock) : shards_(shards) { lock(); }
    // Takes the shard with that number; the global lock if the number is not that of a shard. For use when there are
    // several shards.
    Lock(Shards &shards, std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS
        : shards_(shards),
          wanted_(shard < shards.count() ? shard : Shards::kGlobal) {
        lock_again();
    }
    ~Lock() RELEASE() NO_THREAD_SAFETY_ANALYSIS { unlock(); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    // Takes the global lock, regardless of the lock held before.
    void lock() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        shards_.lock();
        wanted_ = held_ = Shards::kGlobal;
    }
    // Retakes the lock that unlock() released.
    void lock_again() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        if (wanted_ == Shards::kGlobal) {
            shards_.lock();
        } else {
            shards_.lock_shard(wanted_);
            t_shard_ = wanted_;
        }
        held_ = wanted_;
    }
    // Does the same, but only if the lock is free now.
    bool try_lock_again() NO_THREAD_SAFETY_ANALYSIS {  // not analysed: takes the lock conditionally
        if (wanted_ == Shards::kGlobal ? !shards_.try_lock() : !shards_.try_lock_shard(wanted_)) {
            return false;
        }
        held_ = t_shard_ = wanted_;
        return true;
    }
    void unlock() RELEASE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        if (held_ == Shards::kGlobal) {
            shards_.unlock();
        } else if (held_ != kNothing) {
            t_shard_ = Shards::kGlobal;
            shards_.unlock_shard(held_);
        }
        held_ = kNothing;
    }
    bool is_global() const { return held_ == Shards::kGlobal; }
    // Exchange a shard for the global lock, or vice versa. State that was read before may have changed.
    void upgrade_to_global() REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        lock();
    }
    void downgrade(std::uint32_t shard) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        wanted_ = shard;
        lock_again();
    }
    // Returns the shard held by the calling thread, or kGlobal for the global lock or no lock.
    static std::uint32_t held_shard() { return t_shard_; }

  private:
    static constexpr std::uint32_t kNothing = Shards::kGlobal + 1;
    static inline thread_local std::uint32_t t_shard_ = Shards::kGlobal;
    Shards &shards_;
    std::uint32_t wanted_ = Shards::kGlobal;  // lock that lock_again() takes
    std::uint32_t held_ = kNothing;
};

// Releases the lock for a scope, to run user code or work that grows with a size. Retakes the global lock.
class SCOPED_CAPABILITY Unlocked {
  public:
    explicit Unlocked(Lock &lock) RELEASE(engine_lock) : lock_(lock) { lock_.unlock(); }
    ~Unlocked() RELEASE() { lock_.lock(); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;

  private:
    Lock &lock_;
};

// Releases the lock briefly between parts of work that grows with a size. State that was read before may have changed.
inline void let_others_in(Lock &lock) REQUIRES(engine_lock) { const Unlocked unlocked(lock); }

// Repeats the body while it fails for lack of memory. For the ends of objects, which cannot fail once they have begun.
template <class Body>
void persist(Lock &lock, Body body) REQUIRES(engine_lock) {
    for (bool is_done = false; !is_done;) {
        try {
            body();
            is_done = true;
        } catch (const std::bad_alloc &) {
            let_others_in(lock);
            std::this_thread::yield();
        }
    }
}

// Runs end() after body(), even if a function of the program makes that fail or ends the thread in it.
template <class Body, class End>
void run_to_end(Body body, End end) REQUIRES(engine_lock) {
    try {
        body();
    } catch (...) {
        end();
        throw;
    }
    end();
}

}  // namespace aclsim
