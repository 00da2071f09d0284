// A card that all processes of a machine share: its streams and its memory are for all of them together
// (hardware_seen.md sections 2.7 and 4.4).
//
// They keep one table, in which each process has a row for what it holds itself. There is no total: what is in use is
// the sum of the rows, so a process that is killed, at whatever instruction, leaves no other trace than its row. A row
// belongs to whoever has its lock, which the kernel takes back however the process ends. What is in a row without an
// owner counts until somebody needs it, or asks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/lock.h"
#include "support/shared_memory.h"

namespace aclsim {

// Guarded by the engine's lock.
class SharedCard {
  public:
    enum Resource : std::size_t { kStreams, kBytes, kResources };

    // Cards of different products, and of different numbers, have nothing in common, and neither have those of
    // different users, except with ASCEND_RT_SIM_CARDS=all-users. The table is opened at the first use, and anew if
    // another process has cut or removed it. If the host cannot share it, the process says so and has the card for
    // itself; with ASCEND_RT_SIM_CARDS=shared or all-users the use fails with ACL_ERROR_RT_RESOURCE_ALLOC_FAIL.
    SharedCard(const std::string &product, std::uint32_t number);
    // false: all processes together would hold more than the capacity.
    bool take(Resource resource, std::uint64_t amount, std::uint64_t capacity) REQUIRES(engine_lock);
    // What a process has in any case, whatever is left.
    void count(Resource resource, std::uint64_t amount) REQUIRES(engine_lock);
    void give_back(Resource resource, std::uint64_t amount) REQUIRES(engine_lock);
    std::uint64_t held_by_others(Resource resource) REQUIRES(engine_lock);
    std::uint64_t left(Resource resource, std::uint64_t capacity) REQUIRES(engine_lock);

  private:
    using Amount = std::atomic<std::uint64_t>;
    static_assert(Amount::is_always_lock_free, "processes share it");
    static constexpr std::size_t kLine = 64;  // rows do not share a cache line
    static constexpr std::size_t kRows = 1024;
    struct alignas(kLine) Row {
        Amount held[kResources];
        bool is_empty() const { return held[kStreams] == 0 && held[kBytes] == 0; }
        void clear() { held[kStreams] = held[kBytes] = 0; }
    };
    struct Table {
        alignas(kLine) std::atomic<std::size_t> used_rows;  // none behind them was ever used
        Row rows[kRows];
    };
    class Turn;

    void require_table() REQUIRES(engine_lock);
    bool has_table(Resource resource) const REQUIRES(engine_lock);
    Table &table() const REQUIRES(engine_lock) { return memory_->as<Table>(); }
    std::size_t used_rows() const REQUIRES(engine_lock);
    // Another process may write anything to the table: a number that is read there proves nothing.
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
    bool is_alone_ GUARDED_BY(engine_lock) = false;  // without a table
    std::uint64_t held_[kResources] GUARDED_BY(engine_lock) = {};
};

// What the failure of a request says of the other processes; nothing if they hold nothing, or nullptr is passed.
std::string mention_others(SharedCard *card, SharedCard::Resource resource) REQUIRES(engine_lock);

}  // namespace aclsim
