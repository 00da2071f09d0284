// SPDX-License-Identifier: Apache-2.0
// Card shared by all processes of a machine: its streams and its memory serve all of them together (hardware_seen.md
// sections 2.7 and 4.4).
//
// The processes share one table, in which each has a row for its own resources. There is no stored total: the amount in
// use is the sum of the rows, so a process killed at any instruction leaves nothing behind but its row. The owner of a
// row is the process that holds its lock, which the kernel releases however the process ends. The amounts in a row
// without an owner count until a request does not fit or a caller asks for the total.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/lock.h"
#include "support/shared_memory.h"

namespace aclsim {

// Guarded by the engine lock.
class SharedCard {
  public:
    enum Resource : std::size_t { kStreams, kBytes, kResources };

    // Cards of different products or different numbers share nothing, and neither do cards of different users, except
    // with ASCEND_RT_SIM_CARDS=all-users. The table is opened at the first use, and again if another process has
    // truncated it more than ten microseconds ago, or removed it more than a millisecond ago. If the host cannot share
    // the table, the process prints a message and uses the card alone; with ASCEND_RT_SIM_CARDS=shared or all-users,
    // the use fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    SharedCard(const std::string &product, std::uint32_t number);
    // Returns false if all processes together would exceed the capacity.
    bool take(Resource resource, std::uint64_t amount, std::uint64_t capacity) REQUIRES(engine_lock);
    // Counts resources that a process always has, even if they exceed the capacity.
    void count(Resource resource, std::uint64_t amount) REQUIRES(engine_lock);
    void give_back(Resource resource, std::uint64_t amount) REQUIRES(engine_lock);
    std::uint64_t held_by_others(Resource resource) REQUIRES(engine_lock);
    std::uint64_t left(Resource resource, std::uint64_t capacity) REQUIRES(engine_lock);

  private:
    using Time = std::chrono::steady_clock::time_point;
    using Amount = std::atomic<std::uint64_t>;
    static_assert(Amount::is_always_lock_free, "processes share it");
    static constexpr std::size_t kLine = 64;  // keeps rows on separate cache lines
    static constexpr std::size_t kRows = 1024;
    struct alignas(kLine) Row {
        Amount held[kResources];
        bool is_empty() const { return held[kStreams] == 0 && held[kBytes] == 0; }
        void clear() { held[kStreams] = held[kBytes] = 0; }
    };
    struct Table {
        alignas(kLine) std::atomic<std::size_t> used_rows;  // rows at and after this index were never used
        Row rows[kRows];
    };

    void require_table() REQUIRES(engine_lock);
    bool has_table(Resource resource) REQUIRES(engine_lock);
    bool is_whole() REQUIRES(engine_lock);
    bool has_its_size(Time now) REQUIRES(engine_lock);
    Table &table() const REQUIRES(engine_lock) { return memory_->as<Table>(); }
    std::size_t used_rows() const REQUIRES(engine_lock);
    // Other processes may write any value to the table, so its numbers cannot be trusted.
    std::uint64_t others(Resource resource) const REQUIRES(engine_lock);
    std::uint64_t room(Resource resource, std::uint64_t capacity) const REQUIRES(engine_lock);
    void publish(Resource resource) REQUIRES(engine_lock);
    bool try_to_take(Resource resource, std::uint64_t amount, std::uint64_t capacity) REQUIRES(engine_lock);
    void open() REQUIRES(engine_lock);
    void clear_rows_without_owner() REQUIRES(engine_lock);
    static std::size_t byte_of(std::size_t row);

    const std::string name_;
    std::shared_ptr<SharedMemory> memory_ GUARDED_BY(engine_lock);
    std::size_t own_row_ GUARDED_BY(engine_lock) = 0;
    bool is_alone_ GUARDED_BY(engine_lock) = false;  // true without a table
    Time size_seen_ GUARDED_BY(engine_lock);         // when it was last as it must be
    Time name_seen_ GUARDED_BY(engine_lock);
    std::uint64_t held_[kResources] GUARDED_BY(engine_lock) = {};
};

// Returns the part of an error message about other processes; empty if they hold nothing or the card is nullptr.
std::string mention_others(SharedCard *card, SharedCard::Resource resource) REQUIRES(engine_lock);

}  // namespace aclsim
