// The engine's lock: it guards all state of the simulator, and is never held while user code runs or many bytes are
// moved.
//
// It has parts, the shards: one for each device in use. Who needs no more than one device has its shard alone, so that
// devices do not wait for each other: calls (api/shard_entry.h), and the threads that run what they have queued. All
// others have the global lock, and so everything for themselves.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "support/expect.h"
#include "support/thread_annotations.h"

namespace aclsim {

// Stands for the lock in annotations: whoever has a Lock, which is passed on by reference, has this.
class CAPABILITY("engine lock") EngineLock {};
inline EngineLock engine_lock;

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Who waits for a flag of the lock pauses longer each time, so that whoever has it can take it again without a fight
// about the cache line; then lets other threads run; and in the end sleeps, because the one with the lock may have a
// lower priority.
class Backoff {
  public:
    void pause();
    bool was_long() const;     // longer than most threads have the lock
    bool was_patient() const;  // longer than a thread that sleeps needs to look again

  private:
    int rounds_ = 0;
};

// A thread that waits for flags of the lock. When that has been long, it draws a ticket: the older one goes first.
class Turn {
  public:
    static constexpr std::uint32_t kNoTicket = 0;

    void pause();
    std::uint32_t ticket() const { return ticket_; }
    // A flag is free for the thread with that ticket. Another one gives way, but not for ever: that thread may have no
    // processor.
    bool may_take(std::uint32_t ticket);

  private:
    std::uint32_t ticket_ = kNoTicket;
    std::uint32_t gives_way_to_ = kNoTicket;
    Backoff backoff_;
};

// A flag that one thread has at a time, taken by one atomic exchange and given back by a store: a mutex would need a
// second exchange. Any thread takes it that finds it free, which costs least as long as no thread has it for long or
// takes it again and again. For those that have waited for long there are turns: the flag is then free for the oldest
// of them alone, until that has had it. A thread asks for its turn whenever it looks, so one that does not look has
// none.
class Flag {
  public:
    bool is_taken() const { return state_ == kTaken; }
    bool looks_free() const { return state_.load(std::memory_order_relaxed) == kFree; }
    bool try_take() {
        std::uint32_t state = kFree;
        return state_.compare_exchange_strong(state, kTaken);
    }
    void give_back() { state_.store(next_.load(std::memory_order_relaxed), std::memory_order_release); }

    // For a thread that waits.
    bool try_take(Turn &turn);
    bool try_pass(const Turn &turn);      // is it not taken, whoever it is free for?
    void give_up_turn(const Turn &turn);  // by one that has passed

  private:
    static constexpr std::uint32_t kFree = Turn::kNoTicket;
    static constexpr std::uint32_t kTaken = 1;

    void ask_for_turn(std::uint32_t ticket);
    void end_turn(std::uint32_t ticket);

    std::atomic<std::uint32_t> state_{kFree};  // or the ticket of the thread that it is free for
    std::atomic<std::uint32_t> next_{kFree};   // the state when it is given back
};

// A thread that wants the global lock takes the flag of the whole, and waits until the shards are free; one that wants
// a shard takes that, and gives it back if somebody has the whole. So each sees the other, and the global lock costs
// little more with many devices than with one.
class Shards {
  public:
    static constexpr std::uint32_t kMost = 16;       // further devices share them
    static constexpr std::uint32_t kGlobal = kMost;  // the number of none: the global lock

    // Another one. With the global lock held.
    void add() REQUIRES(engine_lock) { count_.fetch_add(1); }
    std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
    // A step that may end or begin a deadlock; of something in that shard, which the caller has.
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
    struct alignas(64) Shard {  // threads of different devices do not share a cache line
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
    // A shard that was just taken: somebody may have taken the whole meanwhile.
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
    void await_shards();  // the flag of the whole is taken

    std::atomic<std::uint32_t> count_{1};  // changed with the global lock
    alignas(64) Flag whole_;
    std::array<Shard, kMost> shards_;
};

// Held from its construction to its destruction, except between unlock() and the next lock.
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Shards &shards) ACQUIRE(engine_lock) : shards_(shards) { lock(); }
    // The shard of that number; the whole, if that is the number of none. For when there are several.
    Lock(Shards &shards, std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS
        : shards_(shards),
          wanted_(shard < shards.count() ? shard : Shards::kGlobal) {
        lock_again();
    }
    ~Lock() RELEASE() NO_THREAD_SAFETY_ANALYSIS { unlock(); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    // The whole, whatever it had before.
    void lock() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        shards_.lock();
        wanted_ = held_ = Shards::kGlobal;
    }
    // What it had before unlock().
    void lock_again() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        if (wanted_ == Shards::kGlobal) {
            shards_.lock();
        } else {
            shards_.lock_shard(wanted_);
            t_shard_ = wanted_;
        }
        held_ = wanted_;
    }
    // The same, if nobody has it now.
    bool try_lock_again() NO_THREAD_SAFETY_ANALYSIS {  // the analysis does not know of it
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
    // The whole instead of the shard, or the other way round. What was looked at before may have changed.
    void upgrade_to_global() REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        lock();
    }
    void downgrade(std::uint32_t shard) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        wanted_ = shard;
        lock_again();
    }
    // The shard that the calling thread has; kGlobal: the global lock, or none.
    static std::uint32_t held_shard() { return t_shard_; }

  private:
    static constexpr std::uint32_t kNothing = Shards::kGlobal + 1;
    static inline thread_local std::uint32_t t_shard_ = Shards::kGlobal;
    Shards &shards_;
    std::uint32_t wanted_ = Shards::kGlobal;  // by lock_again()
    std::uint32_t held_ = kNothing;
};

// Releases the lock for a scope: for user code, or work that grows with a size.
class SCOPED_CAPABILITY Unlocked {
  public:
    explicit Unlocked(Lock &lock) RELEASE(engine_lock) : lock_(lock) { lock_.unlock(); }
    ~Unlocked() RELEASE() { lock_.lock(); }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;

  private:
    Lock &lock_;
};

// Between parts of work that grows with a size. What was looked at before may have changed.
inline void let_others_in(Lock &lock) REQUIRES(engine_lock) { const Unlocked unlocked(lock); }

}  // namespace aclsim
