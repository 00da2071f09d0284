// SPDX-License-Identifier: Apache-2.0
// Processes that may import an export of another process; part of a shared memory object.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace aclsim {

template <std::size_t kLimit>
class PermittedProcesses {
  public:
    void start(bool is_checked) { is_checked_ = is_checked ? 1 : 0; }
    bool is_checked() const { return is_checked_ != 0; }
    // Returns the bytes from the start of this object that need pages before `count` more processes are added.
    std::size_t bytes_with(std::size_t count) const {
        const std::size_t known = std::min<std::size_t>(count_, kLimit);
        return sizeof(*this) - (kLimit - known - std::min(count, kLimit - known)) * sizeof(ids_[0]);
    }
    // Returns false if the total would exceed the limit.
    bool add(const std::int32_t *processes, std::size_t count, std::size_t limit = kLimit) {
        const std::size_t known = count_;
        if (known > limit || count > limit - known) {
            return false;
        }
        std::copy(processes, processes + count, ids_ + known);
        count_ = static_cast<std::uint32_t>(known + count);
        return true;
    }
    bool permits(std::int32_t process) const {
        const auto *end = ids_ + std::min<std::size_t>(count_, kLimit);
        return is_checked_ == 0 || std::find(ids_, end, process) != end;
    }

  private:
    std::atomic<std::uint32_t> is_checked_;
    std::atomic<std::uint32_t> count_;
    std::atomic<std::int32_t> ids_[kLimit];
};

}  // namespace aclsim
