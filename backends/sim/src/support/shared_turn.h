// SPDX-License-Identifier: Apache-2.0
// Lock of a byte of shared memory, for the scope of a step that several processes may not take at the same time.
//
// The kernel releases it if its owner is killed. A process waits only for a limited time for an owner that is stopped.
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

#include "support/shared_memory.h"

namespace aclsim {

class SharedTurn {
  public:
    SharedTurn(const SharedMemory &memory, std::size_t byte)
        : memory_(memory), byte_(byte), has_it_(memory.try_lock(byte)) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (!has_it_ && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
            has_it_ = memory_.try_lock(byte_);
        }
    }
    ~SharedTurn() {
        if (has_it_) {
            memory_.unlock(byte_);
        }
    }
    SharedTurn(const SharedTurn &) = delete;
    SharedTurn &operator=(const SharedTurn &) = delete;
    bool has_it() const { return has_it_; }  // false: the owner has kept it for longer than any step takes

  private:
    static constexpr std::chrono::seconds kPatience{1};
    const SharedMemory &memory_;
    const std::size_t byte_;
    bool has_it_;
};

}  // namespace aclsim
