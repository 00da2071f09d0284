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
class AddressSpace;
struct Device;

// Points in streams: a block is no longer used once each stream has passed its own. Streams that are gone have passed
// theirs.
class Fence {
  public:
    void add(const Ref<const Stream> &stream, std::uint64_t sequence);
    void merge(const Fence &other);
    bool has_same_streams(const Fence &other) const;
    bool has_passed() const;
    void add_causes(Causes &causes) const;  // the points that are not passed
    template <class Predicate>              // of a stream that is not gone, and a sequence number
    bool all_of(Predicate predicate) const {
        return std::all_of(entries_.begin(), entries_.end(), [&](const Entry &entry) {
            return entry.stream->is_destroyed || predicate(*entry.stream, entry.sequence);
        });
    }
    template <class Function>
    void for_each(Function function) const {
        for (const Entry &entry : entries_) {
            function(Point{entry.stream->serial, entry.sequence});
        }
    }

  private:
    struct Entry {
        Ref<const Stream> stream;
        std::uint64_t sequence;
        bool has_passed() const { return stream->is_destroyed || stream->is_done(sequence); }
    };
    std::vector<Entry> entries_;
};

// Guarded by the engine's lock.
class MemoryPool final : public Object {
  public:
    static constexpr Kind kKind = Kind::MemoryPool;
    static constexpr std::uint64_t kGranularity = 2ULL << 20;

    MemoryPool(Device &owner, AddressSpace &memory, std::uint64_t size);

    // The address of a block of so many bytes, a multiple of the granularity; nullptr when the pool is exhausted. The
    // stream must not touch it before the fence.
    void *allocate(std::uint64_t bytes, const Stream &stream, const StreamOrder &order, Fence &fence);
    enum class State : std::uint8_t { Outside, Used, NotUsed };
    State state_of(const void *address) const;
    void release(const void *address, const Fence &fence);  // of a used block
    // Gives cached reservations that are not used back to the device, as long as this many bytes remain.
    void trim(std::uint64_t keep);
    // The pool is destroyed: what is still used is lost, what was freed goes back when its streams are done with it.
    void abandon();
    const std::map<std::uintptr_t, std::uint64_t> &reservations() const { return reservations_; }
    bool is_abandoned() const { return is_abandoned_; }
    // The device's memory is gone.
    void forget();

    std::uint64_t &attribute(aclrtMemPoolAttr attribute) { return attributes_[attribute]; }
    std::uint64_t used() const { return attributes_[ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT]; }
    std::uint64_t reserved() const { return attributes_[ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT]; }

    Device &device;
    const std::uint64_t size;
    Waiters waiters;  // streams that wait for a block to be freed

  private:
    struct Block {
        std::uint64_t size;
        bool is_used;
        Fence fence;  // of a used block: what its user waits for
    };
    using Blocks = std::map<std::uintptr_t, Block>;

    template <class Predicate>
    Blocks::iterator find_cached(std::uint64_t bytes, Predicate may_have);
    Blocks::iterator reserve(std::uint64_t bytes);
    void *take(Blocks::iterator block, std::uint64_t bytes, Fence &fence);
    void cache(Blocks::iterator block);
    void uncache(Blocks::iterator block) { cached_.erase({block->second.size, block->first}); }
    bool can_join(Blocks::iterator block, Blocks::iterator next) const;
    bool join(Blocks::iterator block);  // with the next one
    void join_all();
    void count(aclrtMemPoolAttr current, aclrtMemPoolAttr high, std::uint64_t bytes);

    AddressSpace &memory_;
    bool is_abandoned_ = false;
    std::uint64_t attributes_[ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH + 1] = {};
    std::map<std::uintptr_t, std::uint64_t> reservations_;       // address -> size
    Blocks blocks_;                                              // the reservations, without gaps
    std::set<std::pair<std::uint64_t, std::uintptr_t>> cached_;  // smallest first, then lowest address
};

// The pools of all devices.
class MemoryPools {
  public:
    // Of an allocation or a free that a stream comes to: observers know it by that.
    std::uint64_t next_number() { return ++numbers_; }
    Ref<MemoryPool> create(Memory &memory, Device &device, std::uint64_t size);
    void destroy(Memory &memory, MemoryPool &pool);
    // The pool that the address lies in, or nullptr.
    Ref<MemoryPool> pool_of(const void *address) const;
    // A stream of the device was synchronized: releases what the pools hold above their thresholds.
    void trim(const Device &device);
    // The device is reset: its pools are gone, with all their memory.
    void close(Memory &memory, const Device &device);

  private:
    std::vector<Ref<MemoryPool>> pools_;  // those that are destroyed stay while they hold memory
    std::uint64_t numbers_ = 0;
};

// Engine lock held. The stream has been admitted. nullptr: the pool is exhausted.
void *allocate_in_stream(Memory &memory, Stream &stream, const Ref<MemoryPool> &pool, std::uint64_t size);
[[noreturn]] void fail_exhausted(Memory &memory, const MemoryPool &pool, std::uint64_t size);
// Memory of a pool, or of aclrtMalloc. Fails with ACL_ERROR_RT_PARAM_INVALID for an address inside a pool that is not
// the start of a used block.
void free_in_stream(Memory &memory, Stream &stream, void *address);
// aclrtFree: at once, whatever streams still do with the memory. false if the address is in no pool.
bool free_into_pool(Memory &memory, void *address);

}  // namespace aclsim
