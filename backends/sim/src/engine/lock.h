// The engine's lock: it guards all state of the simulator, and is never held while user code runs or many bytes are
// moved.
//
// It has parts, the shards: one for each device in use. Nearly every call has the whole lock, and so everything for
// itself. A call that needs no more than one device, and finds that at rest, has its shard alone: such calls of
// different devices run at the same time. See api/shard_entry.h.
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

  private:
    int rounds_ = 0;
};

// Who wants the whole lock claims it, and waits until the shards are free; who wants a shard takes that, and gives it
// back if somebody has claimed the whole. So each sees the other, and the whole lock costs little more with many
// devices than with one.
class Shards {
  public:
    static constexpr std::uint32_t kMost = 16;  // further devices share them

    // Another one. With the whole lock held.
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
        std::atomic<bool> is_taken{false};
        std::uint64_t changes = 0;
    };

    void lock() {
        if (rarely(!claim())) {
            lock_in_turn();
        }
    }
    bool try_lock() { return !is_claimed_.load(std::memory_order_relaxed) && claim(); }
    void unlock() { is_claimed_.store(false, std::memory_order_release); }
    void lock_shard(std::uint32_t number) {
        std::atomic<bool> &is_taken = shards_[number].is_taken;
        for (Backoff backoff;; backoff.pause()) {
            if (rarely(is_claimed_.load(std::memory_order_relaxed) || is_taken.load(std::memory_order_relaxed) ||
                       is_taken.exchange(true))) {
                continue;
            }
            if (mostly(!is_claimed_)) {
                return;
            }
            unlock_shard(number);  // somebody has claimed the whole meanwhile
        }
    }
    void unlock_shard(std::uint32_t number) { shards_[number].is_taken.store(false, std::memory_order_release); }

    bool claim() {
        const bool is_first = !is_claimed_.exchange(true);
        if (mostly(is_first) && rarely(count() > 1)) {
            await_shards();
        }
        return is_first;
    }
    [[gnu::noinline]] void lock_in_turn() {
        Backoff backoff;
        do {
            backoff.pause();
        } while (!try_lock());
    }
    void await_shards() {  // no shard is taken from here on
        for (std::uint32_t number = 0; number < count(); ++number) {
            Backoff backoff;
            while (shards_[number].is_taken) {
                backoff.pause();
            }
        }
    }

    std::atomic<std::uint32_t> count_{1};  // changed with the whole lock
    alignas(64) std::atomic<bool> is_claimed_{false};
    std::array<Shard, kMost> shards_;
};

// Held from its construction to its destruction, except between unlock() and lock().
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Shards &shards) ACQUIRE(engine_lock) : shards_(shards) { lock(); }
    // The shard of that number; the whole, if that is the number of none. For when there are several.
    Lock(Shards &shards, std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS : shards_(shards),
                                                                                               shard_(shard) {
        if (shard < shards.count()) {
            shards.lock_shard(shard);
            state_ = State::Shard;
        } else {
            lock();
        }
    }
    ~Lock() RELEASE() NO_THREAD_SAFETY_ANALYSIS { unlock(); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    // The whole, whatever it had before.
    void lock() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        shards_.lock();
        state_ = State::Whole;
    }
    void unlock() RELEASE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        if (state_ == State::Whole) {
            shards_.unlock();
        } else if (state_ == State::Shard) {
            shards_.unlock_shard(shard_);
        }
        state_ = State::None;
    }
    bool try_lock() NO_THREAD_SAFETY_ANALYSIS {  // the analysis does not know of it
        const bool is_locked = shards_.try_lock();
        state_ = is_locked ? State::Whole : state_;
        return is_locked;
    }
    bool is_whole() const { return state_ == State::Whole; }
    // The whole instead of the shard. What was looked at before may have changed.
    void widen() REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        lock();
    }

  private:
    enum class State : std::uint8_t { None, Shard, Whole };
    Shards &shards_;
    const std::uint32_t shard_ = 0;
    State state_ = State::None;
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

}  // namespace aclsim
