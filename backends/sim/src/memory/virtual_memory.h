// Addresses and memory are separate: addresses are reserved, physical memory is allocated, and mapping puts
// one behind the other (memory_cmo_allocator.md section 4).
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

// What an aclrtDrvMemHandle names. The memory lives until the last handle is freed and the last mapping is gone.
class PhysicalMemory final : public Object {
  public:
    static constexpr Kind kKind = Kind::PhysicalMemory;

    // Fails with ACL_ERROR_RT_MEMORY_ALLOCATION.
    static Ref<PhysicalMemory> allocate(Memory &memory, Lock &lock, std::uint64_t size,
                                        const aclrtPhysicalMemProp &properties, std::uint64_t page);
    PhysicalMemory(Memory &memory, PhysicalPages pages, const aclrtPhysicalMemProp &properties)
        : pages_(std::move(pages)), properties_(properties), memory_(memory) {}
    ~PhysicalMemory() override;

    const PhysicalPages &pages() const { return pages_; }
    const aclrtPhysicalMemProp &properties() const { return properties_; }
    bool is_imported() const { return is_imported_; }
    void mark_imported() { is_imported_ = true; }
    std::unique_ptr<ExportedPages> exported;
    std::uint32_t references = 1;  // handles: aclrtMemRetainAllocationHandle

  private:
    friend class VirtualMemory;
    PhysicalPages pages_;
    aclrtPhysicalMemProp properties_;
    Memory &memory_;
    void *block_ = nullptr;  // of the device's heap or, only to count it, of the host's
    bool is_imported_ = false;
};

struct AddressRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

// Guarded by the engine's lock. Everything fails with ACL_ERROR_RT_PARAM_INVALID where a size, an address or a mapping
// is not as it must be, and with ACL_ERROR_RT_DRV_INTERNAL_ERROR where something is still in use.
class VirtualMemory {
  public:
    explicit VirtualMemory(Memory &memory) : memory_(memory) {}

    // The wish is NULL or among the addresses that may be wished.
    void *reserve(std::uint64_t size, void *wish, const AddressRange &wishes);
    void release(void *address);
    void map(void *address, std::uint64_t size, Ref<PhysicalMemory> memory, bool is_accessible);
    // Maps what is behind the blocks that begin at the source, block by block.
    void map_like(void *address, std::uint64_t size, void *source);
    void unmap(void *address);
    void require_settable(void *address, std::uint64_t size, const aclrtMemAccessDesc &access) const;
    void set_access(void *address, const aclrtMemLocation &location);  // of a mapping that starts there
    // Whether the location was ever granted access.
    bool has_access(void *address, const aclrtMemLocation &location) const;
    const Ref<PhysicalMemory> &memory_at(void *address) const;
    // The device is reset: its memory is gone, with all that was mapped from it.
    void drop(std::uint32_t device);

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
    std::map<std::uintptr_t, Reservation>::iterator reservation_of(void *address, std::uint64_t size);
    void require_alike(std::uintptr_t reservation, const PhysicalMemory &memory) const;
    Mapping &require_mapping(void *address);
    const Mapping &require_mapping(void *address) const;
    Mappings::iterator unmap(Mappings::iterator mapping);

    Memory &memory_;
    std::map<std::uintptr_t, Reservation> reservations_;
    Mappings mappings_;
};

}  // namespace aclsim
