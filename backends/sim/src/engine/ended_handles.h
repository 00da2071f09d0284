// SPDX-License-Identifier: Apache-2.0
// Ends of handles, kept in strict mode to explain a later use (control/strict.h).
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

#include "support/call_note.h"

namespace aclsim {

// Keeps the newest ends. Threads of several shards note them at the same time.
class EndedHandles {
  public:
    // Notes that the present call ends the handle. Without memory the end is forgotten: the call must go on.
    void note(const void *handle) noexcept {
        const std::lock_guard<std::mutex> guard(mutex_);
        try {
            ends_.insert_or_assign(handle, CallNote::present());
            order_.push_back(handle);
        } catch (const std::bad_alloc &) {
            ends_.erase(handle);
        }
        if (order_.size() > kRemembered) {
            ends_.erase(order_.front());
            order_.pop_front();
        }
    }
    // Returns the call that ended the handle, or an unknown one.
    CallNote find(const void *handle) const {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = ends_.find(handle);
        return found == ends_.end() ? CallNote() : found->second;
    }

  private:
    static constexpr std::size_t kRemembered = 16384;
    mutable std::mutex mutex_;
    std::unordered_map<const void *, CallNote> ends_;
    std::deque<const void *> order_;  // oldest first
};

}  // namespace aclsim
