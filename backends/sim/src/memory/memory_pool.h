// Stream-ordered memory pools (memory_cmo_allocator.md section 9).
//
// A pool reserves memory from its device's heap and cuts each reservation into blocks. A block is used or cached. A
// cached block remembers where in which streams it was freed: that is what decides who may have it next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "engine/registry.h"
#include "engine/waiters.h"

namespace aclsim {

class Engine;
class AddressSpace;
class Stream;
struct Device;

// Points in streams: nobody works with a block any more once each stream has passed its own. Streams that are gone are
// passed.
class Fence {
  public:
    void add(const std::shared_ptr<Stream> &stream, std::uint64_t sequence);
    void merge(const Fence &other);
    bool has_same_streams(const Fence &other) const;
    std::shared_ptr<Stream> first_pending() const;
    bool has_passed() const { return first_pending() == nullptr; }
    template <class Predicate>  // of a stream and a sequence number
    bool all_of(Predicate predicate) const {
        for (const Point &point : points_) {
            const auto stream = point.stream.lock();
            if (stream && !predicate(*stream, point.sequence)) {
                return false;
            }
        }
        return true;
    }

  private:
    struct Point {
        std::weak_ptr<Stream> stream;
        std::uint64_t sequence;
    };
    std::vector<Point> points_;
};

// Which streams come after which points of others, because they wait for events recorded there.
class StreamLinks {
  public:
    void add(const Stream &waiting, const void *recorded, std::uint64_t sequence);
    bool has(const Stream &waiting, const Stream &recorded, std::uint64_t sequence) const;
    void forget_dead(const Registry &registry);

  private:
    std::map<std::pair<const void *, const void *>, std::uint64_t> links_;  // by handles: (waiting, recorded)
    std::size_t worth_a_look_ = 64;                                         // a size at which some are likely dead
};

// Guarded by the engine's lock.
class MemoryPool final : public Object {
  public:
    static constexpr Kind kKind = Kind::MemoryPool;
    static constexpr std::uint64_t kGranularity = 2ULL << 20;

    MemoryPool(Device &owner, AddressSpace &memory, std::uint64_t size);

    // The address of a block of so many bytes, a multiple of the granularity; nullptr when the pool is exhausted. The
    // stream must not touch it before the fence.
    void *allocate(std::uint64_t bytes, const Stream &stream, const StreamLinks &links, Fence &fence);
    enum class State : std::uint8_t { Outside, Used, NotUsed };
    State state_of(const void *address) const;
    void release(const void *address, const Fence &fence);  // of a used block
    // Gives cached reservations that nobody works with back to the device, as long as so many bytes remain.
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
    std::shared_ptr<MemoryPool> create(Engine &engine, Device &device, std::uint64_t size);
    void destroy(Engine &engine, MemoryPool &pool);
    // The pool that the address lies in, or nullptr.
    std::shared_ptr<MemoryPool> pool_of(const void *address) const;
    // A stream waits for an event that was recorded as that task of another stream.
    void link(Engine &engine, const Stream &waiting, const void *recorded, std::uint64_t sequence);
    const StreamLinks &links() const { return links_; }
    // A stream of the device was synchronized: releases what the pools hold above their thresholds.
    void trim(const Device &device);
    // The device is reset: its pools are gone, with all their memory.
    void close(Engine &engine, const Device &device);

  private:
    std::vector<std::shared_ptr<MemoryPool>> pools_;  // those that are destroyed stay while they hold memory
    StreamLinks links_;
};

// Engine lock held. The stream has been admitted.
void *allocate_in_stream(Engine &engine, Stream &stream, const std::shared_ptr<MemoryPool> &pool, std::uint64_t size);
// Memory of a pool, or of aclrtMalloc. Fails with ACL_ERROR_RT_PARAM_INVALID for an address inside a pool that is not
// the start of a used block.
void free_in_stream(Engine &engine, Stream &stream, void *address);
// aclrtFree: at once, without a look at what streams do with the memory. false if the address is in no pool.
bool free_into_pool(Engine &engine, void *address);

}  // namespace aclsim
