// The engine's lock: it guards all state of the simulator, and is never held while user code or data movement runs.
#pragma once

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

// Held from its construction to its destruction, except between unlock() and lock().
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(std::mutex &mutex) ACQUIRE(engine_lock) : lock_(mutex, std::try_to_lock) { spin_then_lock(); }
    ~Lock() RELEASE() = default;
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    void lock() ACQUIRE(engine_lock) NO_THREAD_SAFETY_ANALYSIS {
        static_cast<void>(lock_.try_lock());
        spin_then_lock();
    }
    void unlock() RELEASE(engine_lock) NO_THREAD_SAFETY_ANALYSIS { lock_.unlock(); }
    bool try_lock() { return lock_.try_lock(); }              // the analysis does not know of it
    std::unique_lock<std::mutex> &native() { return lock_; }  // for condition variables

  private:
    static constexpr int kSpins = 200;  // critical sections are short: a short spin mostly saves a sleep
    void spin_then_lock() {
        for (int i = 0; i < kSpins && !lock_.owns_lock(); ++i) {
            pause_processor();
            static_cast<void>(lock_.try_lock());
        }
        if (!lock_.owns_lock()) {
            lock_.lock();
        }
    }

    std::unique_lock<std::mutex> lock_;
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
