// SPDX-License-Identifier: Apache-2.0
#include "memory/managed_memory.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "memory/memory.h"
#include "support/text.h"

namespace aclsim {
namespace {

// Address window of managed memory (memory_cmo_allocator.md section 5).
constexpr std::uintptr_t kWindowBegin = 0x90000000000;
constexpr std::uint64_t kWindow = 3ULL << 40;

}  // namespace

std::int32_t location_number(const aclrtMemManagedLocation &location) {
    return location.type == ACL_MEM_LOCATIONTYPE_HOST || location.type == ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT
               ? ManagedMemory::kHost
               : location.id;
}

void *ManagedMemory::allocate(std::uint64_t size, std::uint32_t device) {
    if (size > kWindow) {
        return nullptr;
    }
    size = round_up(size, kHugePage);
    std::vector<Page> pages(size / kHugePage);
    void *address = reserve(size);
    if (address == nullptr) {
        return nullptr;
    }
    try {
        memory_.space().add_range({as_integer(address), size, {Place::Managed, device}, kHugePage, true});
        allocations_[as_integer(address)] = {size, std::move(pages)};
    } catch (const std::bad_alloc &) {
        memory_.space().forget_range(as_integer(address));
        unreserve(address);
        throw;
    }
    return address;
}

// Uses any addresses if the host itself occupies part of the window, as with some sanitizers.
void *ManagedMemory::reserve(std::uint64_t size) {
    if (!has_looked_) {
        void *wish = reinterpret_cast<void *>(kWindowBegin);
        auto window = std::make_unique<Heap>(kWindowBegin, kWindow, kHugePage);
        const bool is_free = memory_.space().reserve(kWindow, kHugePage, wish) != nullptr;
        window_ = is_free ? std::move(window) : nullptr;
        has_looked_ = true;
    }
    return window_ ? window_->allocate(size, kHugePage) : memory_.space().reserve(size, kHugePage);
}

void ManagedMemory::unreserve(void *address) {
    if (window_) {
        window_->reuse(*window_->release(address));
    } else {
        memory_.space().unreserve(address);
    }
}

bool ManagedMemory::free(void *address) {
    if (allocations_.erase(as_integer(address)) == 0) {
        return false;
    }
    note_release(memory_, address);
    memory_.space().clear_range(as_integer(address), [this, address]() REQUIRES(engine_lock) { unreserve(address); });
    return true;
}

std::map<std::uintptr_t, ManagedMemory::Allocation>::const_iterator ManagedMemory::find(const void *address) const {
    const auto after = allocations_.upper_bound(as_integer(address));
    if (after == allocations_.begin() ||
        as_integer(address) - std::prev(after)->first >= std::prev(after)->second.size) {
        return allocations_.end();
    }
    return std::prev(after);
}

bool ManagedMemory::contains(const void *address, std::uint64_t size) const {
    const auto found = find(address);
    return found != allocations_.end() && size <= found->second.size - (as_integer(address) - found->first);
}

std::vector<ManagedMemory::Page *> ManagedMemory::pages(const void *address, std::uint64_t size) {
    const std::uintptr_t begin = find(address)->first;
    std::vector<Page> &all = allocations_.at(begin).pages;
    const std::size_t first = (as_integer(address) - begin) / kHugePage;
    const std::size_t last = (as_integer(address) - begin + size - 1) / kHugePage;
    std::vector<Page *> touched;
    std::transform(all.begin() + static_cast<std::ptrdiff_t>(first),
                   all.begin() + static_cast<std::ptrdiff_t>(last) + 1, std::back_inserter(touched),
                   [](Page &page) { return &page; });
    return touched;
}

void ManagedMemory::advise(const void *address, std::uint64_t size, aclrtMemManagedAdviseType advice,
                           const aclrtMemManagedLocation &location) {
    for (Page *page : pages(address, size)) {
        switch (advice) {
            case ACL_MEM_ADVISE_SET_READ_MOSTLY:
            case ACL_MEM_ADVISE_UNSET_READ_MOSTLY:
                page->is_read_mostly = advice == ACL_MEM_ADVISE_SET_READ_MOSTLY;
                break;
            case ACL_MEM_ADVISE_SET_PREFERRED_LOCATION:
                page->preferred = {location.type, location_number(location)};
                break;
            case ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
                page->preferred = Page().preferred;
                break;
            case ACL_MEM_ADVISE_SET_ACCESSED_BY:
                page->accessed_by.insert(location_number(location));
                break;
            case ACL_MEM_ADVISE_UNSET_ACCESSED_BY:
                page->accessed_by.erase(location_number(location));
                break;
        }
    }
}

std::int32_t ManagedMemory::attribute(aclrtMemManagedRangeAttribute attribute, const void *address,
                                      std::uint64_t size) {
    const std::vector<Page *> touched = pages(address, size);
    const auto all = [&](auto holds) { return std::all_of(touched.begin(), touched.end(), holds); };
    const aclrtMemManagedLocation first = touched.front()->preferred;
    const bool is_same =
        all([&](const Page *page) { return page->preferred.type == first.type && page->preferred.id == first.id; });
    switch (attribute) {
        case ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
            return all([](const Page *page) { return page->is_read_mostly; }) ? 1 : 0;
        case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
            return is_same ? first.id : kNoLocation;
        case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
            return is_same ? first.type : ACL_MEM_LOCATIONTYPE_INVALID;
        case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
            return ACL_MEM_LOCATIONTYPE_INVALID;
        default:  // prefetch locations are reserved (section 5)
            return kNoLocation;
    }
}

std::set<std::int32_t> ManagedMemory::accessed_by(const void *address, std::uint64_t size) {
    const std::vector<Page *> touched = pages(address, size);
    std::set<std::int32_t> common = touched.front()->accessed_by;
    for (const Page *page : touched) {
        std::set<std::int32_t> both;
        std::set_intersection(common.begin(), common.end(), page->accessed_by.begin(), page->accessed_by.end(),
                              std::inserter(both, both.end()));
        common = std::move(both);
    }
    return common;
}

}  // namespace aclsim
