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

constexpr std::align_val_t kLine{64};

}  // namespace

void *BlockStore::take(std::size_t size) {
    if (!kRecycles || size > kLargest) {
        return allocate(size);
    }
    Returned &returned = returned_[size_class(size)];
    if (returned.first == nullptr) {
        const std::size_t block = size_class(size) * kStep;
        return source_ == Source::Chunks ? carve(block) : allocate(block);
    }
    --returned.count;
    return std::exchange(returned.first, returned.first->next);
}

void BlockStore::give_back(void *block, std::size_t size) {
    Returned *const returned = kRecycles && size <= kLargest ? &returned_[size_class(size)] : nullptr;
    if (returned == nullptr || (source_ == Source::Allocator && returned->count == kKept)) {
        free(block);
        return;
    }
    ++returned->count;
    returned->first = new (block) Returned::Block{returned->first};
}

void *BlockStore::carve(std::size_t size) {
    if (left_ < size) {  // what is left is lost: less than one block
        chunk_ = static_cast<char *>(allocate(kChunk));
        left_ = kChunk;
    }
    left_ -= size;
    return std::exchange(chunk_, chunk_ + size);
}

void *BlockStore::allocate(std::size_t size) const {
    return source_ == Source::Chunks ? ::operator new(size, kLine) : ::operator new(size);
}

void BlockStore::free(void *block) const {
    if (source_ == Source::Chunks) {
        ::operator delete(block, kLine);
    } else {
        ::operator delete(block);
    }
}

}  // namespace aclsim
