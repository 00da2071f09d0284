// Memory of what comes and goes with the engine lock held, often on different threads: a list of returned blocks under
// that lock is much cheaper than the general allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/lock.h"

namespace aclsim {

// The returned blocks, by size.
class BlockLists {
  public:
    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLargest = 256;
    static constexpr std::size_t rounded(std::size_t size) { return size_class(size) * kStep; }

    void *take(std::size_t size) REQUIRES(engine_lock);  // nullptr: there is none
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

// Each block is one of the general allocator, which gets back what is more than a few thousand: a queue that was long
// once does not keep its memory. A block may be given back to another store than it is from.
class alignas(64) TaskStore {
  public:
    void *take(std::size_t size) REQUIRES(engine_lock);
    void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kKept = 4096;
    BlockLists returned_;
};

// Neighbours in chunks that are kept: a block with an alignment takes the general allocator ten times as long. Each has
// cache lines of its own, and goes back to the store it is from, because threads of different devices use their objects
// at the same time.
class alignas(64) ObjectStore {
  public:
    void *take(std::size_t size) REQUIRES(engine_lock);
    static void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kChunk = 16384;
    struct Chunk;
    void *carve(std::size_t size) REQUIRES(engine_lock);

    BlockLists returned_;
    char *rest_ GUARDED_BY(engine_lock) = nullptr;  // of the newest chunk
    std::size_t left_ GUARDED_BY(engine_lock) = 0;  // bytes
};

inline std::array<TaskStore, Shards::kMost + 1> task_memory;  // of each shard, and of the global lock
inline std::array<ObjectStore, Shards::kMost> object_memory;  // of each shard

// Not analysed: whoever gives back the last reference has the lock (support/ref.h).
inline void *take_object(std::size_t size, std::uint32_t shard) NO_THREAD_SAFETY_ANALYSIS {
    return object_memory[shard].take(size);
}
inline void give_back_object(void *block, std::size_t size) NO_THREAD_SAFETY_ANALYSIS {
    ObjectStore::give_back(block, size);
}

}  // namespace aclsim
