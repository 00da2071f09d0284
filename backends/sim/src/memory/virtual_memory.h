// SPDX-License-Identifier: Apache-2.0
// Virtual memory with separate addresses and memory: addresses are reserved, physical memory is allocated, and mapping
// connects the two (memory_cmo_allocator.md section 4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/lock.h"
#include "engine/registry.h"
#include "memory/address_space.h"
#include "memory/exported_pages.h"

namespace aclsim {

class Memory;

// Memory named by an aclrtDrvMemHandle. It lives until the last handle is freed and the last mapping is gone.
class PhysicalMemory final : public Object {
  public:
    static constexpr Kind kKind = Kind::PhysicalMemory;

    // Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    static Ref<PhysicalMemory> allocate(Memory &memory, Lock &lock, std::uint64_t size,
                                        const aclrtPhysicalMemProp &properties, std::uint64_t page)
        REQUIRES(engine_lock);
    PhysicalMemory(Memory &memory, PhysicalPages pages, const aclrtPhysicalMemProp &properties)
        : pages_(std::move(pages)), properties_(properties), memory_(memory) {}
    ~PhysicalMemory() override;

    const PhysicalPages &pages() const { return pages_; }
    const aclrtPhysicalMemProp &properties() const { return properties_; }
    bool is_imported() const { return pages_.exported_as != 0; }
    std::unique_ptr<ExportedPages> exported GUARDED_BY(engine_lock);
    std::uint32_t references GUARDED_BY(engine_lock) = 1;  // handles: aclrtMemRetainAllocationHandle

  private:
    friend class VirtualMemory;
    PhysicalPages pages_;
    aclrtPhysicalMemProp properties_;
    Memory &memory_;
    void *block_ GUARDED_BY(engine_lock) = nullptr;  // block in the device's heap or, only to count it, in the host's
};

struct AddressRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

// Guarded by the engine lock. All functions fail with ACL_ERROR_RT_PARAM_INVALID if a size, an address or a mapping is
// invalid, and with ACL_ERROR_RT_DRV_INTERNAL_ERROR if an object is still in use.
class VirtualMemory {
  public:
    explicit VirtualMemory(Memory &memory) : memory_(memory) {}

    // Reserves addresses at the wish, which must be within `wishes`, or anywhere if it is NULL.
    void *reserve(std::uint64_t asked, void *wish, const AddressRange &wishes) REQUIRES(engine_lock);
    void release(void *address) REQUIRES(engine_lock);
    void map(void *address, std::uint64_t size, Ref<PhysicalMemory> memory, bool is_accessible) REQUIRES(engine_lock);
    // Maps the memory of the blocks that begin at the source, block by block.
    void map_like(void *address, std::uint64_t size, void *source) REQUIRES(engine_lock);
    void unmap(void *address) REQUIRES(engine_lock);
    const ExportedPages &export_memory(PhysicalMemory &memory, bool checks_process) REQUIRES(engine_lock);
    void require_settable(void *address, std::uint64_t size, const aclrtMemAccessDesc &access) const
        REQUIRES(engine_lock);
    void set_access(void *address, const aclrtMemLocation &location)
        REQUIRES(engine_lock);  // requires a mapping that starts there
    // Returns true if the location was ever granted access.
    bool has_access(void *address, const aclrtMemLocation &location) const REQUIRES(engine_lock);
    const Ref<PhysicalMemory> &memory_at(void *address) const REQUIRES(engine_lock);
    // Drops the memory of a device that is reset, with all its mappings.
    void drop(std::uint32_t device) REQUIRES(engine_lock);

  private:
    struct Reservation {
        std::uint64_t size;
        std::uint32_t mappings = 0;
    };
    struct Mapping {
        std::uint64_t size;
        Ref<PhysicalMemory> memory;
        std::vector<aclrtMemLocation> granted;
        std::uintptr_t reservation;
    };
    using Mappings = std::map<std::uintptr_t, Mapping>;
    std::map<std::uintptr_t, Reservation>::iterator reservation_of(void *address, std::uint64_t size)
        REQUIRES(engine_lock);
    void require_alike(std::uintptr_t reservation, const PhysicalMemory &memory) const REQUIRES(engine_lock);
    Mapping &require_mapping(void *address) REQUIRES(engine_lock);
    const Mapping &require_mapping(void *address) const REQUIRES(engine_lock);
    Mappings::iterator unmap(Mappings::iterator mapping) REQUIRES(engine_lock);

    Memory &memory_;
    std::map<std::uintptr_t, Reservation> reservations_ GUARDED_BY(engine_lock);
    Mappings mappings_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
