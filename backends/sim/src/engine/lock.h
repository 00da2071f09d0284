// The engine's lock: it guards all state of the simulator, and is never held while user code or data movement runs.
//
// It has parts, the shards: one for each device in use. Nearly every call has the whole lock, and so everything for
// itself. A call that needs no more than one device, and finds that at rest, has its shard alone: such calls of
// different devices run at the same time. See api/shard_entry.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

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

// Who wants the whole lock takes the mutex, says so, and waits until the shards are free; who wants a shard takes that,
// and gives it back if somebody has the whole. So each sees the other, and the whole lock costs little more with many
// devices than with one.
class Shards {
  public:
    static constexpr std::uint32_t kMost = 16;  // further devices share them

    // Another one. With the whole lock held.
    void add() REQUIRES(engine_lock) {
        claim();  // there may have been no other, and nobody to say so to
        count_.fetch_add(1, std::memory_order_release);
    }
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
    static constexpr int kSpins = 200;  // critical sections are short: a short spin mostly saves a sleep

    void lock() NO_THREAD_SAFETY_ANALYSIS {
        for (int i = 0; !mutex_.try_lock(); ++i) {
            if (i == kSpins) {
                mutex_.lock();
                break;
            }
            pause_processor();
        }
        claim_from_others();
    }
    bool try_lock() NO_THREAD_SAFETY_ANALYSIS {
        const bool is_locked = mutex_.try_lock();
        if (is_locked) {
            claim_from_others();
        }
        return is_locked;
    }
    void unlock() NO_THREAD_SAFETY_ANALYSIS {
        yield_to_others();
        mutex_.unlock();
    }
    // false: only the whole lock is to be had, because there is one shard, or because others are in the way.
    bool try_lock_shard(std::uint32_t number) {
        if (number >= count() || count() == 1) {
            return false;
        }
        std::atomic<bool> &is_taken = shards_[number].is_taken;
        for (int i = 0; i < kSpins && !is_claimed_.load(std::memory_order_relaxed); ++i) {
            if (!is_taken.exchange(true)) {
                if (!is_claimed_) {
                    return true;
                }
                unlock_shard(number);
            }
            pause_processor();
        }
        return false;
    }
    void unlock_shard(std::uint32_t number) { shards_[number].is_taken.store(false, std::memory_order_release); }

    // With the mutex: no shard is taken from here on.
    void claim_from_others() {
        if (count() > 1) {
            claim();
        }
    }
    void claim() {
        is_claimed_ = true;
        for (std::uint32_t number = 0; number < count(); ++number) {
            for (int i = 0; shards_[number].is_taken; ++i) {
                i < kSpins ? pause_processor() : std::this_thread::yield();
            }
        }
    }
    void yield_to_others() {
        if (count() > 1) {
            is_claimed_.store(false, std::memory_order_release);
        }
    }

    std::mutex mutex_;
    std::atomic<std::uint32_t> count_{1};  // changed with the whole lock
    alignas(64) std::atomic<bool> is_claimed_{false};
    std::array<Shard, kMost> shards_;
};

// Held from its construction to its destruction, except between unlock() and lock().
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Shards &shards) ACQUIRE(engine_lock) : shards_(shards) { lock(); }
    // The shard of that number, or the whole.
    Lock(Shards &shards, std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS : shards_(shards),
                                                                                               shard_(shard) {
        if (shards.try_lock_shard(shard)) {
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
    // Calls wait(native), which sleeps on a condition variable, without the lock. Only who has the whole may sleep, or
    // notify.
    template <class Wait>
    auto sleep(Wait wait) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        shards_.yield_to_others();
        std::unique_lock<std::mutex> native(shards_.mutex_, std::adopt_lock);
        struct Back {
            Shards &shards;
            std::unique_lock<std::mutex> &native;
            ~Back() {
                native.release();
                shards.claim_from_others();
            }
        };
        const Back back{shards_, native};  // also when the thread is cancelled, which unwinds it
        return wait(native);
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
