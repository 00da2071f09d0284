#include "engine/block_store.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

// The address sanitizer should see every use of freed memory.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

}  // namespace

void *BlockStore::take(std::size_t size) {
    if (!kRecycles || size > kLargest) {
        return allocate(size);
    }
    Returned &returned = returned_[size_class(size)];
    if (returned.first == nullptr) {
        return allocate(size_class(size) * kStep);
    }
    --returned.count;
    return std::exchange(returned.first, returned.first->next);
}

void BlockStore::give_back(void *block, std::size_t size) {
    Returned *const returned = size > kLargest ? nullptr : &returned_[size_class(size)];
    if (!kRecycles || returned == nullptr || returned->count == kKept) {
        free(block);
        return;
    }
    ++returned->count;
    returned->first = new (block) Returned::Block{returned->first};
}

void *BlockStore::allocate(std::size_t size) const {
    return alignment_ > alignof(std::max_align_t) ? ::operator new(size, std::align_val_t(alignment_))
                                                  : ::operator new(size);
}

void BlockStore::free(void *block) const {
    if (alignment_ > alignof(std::max_align_t)) {
        ::operator delete(block, std::align_val_t(alignment_));
    } else {
        ::operator delete(block);
    }
}

}  // namespace aclsim
