#include "memory/heap.h"

namespace aclsim {
namespace {

constexpr std::uint64_t kAlignment = 512;  // asked of the driver (memory_cmo_allocator.md section 1, size rule)

}  // namespace

void *Heap::allocate(std::uint64_t size, std::uint64_t page, std::uint16_t module) {
    if (size > own_room()) {
        return nullptr;
    }
    const std::uint64_t alignment = page == kSmallPage ? kAlignment : page;
    size = round_up(size, alignment);
    if (size > own_room() || (card_ != nullptr && !card_->take(SharedCard::kBytes, size, capacity_))) {
        return nullptr;
    }
    const std::optional<std::uintptr_t> address = take(size, alignment);
    if (!address) {
        return_to_card(size);
        return nullptr;
    }
    blocks_.emplace(*address, Block{*address, size, page, module, Owner::Application});
    free_bytes_ -= size;
    Usage &usage = usage_[module];
    usage.current += size;
    usage.peak = std::max(usage.peak, usage.current);
    return reinterpret_cast<void *>(*address);
}

// The smallest free range that has room at an aligned address.
std::optional<std::uintptr_t> Heap::take(std::uint64_t size, std::uint64_t alignment) {
    for (auto found = by_size_.lower_bound({size, 0}); found != by_size_.end(); ++found) {
        const auto [bytes, begin] = *found;
        const std::uintptr_t address = round_up(begin, alignment);
        const std::uint64_t before = address - begin;
        if (before + size > bytes) {
            continue;
        }
        change_free(free_.find(begin), address + size, bytes - before - size);
        if (before > 0) {
            add_free(begin, before);
        }
        return address;
    }
    return std::nullopt;
}

std::optional<Block> Heap::release(const void *address) {
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == blocks_.end()) {
        return std::nullopt;
    }
    const Block block = found->second;
    blocks_.erase(found);
    ++returning_;
    free_bytes_ += block.size;
    return_to_card(block.size);
    usage_[block.module].current -= block.size;
    return block;
}

void Heap::reuse(const Block &block) {
    if (is_reset_) {
        reuse_all();
    } else {
        --returning_;
        add_free(block.address, block.size);
    }
}

std::optional<Block> Heap::find(const void *address) const {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const auto after = blocks_.upper_bound(wanted);
    if (after == blocks_.begin() || wanted - std::prev(after)->first >= std::prev(after)->second.size) {
        return std::nullopt;
    }
    return std::prev(after)->second;
}

bool Heap::contains(const void *address, std::uint64_t size) const {
    const std::optional<Block> block = find(address);
    return block && block->owner != Owner::Mapping &&
           size <= block->size - (reinterpret_cast<std::uintptr_t>(address) - block->address);
}

void Heap::release_all() {
    ++returning_;
    is_reset_ = true;
    blocks_.clear();
    free_.clear();
    by_size_.clear();
    usage_.clear();
    return_to_card(capacity_ - free_bytes_);
    free_bytes_ = capacity_;
}

void Heap::reuse_all() {
    if (--returning_ == 0) {
        is_reset_ = false;
        add_free(base_, capacity_);
    }
}

void Heap::add_free(std::uintptr_t address, std::uint64_t size) {
    const auto next = free_.lower_bound(address);
    const bool joins_next = next != free_.end() && next->first == address + size;
    if (joins_next) {
        size += next->second;
    }
    const auto previous = next == free_.begin() ? free_.end() : std::prev(next);
    if (previous != free_.end() && previous->first + previous->second == address) {
        if (joins_next) {
            change_free(next, 0, 0);
        }
        change_free(previous, previous->first, previous->second + size);
    } else if (joins_next) {
        change_free(next, address, size);
    } else {
        free_.emplace(address, size);
        by_size_.emplace(size, address);
    }
}

void Heap::change_free(FreeRange range, std::uintptr_t address, std::uint64_t size) {
    auto by_size = by_size_.extract({range->second, range->first});
    auto by_address = free_.extract(range);
    if (size > 0) {
        by_size.value() = {size, address};
        by_address.key() = address;
        by_address.mapped() = size;
        by_size_.insert(std::move(by_size));
        free_.insert(std::move(by_address));
    }
}

}  // namespace aclsim
