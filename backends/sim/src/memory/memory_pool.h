// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools (memory_cmo_allocator.md section 9).
//
// A pool reserves memory from its device's heap and cuts each reservation into blocks. A block is used or cached. A
// cached block remembers the points in the streams at which it was freed; they decide which stream may take it next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "engine/stream.h"
#include "engine/stream_order.h"
#include "engine/waiters.h"

namespace aclsim {

class Memory;
struct Device;

// Points in streams: a block is no longer in use once each stream has passed its point. Destroyed streams count as
// having passed.
class Fence {
  public:
    static constexpr std::uint64_t kEndOfStream = UINT64_MAX;  // passed when the stream is destroyed
    void add(const Ref<const Stream> &stream, std::uint64_t sequence) REQUIRES(engine_lock);
    void remove(const Stream &stream) REQUIRES(engine_lock);
    void merge(const Fence &other) REQUIRES(engine_lock);
    bool has_same_streams(const Fence &other) const REQUIRES(engine_lock);
    bool has_passed() const REQUIRES(engine_lock);
    void add_causes(Causes &causes) const REQUIRES(engine_lock);  // points not passed yet
    template <class Predicate>                                    // takes a live stream and a sequence number
    bool all_of(Predicate predicate) const REQUIRES(engine_lock) {
        return std::all_of(entries_.begin(), entries_.end(), [&](const Entry &entry) REQUIRES(engine_lock) {
            return entry.stream->is_destroyed || predicate(*entry.stream, entry.sequence);
        });
    }
    template <class Function>
    void for_each(Function function) const REQUIRES(engine_lock) {
        for (const Entry &entry : entries_) {
            function(Point{entry.stream->serial, entry.sequence});
        }
    }

  private:
    struct Entry {
        Ref<const Stream> stream;
        std::uint64_t sequence;
        bool has_passed() const REQUIRES(engine_lock) { return stream->is_destroyed || stream->is_done(sequence); }
    };
    std::vector<Entry> entries_ GUARDED_BY(engine_lock);
};

// Guarded by the engine lock.
class MemoryPool final : public Object {
  public:
    static constexpr Kind kKind = Kind::MemoryPool;
    static constexpr std::uint64_t kGranularity = 2ULL << 20;

    // Owner of the reservation that begins at an address, for all pools of a device.
    using Owners = std::map<std::uintptr_t, MemoryPool *>;

    MemoryPool(Device &owner, Memory &memory, Owners &owners, std::uint64_t number, std::uint64_t size);

    // Returns the address of a block of the given size, a multiple of the granularity; nullptr if the pool is
    // exhausted. The stream must not touch the block before the fence.
    void *allocate(std::uint64_t bytes, const Stream &stream, const StreamOrder &order, Fence &fence)
        REQUIRES(engine_lock);
    enum class State : std::uint8_t { Outside, Used, NotUsed };
    State state_of(const void *address) const REQUIRES(engine_lock);
    std::uint64_t size_of(const void *address) const REQUIRES(engine_lock);  // requires a used block
    // End the use of a block: note_fence() adds a fence for its next users, and release() frees it and cannot fail.
    void note_fence(const void *address, const Fence &fence) REQUIRES(engine_lock);
    void release(const void *address) REQUIRES(engine_lock);
    // Frees cached reservations that are not in use, as long as this many bytes remain: from the last one to the first,
    // in slices.
    struct Trim {
        std::uint64_t keep = 0;
        bool has_begun = false;
        std::uintptr_t before = UINTPTR_MAX;  // reservations from here on are done
        std::uintptr_t block = 0;             // where to continue in the one below, unless another one contains it
    };
    // Returns true if there is more to do. Calls `is_enough` for every block.
    template <class IsEnough>
    bool trim(Trim &trim, IsEnough is_enough) REQUIRES(engine_lock);
    // Destroys the pool: used blocks are lost, and freed memory is returned when its streams are done with it. A trim
    // must follow.
    void abandon() REQUIRES(engine_lock);
    bool is_abandoned() const REQUIRES(engine_lock) { return is_abandoned_; }
    // Ends the use of the pool, because the memory of the device is gone. Only forget() may follow.
    void close() REQUIRES(engine_lock) { is_abandoned_ = true; }
    // Forgets all memory, in slices. Returns true if there is more to do.
    template <class IsEnough>
    bool forget(IsEnough is_enough) REQUIRES(engine_lock);

    std::uint64_t &attribute(aclrtMemPoolAttr attribute) REQUIRES(engine_lock) { return attributes_[attribute]; }
    std::uint64_t used() const REQUIRES(engine_lock) { return attributes_[ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT]; }
    std::uint64_t reserved() const REQUIRES(engine_lock) {
        return attributes_[ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT];
    }

    Device &device;
    const std::uint64_t number;  // order of creation
    const std::uint64_t size;
    Waiters waiters;  // streams that wait for a block to be freed

  private:
    struct Block {
        std::uint64_t size;
        bool is_used;
        Fence fence;  // points that the user of a used block waits for
    };
    using Blocks = std::map<std::uintptr_t, Block>;

    template <class Predicate>
    Blocks::iterator find_cached(std::uint64_t bytes, Predicate may_have) REQUIRES(engine_lock);
    Blocks::iterator reserve(std::uint64_t bytes) REQUIRES(engine_lock);
    void *take(Blocks::iterator block, std::uint64_t bytes, Fence &fence) REQUIRES(engine_lock);
    void cache(Blocks::iterator block) REQUIRES(engine_lock);
    void cache_all() REQUIRES(engine_lock);  // caches all blocks not in use
    void uncache(Blocks::iterator block) REQUIRES(engine_lock) { cached_.erase({block->second.size, block->first}); }
    bool can_join(Blocks::iterator block, Blocks::iterator next) const REQUIRES(engine_lock);
    bool join(Blocks::iterator block) REQUIRES(engine_lock);  // joins it with the next block
    void join_all() REQUIRES(engine_lock);
    using Reservations = std::map<std::uintptr_t, std::uint64_t>;  // address -> size
    template <class IsEnough>
    bool join_within(Reservations::iterator reservation, std::uintptr_t &at, IsEnough is_enough) REQUIRES(engine_lock);
    void lose_used(Blocks::iterator block) REQUIRES(engine_lock);
    void give_back_idle(Reservations::iterator reservation) REQUIRES(engine_lock);
    void count(aclrtMemPoolAttr current, aclrtMemPoolAttr high, std::uint64_t bytes) REQUIRES(engine_lock);

    Memory &memory_;
    Owners &owners_ GUARDED_BY(engine_lock);
    bool is_abandoned_ GUARDED_BY(engine_lock) = false;
    std::uint64_t attributes_[ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH + 1] = {};
    std::uintptr_t lost_from_ GUARDED_BY(engine_lock) = UINTPTR_MAX;  // observers know of the loss from here on
    Reservations reservations_ GUARDED_BY(engine_lock);
    Blocks blocks_ GUARDED_BY(engine_lock);  // the reservations, without gaps
    // Order: size, then address.
    std::set<std::pair<std::uint64_t, std::uintptr_t>> cached_ GUARDED_BY(engine_lock);
    bool has_uncached_ GUARDED_BY(engine_lock) = false;  // unused blocks missing in the list
};

// Pools of all devices.
class MemoryPools {
  public:
    // Returns a number by which observers identify an allocation or a free that a stream reaches later.
    std::uint64_t next_number() REQUIRES(engine_lock) { return ++numbers_; }
    Ref<MemoryPool> create(Memory &memory, Device &device, std::uint64_t size) REQUIRES(engine_lock);
    void destroy(Memory &memory, MemoryPool &pool) REQUIRES(engine_lock);
    // Returns the pool that contains the address, or nullptr.
    Ref<MemoryPool> pool_of(const void *address) const REQUIRES(engine_lock);
    // Records that the pool may have reserved memory.
    void note_use(MemoryPool &pool) REQUIRES(engine_lock) { in_use_.emplace(pool.number, &pool); }
    bool empty() const REQUIRES(engine_lock) { return pools_.empty(); }
    // Trims in slices, and only what was there when the call began.
    void trim(Memory &memory, const MemoryPool &pool, std::uint64_t keep) REQUIRES(engine_lock);
    // Frees the memory that the pools hold above their thresholds, when a stream of the device was synchronized.
    void trim(Memory &memory, const Device &device) REQUIRES(engine_lock);
    // Drops the pools of a device that is reset, with all their memory.
    void close(Memory &memory, const Device &device) REQUIRES(engine_lock);

  private:
    class Trimming;
    class Closing;
    // Pools by number.
    using Pools = std::map<std::uint64_t, Ref<MemoryPool>>;
    void drop_if_empty(Core &core, MemoryPool &pool) REQUIRES(engine_lock);

    Pools pools_ GUARDED_BY(engine_lock);  // destroyed pools stay while they hold memory
    std::map<std::uint64_t, MemoryPool *> in_use_ GUARDED_BY(engine_lock);  // pools that hold memory, and a few more
    std::map<const Device *, MemoryPool::Owners> owners_ GUARDED_BY(engine_lock);
    std::uint64_t created_ GUARDED_BY(engine_lock) = 0;
    std::uint64_t numbers_ GUARDED_BY(engine_lock) = 0;
};

// Requires the engine lock, and a stream that has admitted the task. Returns nullptr if the pool is exhausted.
void *allocate_in_stream(Memory &memory, Stream &stream, const Ref<MemoryPool> &pool, std::uint64_t size)
    REQUIRES(engine_lock);
[[noreturn]] void fail_exhausted(Memory &memory, const MemoryPool &pool, std::uint64_t size) REQUIRES(engine_lock);
// Frees memory of a pool or of aclrtMalloc. Fails with ACL_ERROR_RT_PARAM_INVALID for an address inside a pool that is
// not the start of a used block.
void free_in_stream(Memory &memory, Stream &stream, void *address) REQUIRES(engine_lock);
// Implements aclrtFree: frees at once, even if streams still use the memory. Returns false if the address is in no
// pool.
bool free_into_pool(Memory &memory, void *address) REQUIRES(engine_lock);

}  // namespace aclsim
