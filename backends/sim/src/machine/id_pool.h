// SPDX-License-Identifier: Apache-2.0
// Numbers that a device allocates for streams, events and notifies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/lock.h"

namespace aclsim {

// Allocates the smallest free number below a limit. Some kinds of events take a number for each record and give it
// back, so the free numbers are bits, and the search begins at the lowest word that may have a free number.
class IdPool {
  public:
    IdPool(std::uint32_t first, std::uint32_t limit) : first_(first), may_use_(limit - first), size_(limit - first) {}

    // Returns false if all numbers are in use.
    bool acquire(std::uint32_t &id) REQUIRES(engine_lock) {
        if (used_ >= may_use_) {
            return false;
        }
        while (lowest_ < free_.size() && free_[lowest_] == 0) {
            ++lowest_;
        }
        if (lowest_ == free_.size()) {
            free_.push_back(~std::uint64_t{0});
        }
        std::uint64_t &word = free_[lowest_];
        id = first_ + static_cast<std::uint32_t>(lowest_ * kBits) + static_cast<std::uint32_t>(__builtin_ctzll(word));
        word &= word - 1;
        ++used_;
        return true;
    }
    void release(std::uint32_t id) REQUIRES(engine_lock) {
        const std::size_t word = (id - first_) / kBits;
        free_[word] |= std::uint64_t{1} << (id - first_) % kBits;
        lowest_ = std::min(lowest_, word);
        --used_;
    }
    std::uint32_t available() const REQUIRES(engine_lock) { return may_use_ > used_ ? may_use_ - used_ : 0; }
    // Sets the largest number of IDs in use at a time, up to the size of the pool.
    void set_limit(std::uint32_t number) REQUIRES(engine_lock) { may_use_ = std::min(number, size_); }
    std::uint32_t in_use() const REQUIRES(engine_lock) { return used_; }

  private:
    static constexpr std::uint32_t kBits = 64;

    const std::uint32_t first_;
    std::uint32_t used_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t may_use_ GUARDED_BY(engine_lock);
    const std::uint32_t size_;
    std::vector<std::uint64_t> free_ GUARDED_BY(engine_lock);  // extends to the highest number ever allocated
    std::size_t lowest_ GUARDED_BY(engine_lock) = 0;           // words below it have no free number
};

}  // namespace aclsim
