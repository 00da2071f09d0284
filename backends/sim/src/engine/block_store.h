// SPDX-License-Identifier: Apache-2.0
// Memory for objects that are created and destroyed under the engine lock, often on different threads: a free list
// under that lock is much cheaper than the general allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/lock.h"

namespace aclsim {

// Free lists of returned blocks, by size.
class BlockLists {
  public:
    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLargest = 256;
    static constexpr std::size_t rounded(std::size_t size) { return size_class(size) * kStep; }

    void *take(std::size_t size) REQUIRES(engine_lock);  // nullptr: none of that size
    void add(void *block, std::size_t size) REQUIRES(engine_lock);
    std::size_t count(std::size_t size) const REQUIRES(engine_lock) { return lists_[size_class(size)].count; }

  private:
    struct List {
        struct Block {
            Block *next;
        };
        Block *first = nullptr;
        std::size_t count = 0;
    };
    static constexpr std::size_t size_class(std::size_t size) { return (size + kStep - 1) / kStep; }

    List lists_[kLargest / kStep + 1] GUARDED_BY(engine_lock){};
};

// Store of blocks from the general allocator. Blocks beyond a few thousand go back to it, so that a queue that was once
// long does not keep its memory. A block may be returned to a different store.
class alignas(64) TaskStore {
  public:
    void *take(std::size_t size) REQUIRES(engine_lock);
    void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kKept = 4096;
    BlockLists returned_;
};

// Store of blocks cut from chunks that are kept: the general allocator takes ten times as long for an aligned block.
// Blocks do not share cache lines, and return to the store they came from, because threads of different devices use
// their objects at the same time.
class alignas(64) ObjectStore {
  public:
    void *take(std::size_t size) REQUIRES(engine_lock);
    static void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kChunk = 16384;
    struct Chunk;
    void *carve(std::size_t size) REQUIRES(engine_lock);

    BlockLists returned_;
    char *rest_ GUARDED_BY(engine_lock) = nullptr;  // rest of the newest chunk
    std::size_t left_ GUARDED_BY(engine_lock) = 0;  // bytes
};

inline std::array<TaskStore, Shards::kMost + 1> task_memory;  // one per shard, and one for the global lock
inline std::array<ObjectStore, Shards::kMost> object_memory;  // one per shard

// Not analysed: the thread that releases the last reference holds the lock (support/ref.h).
inline void *take_object(std::size_t size, std::uint32_t shard) NO_THREAD_SAFETY_ANALYSIS {
    return object_memory[shard].take(size);
}
inline void give_back_object(void *block, std::size_t size) NO_THREAD_SAFETY_ANALYSIS {
    ObjectStore::give_back(block, size);
}

}  // namespace aclsim
