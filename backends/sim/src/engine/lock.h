// The engine's lock: it guards all state of the simulator, and is never held while user code or data movement runs.
//
// It is in parts, the shards: one for each device in use. Nearly every call takes all of them, in their order, and so
// has everything for itself. A call that needs no more than one device, and finds that at rest, takes its shard alone:
// such calls of different devices run at the same time. See api/shard_entry.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

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

class Shards {
  public:
    static constexpr std::uint32_t kMost = 16;  // further devices share them

    std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
    // Another one, which belongs at once to the lock that the caller has.
    void add() REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        lock(count());
        count_.fetch_add(1, std::memory_order_release);
    }
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
        std::mutex mutex;
        std::uint64_t changes = 0;
    };
    static constexpr int kSpins = 200;  // critical sections are short: a short spin mostly saves a sleep
    void lock(std::uint32_t number) NO_THREAD_SAFETY_ANALYSIS {
        std::mutex &mutex = shards_[number].mutex;
        for (int i = 0; i <= kSpins; ++i) {
            if (mutex.try_lock()) {
                return;
            }
            pause_processor();
        }
        mutex.lock();
    }
    bool try_lock(std::uint32_t number) NO_THREAD_SAFETY_ANALYSIS { return shards_[number].mutex.try_lock(); }
    void unlock(std::uint32_t number) NO_THREAD_SAFETY_ANALYSIS { shards_[number].mutex.unlock(); }

    std::array<Shard, kMost> shards_;
    std::atomic<std::uint32_t> count_{1};  // changed by who has all of them
};

// Held from its construction to its destruction, except between unlock() and lock().
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Shards &shards) ACQUIRE(engine_lock) : shards_(shards) { lock(); }
    // One shard. It is all of them if there is no other, or if there is none of that number.
    Lock(Shards &shards, std::uint32_t shard) ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS : shards_(shards) {
        if (shard >= shards.count()) {
            lock();
            return;
        }
        shards.lock(shard);
        is_whole_ = shard == 0 && shards.count() == 1;
        begin_ = shard;
        end_ = shard + 1;
    }
    ~Lock() RELEASE() NO_THREAD_SAFETY_ANALYSIS { unlock(); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

    // All shards, whatever it had before.
    void lock() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        shards_.lock(0);
        lock_others();
    }
    void unlock() RELEASE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        for (std::uint32_t shard = is_whole_ ? shards_.count() : end_; shard > begin_; --shard) {
            shards_.unlock(shard - 1);
        }
        is_whole_ = false;
        begin_ = end_ = 0;
    }
    bool try_lock() NO_THREAD_SAFETY_ANALYSIS {  // the analysis does not know of it
        if (!shards_.try_lock(0)) {
            return false;
        }
        lock_others();
        return true;
    }
    bool is_whole() const { return is_whole_; }
    // All shards instead of one. What was looked at before may have changed.
    void widen() REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        unlock();
        lock();
    }
    // Calls wait(native), which sleeps on a condition variable, without the lock. Only who has all shards may notify.
    template <class Wait>
    auto sleep(Wait wait) REQUIRES(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        for (std::uint32_t shard = shards_.count(); shard > 1; --shard) {
            shards_.unlock(shard - 1);
        }
        std::unique_lock<std::mutex> native(shards_.shards_[0].mutex, std::adopt_lock);
        struct Back {
            Lock &lock;
            std::unique_lock<std::mutex> &native;
            ~Back() {
                native.release();
                lock.lock_others();
            }
        };
        const Back back{*this, native};  // also when the thread is cancelled, which unwinds it
        return wait(native);
    }

  private:
    void lock_others() NO_THREAD_SAFETY_ANALYSIS {
        for (std::uint32_t shard = 1; shard < shards_.count(); ++shard) {
            shards_.lock(shard);
        }
        is_whole_ = true;
        begin_ = 0;
        end_ = 1;
    }

    Shards &shards_;
    bool is_whole_ = false;
    std::uint32_t begin_ = 0;  // what it has, unless it is the whole: from here
    std::uint32_t end_ = 0;    // to before this
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
