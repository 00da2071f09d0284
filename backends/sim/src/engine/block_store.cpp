// SPDX-License-Identifier: Apache-2.0
#include "engine/block_store.h"

#include <new>
#include <utility>

namespace aclsim {
namespace {

// Bypass recycling so that the address sanitizer detects every use of freed memory.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

constexpr std::align_val_t kLine{64};

bool is_kept(std::size_t size) { return kRecycles && size <= BlockLists::kLargest; }

}  // namespace

void *BlockLists::take(std::size_t size) {
    List &list = lists_[size_class(size)];
    if (list.first == nullptr) {
        return nullptr;
    }
    --list.count;
    return std::exchange(list.first, list.first->next);
}

void BlockLists::add(void *block, std::size_t size) {
    List &list = lists_[size_class(size)];
    ++list.count;
    list.first = new (block) List::Block{list.first};
}

void *TaskStore::take(std::size_t size) {
    if (!is_kept(size)) {
        return ::operator new(size);
    }
    void *const block = returned_.take(size);
    return block != nullptr ? block : ::operator new(BlockLists::rounded(size));
}

void TaskStore::give_back(void *block, std::size_t size) {
    if (is_kept(size) && returned_.count(size) < kKept) {
        returned_.add(block, size);
    } else {
        ::operator delete(block);
    }
}

// Header in the first line of a chunk, whose address is a multiple of its size: identifies the owner.
struct alignas(64) ObjectStore::Chunk {
    ObjectStore *owner;
    static Chunk &of(void *block) {
        return *reinterpret_cast<Chunk *>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunk - 1));
    }
};

void *ObjectStore::take(std::size_t size) {
    if (!is_kept(size)) {
        return ::operator new(size, kLine);
    }
    void *const block = returned_.take(size);
    return block != nullptr ? block : carve(BlockLists::rounded(size));
}

void ObjectStore::give_back(void *block, std::size_t size) {
    if (is_kept(size)) {
        Chunk::of(block).owner->returned_.add(block, size);
    } else {
        ::operator delete(block, kLine);
    }
}

void *ObjectStore::carve(std::size_t size) {
    if (left_ < size) {  // discards the rest of the chunk: less than one block
        void *const chunk = ::operator new(kChunk, std::align_val_t{kChunk});
        new (chunk) Chunk{this};
        rest_ = static_cast<char *>(chunk) + sizeof(Chunk);
        left_ = kChunk - sizeof(Chunk);
    }
    left_ -= size;
    return std::exchange(rest_, rest_ + size);
}

}  // namespace aclsim
