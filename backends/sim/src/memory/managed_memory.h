// SPDX-License-Identifier: Apache-2.0
// Managed memory: addresses shared by the host and the devices, with the user's advice for each page
// (memory_cmo_allocator.md section 5). The simulator uses ordinary memory, which is always in the right place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "abi/acl.h"
#include "memory/heap.h"

namespace aclsim {

class Memory;

// Guarded by the engine lock.
class ManagedMemory {
  public:
    static constexpr std::int32_t kHost = -1;
    static constexpr std::int32_t kNoLocation = -2;  // no location was set, or the pages differ

    explicit ManagedMemory(Memory &memory) : memory_(memory) {}
    void *allocate(std::uint64_t size, std::uint32_t device)
        REQUIRES(engine_lock);                       // nullptr if there are no addresses left
    bool free(void *address) REQUIRES(engine_lock);  // false unless it is the start of managed memory
    // Returns true if [address, address + size) is inside one allocation.
    bool contains(const void *address, std::uint64_t size) const REQUIRES(engine_lock);
    void advise(const void *address, std::uint64_t size, aclrtMemManagedAdviseType advice,
                const aclrtMemManagedLocation &location) REQUIRES(engine_lock);
    // Returns the value that all pages share; for ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, see accessed_by().
    std::int32_t attribute(aclrtMemManagedRangeAttribute attribute, const void *address, std::uint64_t size)
        REQUIRES(engine_lock);
    // Returns the locations that are set for all pages.
    std::set<std::int32_t> accessed_by(const void *address, std::uint64_t size) REQUIRES(engine_lock);

  private:
    struct Page {
        bool is_read_mostly = false;
        aclrtMemManagedLocation preferred{ACL_MEM_LOCATIONTYPE_INVALID, kNoLocation};
        std::set<std::int32_t> accessed_by;
    };
    struct Allocation {
        std::uint64_t size;
        std::vector<Page> pages;
    };
    void *reserve(std::uint64_t size) REQUIRES(engine_lock);
    void unreserve(void *address) REQUIRES(engine_lock);
    std::map<std::uintptr_t, Allocation>::const_iterator find(const void *address) const REQUIRES(engine_lock);
    // Returns the pages that a range touches; it must be inside one allocation.
    std::vector<Page *> pages(const void *address, std::uint64_t size) REQUIRES(engine_lock);

    Memory &memory_;
    std::unique_ptr<Heap> window_ GUARDED_BY(engine_lock);  // allocates addresses
    bool has_looked_ GUARDED_BY(engine_lock) = false;       // set once the window was requested, at the first use
    std::map<std::uintptr_t, Allocation> allocations_ GUARDED_BY(engine_lock);
};

// Returns the number reported for a location: the ID of a device or a node, or kHost.
std::int32_t location_number(const aclrtMemManagedLocation &location);

}  // namespace aclsim
