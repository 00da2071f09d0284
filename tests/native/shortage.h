// SPDX-License-Identifier: Apache-2.0
// Shortage of host memory: makes chosen allocations of a program fail. Replaces the operators of the language, so only
// one source of a program may include it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

constexpr long kOff = -1;
inline std::atomic<bool> g_fails_on_any_thread{false};
inline std::atomic<long> g_left{kOff};   // allocations of all threads until one fails
inline thread_local long t_left = kOff;  // allocations of the calling thread until one fails

inline bool fails_now() {
    if (g_fails_on_any_thread.load(std::memory_order_relaxed)) {
        return g_left.fetch_sub(1) == 0;
    }
    return t_left >= 0 && t_left-- == 0;
}

inline void *allocate(std::size_t size, std::size_t alignment) {
    void *block = nullptr;
    if (fails_now() || posix_memalign(&block, alignment, size) != 0) {
        throw std::bad_alloc();
    }
    return block;
}

// Makes the n-th allocation from now on fail, counting from 0, in the calling thread or in all threads.
class Shortage {
  public:
    Shortage(long n, bool on_any_thread) : on_any_thread_(on_any_thread) {
        if (on_any_thread) {
            g_left = n;
            g_fails_on_any_thread = true;
        } else {
            t_left = n;
        }
    }
    ~Shortage() { end(); }
    Shortage(const Shortage &) = delete;
    Shortage &operator=(const Shortage &) = delete;
    // Returns true if an allocation has failed.
    bool end() {
        g_fails_on_any_thread = false;
        const long left = on_any_thread_ ? g_left.exchange(kOff) : std::exchange(t_left, kOff);
        return left < 0;
    }

  private:
    const bool on_any_thread_;
};

void *operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
// Replaces the operator of the address sanitizer, whose blocks must not be passed to std::free().
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
void operator delete[](void *block, std::size_t) noexcept { std::free(block); }
void operator delete(void *block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void *block, std::size_t, std::align_val_t) noexcept { std::free(block); }
