#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "error.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace aclsim {
namespace {

constexpr std::uint64_t kAlignment = 512;        // what the runtime asks of the driver (section 1, size rule)
constexpr std::uint64_t kHugePage = 2ULL << 20;  // blocks above 1 MiB live in huge pages (section 1, page rule)
constexpr std::uint64_t kHugeThreshold = 1ULL << 20;
constexpr std::uint64_t kSmallestSlot = 64ULL << 30;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

std::uint64_t slot_size(std::uint64_t device_memory) {
    std::uint64_t size = kSmallestSlot;
    while (size < device_memory) {
        size *= 2;
    }
    return size;
}

// Gives the pages of a block back to the host. Small blocks keep theirs: they are likely to be used again at once.
void return_pages(std::uintptr_t address, std::uint64_t size) {
    if (size >= kHugePage) {
        madvise(reinterpret_cast<void *>(address), size, MADV_DONTNEED);
    }
}

}  // namespace

void *Heap::allocate(std::uint64_t size) {
    if (size > free_bytes()) {
        return nullptr;
    }
    size = round_up(size, size > kHugeThreshold ? kHugePage : kAlignment);
    if (size > free_bytes()) {
        return nullptr;
    }
    const auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) {
        return nullptr;
    }
    const auto range = free_.find(found->second);
    const std::uintptr_t address = range->first;
    const std::uint64_t rest = range->second - size;
    remove_free(range);
    if (rest > 0) {
        add_free(address + size, rest);
    }
    blocks_.emplace(address, size);
    free_bytes_ -= size;
    return reinterpret_cast<void *>(address);
}

bool Heap::release(const void *address) {
    const auto block = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
    if (block == blocks_.end()) {
        return false;
    }
    return_pages(block->first, block->second);
    free_bytes_ += block->second;
    add_free(block->first, block->second);
    blocks_.erase(block);
    return true;
}

bool Heap::contains(const void *address, std::uint64_t size) const {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address);
    auto block = blocks_.upper_bound(begin);
    if (block == blocks_.begin()) {
        return false;
    }
    --block;
    const std::uint64_t offset = begin - block->first;
    return offset < block->second && size <= block->second - offset;
}

void Heap::release_all() {
    for (const auto &[address, size] : blocks_) {
        return_pages(address, size);
    }
    blocks_.clear();
    free_.clear();
    by_size_.clear();
    free_bytes_ = capacity_;
    add_free(base_, capacity_);
}

void Heap::add_free(std::uintptr_t address, std::uint64_t size) {
    const auto next = free_.lower_bound(address);
    if (next != free_.end() && next->first == address + size) {
        size += next->second;
        remove_free(next);
    }
    const auto after = free_.lower_bound(address);
    if (after != free_.begin()) {
        const auto previous = std::prev(after);
        if (previous->first + previous->second == address) {
            address = previous->first;
            size += previous->second;
            remove_free(previous);
        }
    }
    free_.emplace(address, size);
    by_size_.emplace(size, address);
}

void Heap::remove_free(std::map<std::uintptr_t, std::uint64_t>::iterator range) {
    by_size_.erase({range->second, range->first});
    free_.erase(range);
}

AddressSpace::AddressSpace(std::uint32_t devices, std::uint64_t device_memory) : stride_(slot_size(device_memory)) {
    const std::uint64_t size = stride_ * (devices + 1) + kHugePage;
    void *range = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
             "cannot reserve %llu GiB of address space (%s); lower ASCEND_RT_SIM_DEVICES or raise ulimit -v",
             static_cast<unsigned long long>(size >> 30), std::strerror(errno));
    }
#ifdef MADV_DONTDUMP
    madvise(range, size, MADV_DONTDUMP);
#endif
    base_ = round_up(reinterpret_cast<std::uintptr_t>(range), kHugePage);
    heaps_.reserve(devices + 1);
    heaps_.emplace_back(base_, stride_);
    for (std::uint32_t device = 0; device < devices; ++device) {
        heaps_.emplace_back(base_ + stride_ * (device + 1), device_memory);
    }
}

Location AddressSpace::locate(const void *address) const {
    const std::uint64_t slot = (reinterpret_cast<std::uintptr_t>(address) - base_) / stride_;
    if (reinterpret_cast<std::uintptr_t>(address) < base_ || slot >= heaps_.size()) {
        return {};
    }
    return slot == 0 ? Location{Place::Pinned, 0} : Location{Place::Device, static_cast<std::uint32_t>(slot - 1)};
}

Heap *AddressSpace::heap_of(const void *address) {
    const Location location = locate(address);
    switch (location.place) {
        case Place::Pinned:
            return &pinned();
        case Place::Device:
            return &device(location.device);
        case Place::Unregistered:
            break;
    }
    return nullptr;
}

}  // namespace aclsim
