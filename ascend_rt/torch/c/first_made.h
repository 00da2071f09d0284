/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are made once, without a lock. */
#pragma once

#include <atomic>
#include <memory>

namespace ascend_rt {

// The first value that a thread makes stays until the process ends; others, made at the same time, are dropped. A
// static variable of a function would have a guard instead, which stays taken in a forked child if another thread made
// the value during the fork.
template <typename T>
class FirstMade {
  public:
    constexpr FirstMade() = default;
    // nullptr: none was made yet.
    const T *find() const { return made_.load(std::memory_order_acquire); }
    // The next value is the first one again. The old one stays in memory: another thread may read it.
    void forget() { made_.store(nullptr, std::memory_order_release); }
    template <typename Make>
    const T &get(Make &&make) {
        const T *found = find();
        if (found == nullptr) {
            auto fresh = std::make_unique<const T>(make());
            if (made_.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) {
                found = fresh.release();
            }
        }
        return *found;
    }

  private:
    std::atomic<const T *> made_{nullptr};
};

}  // namespace ascend_rt
