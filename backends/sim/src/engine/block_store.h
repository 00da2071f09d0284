// Memory of what comes and goes with the engine lock held, often on different threads: a list of returned blocks under
// that lock is much cheaper than the general allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/lock.h"

namespace aclsim {

class BlockStore {
  public:
    enum class Source : std::uint8_t {
        // A block for itself from the general allocator, which gets back what is more than a few thousand: a queue that
        // was long once does not keep its memory.
        Allocator,
        // Neighbours in chunks that are kept: a block with an alignment takes the general allocator ten times as long.
        // Each has cache lines of its own, because threads of different devices use their objects at the same time.
        Chunks,
    };
    explicit constexpr BlockStore(Source source) : source_(source) {}
    void *take(std::size_t size) REQUIRES(engine_lock);
    void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLargest = 256;
    static constexpr std::size_t kChunk = 16384;
    static constexpr std::size_t kKept = 4096;

    struct Returned {
        struct Block {
            Block *next;
        };
        Block *first = nullptr;
        std::size_t count = 0;
    };
    static constexpr std::size_t size_class(std::size_t size) { return (size + kStep - 1) / kStep; }
    void *carve(std::size_t size) REQUIRES(engine_lock);
    void *allocate(std::size_t size) const;
    void free(void *block) const;

    const Source source_;
    char *chunk_ GUARDED_BY(engine_lock) = nullptr;  // the rest of it
    std::size_t left_ GUARDED_BY(engine_lock) = 0;
    Returned returned_[kLargest / kStep + 1] GUARDED_BY(engine_lock){};  // by size
};

inline BlockStore task_memory(BlockStore::Source::Allocator);
inline BlockStore object_memory(BlockStore::Source::Chunks);

// Not analysed: whoever gives back the last reference has the lock (support/ref.h).
inline void *take_object(std::size_t size) NO_THREAD_SAFETY_ANALYSIS { return object_memory.take(size); }
inline void give_back_object(void *block, std::size_t size) NO_THREAD_SAFETY_ANALYSIS {
    object_memory.give_back(block, size);
}

}  // namespace aclsim
