// Memory of what comes and goes with the engine lock held, often on different threads: a list of returned blocks under
// that lock is much cheaper than the general allocator.
#pragma once

#include <cstddef>

#include "engine/lock.h"

namespace aclsim {

class BlockStore {
  public:
    // All blocks have that alignment. A new one with more than the general allocator's own takes ten times as long.
    explicit constexpr BlockStore(std::size_t alignment) : alignment_(alignment) {}
    void *take(std::size_t size) REQUIRES(engine_lock);
    void give_back(void *block, std::size_t size) REQUIRES(engine_lock);

  private:
    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLargest = 256;
    // The rest goes back to the general allocator, so that a queue that was long once does not keep its memory.
    static constexpr std::size_t kKept = 4096;

    struct Returned {
        struct Block {
            Block *next;
        };
        Block *first = nullptr;
        std::size_t count = 0;
    };
    static constexpr std::size_t size_class(std::size_t size) { return (size + kStep - 1) / kStep; }
    void *allocate(std::size_t size) const;
    void free(void *block) const;

    const std::size_t alignment_;
    Returned returned_[kLargest / kStep + 1] GUARDED_BY(engine_lock){};  // by size
};

inline BlockStore task_memory(alignof(std::max_align_t));
// Of objects that threads of different devices use at the same time, each its own: none shares a cache line.
inline BlockStore object_memory(64);

// Not analysed: whoever gives back the last reference has the lock (support/ref.h).
inline void *take_object(std::size_t size) NO_THREAD_SAFETY_ANALYSIS { return object_memory.take(size); }
inline void give_back_object(void *block, std::size_t size) NO_THREAD_SAFETY_ANALYSIS {
    object_memory.give_back(block, size);
}

}  // namespace aclsim
