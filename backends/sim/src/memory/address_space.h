// SPDX-License-Identifier: Apache-2.0
// Addresses of simulated memory, and the memory behind them.
//
//   base          base + n * stride     base + (n + 1) * stride
//   | pinned host | device 0            | device 1            | ...      and, elsewhere, virtual addresses
//
// One subtraction and one division give the slot of an address, so the runtime's own memory is classified in O(1).
// Pinned memory has as many slots as it needs. A device's slot maps a file of pages, so the same memory can also be
// mapped at virtual addresses and in other processes. A sorted list of ranges identifies virtual addresses and host
// memory that the user registered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core.h"
#include "memory/heap.h"
#include "memory/page_file.h"
#include "support/pages.h"

namespace aclsim {

// Place of an address, in the location classes of the runtime (memory_cmo_allocator.md section 3). Registered host
// memory counts as pinned.
enum class Place : std::uint8_t { Unregistered, Pinned, Device, Managed };

struct Location {
    Place place = Place::Unregistered;
    std::uint32_t device = 0;  // ID before ASCEND_RT_VISIBLE_DEVICES is applied; Device and Managed only
};

// Effect of aclrtHostRegister or aclrtHostRegisterV2 on memory of the user.
enum class Registration : std::uint8_t {
    None,
    Pinned,  // copies need not wait for it
    Mapped,  // devices can access it too
};

// Addresses outside the slots that have memory behind them.
struct Range {
    std::uintptr_t address;
    std::uint64_t size;
    Location location;
    std::uint64_t page;
    bool is_accessible;  // false until aclrtMemSetAccess, if it was mapped without access
    Registration registration = Registration::None;
    std::uint32_t importer = 0;     // user ID of the device that was current at the import by key
    std::uint64_t exported_as = 0;  // number of the export, if another process exported the memory
};

// Guarded by the engine lock.
class AddressSpace {
  public:
    AddressSpace(Core &core, std::uint32_t devices, std::uint64_t device_memory, std::uint64_t pinned_memory);
    ~AddressSpace();
    AddressSpace(const AddressSpace &) = delete;
    AddressSpace &operator=(const AddressSpace &) = delete;

    Location locate(const void *address) const REQUIRES(engine_lock);
    // Returns the live block or the range that contains the address; nothing for other memory of the user.
    std::optional<Block> find(const void *address) const REQUIRES(engine_lock);
    // Returns true if [address, address + size) can be read and written. Memory unknown to the runtime counts as live.
    bool is_live(const void *address, std::uint64_t size) const REQUIRES(engine_lock);

    Heap &pinned() REQUIRES(engine_lock) { return heaps_[0]; }
    Heap &device(std::uint32_t device) REQUIRES(engine_lock) { return heaps_[device + 1]; }
    bool is_pinned_block(const void *address) const REQUIRES(engine_lock);  // true if a block starts there
    // Frees the live block that starts at the address, if there is one, and ends registrations inside it. A chore
    // returns the pages of large blocks to the host, and their addresses are not allocated again until it is done.
    // Small blocks keep their pages, because they are likely to be used again.
    void free_pinned(const void *address) REQUIRES(engine_lock);
    void release_counted(const void *address) REQUIRES(engine_lock);  // Owner::Mapping: the pages are elsewhere
    bool free_device(const void *address) REQUIRES(engine_lock);
    bool is_device_block(const void *address, Owner owner = Owner::Application) const
        REQUIRES(engine_lock);  // true if a block of the owner starts there
    // Changes the owner of the block that starts there; returns false if the former owner has none there.
    bool change_owner(const void *address, Owner from, Owner to) REQUIRES(engine_lock);
    // Allocates memory that aclrtFree does not free; returns nullptr if there is no room. With Owner::Mapping, the
    // result only identifies the block in these calls and is not an accessible address.
    void *allocate_internal(std::uint32_t device, std::uint64_t size) REQUIRES(engine_lock) {
        return allocate_internal(device, size, page_for(size), Owner::Runtime);
    }
    void *allocate_internal(std::uint32_t device, std::uint64_t size, std::uint64_t page, Owner owner)
        REQUIRES(engine_lock);
    void free_internal(std::uint32_t device, const void *address) REQUIRES(engine_lock);
    void free_all(std::uint32_t device) REQUIRES(engine_lock);
    const std::shared_ptr<PageFile> &pages(std::uint32_t device) const REQUIRES(engine_lock) { return files_[device]; }
    // Chores that drop a file, possibly its last reference, and return pages of a file to the host.
    void drop_file(std::shared_ptr<PageFile> file) REQUIRES(engine_lock);
    void discard(std::shared_ptr<PageFile> file, std::uint64_t offset, std::uint64_t size) REQUIRES(engine_lock);
    // Returns the offset of the block in the device's pages.
    std::uint64_t offset_of(std::uint32_t device, const void *address) const REQUIRES(engine_lock);

    // --- virtual addresses; sizes are multiples of huge pages ------------------------------------------------------
    // Returns nullptr if there is no room, or if something else is at the wished address.
    void *reserve(std::uint64_t size, std::uint64_t alignment, void *wish = nullptr) REQUIRES(engine_lock);
    void unreserve(void *address) REQUIRES(engine_lock);
    void add_range(const Range &range) REQUIRES(engine_lock) { ranges_[range.address] = range; }
    // Clears the addresses, which stay reserved. A chore does the work: the addresses count as in use until it is done,
    // and then() is called afterwards.
    void clear_range(std::uintptr_t address, std::function<void()> then = {}) REQUIRES(engine_lock);
    void forget_range(std::uintptr_t address) REQUIRES(engine_lock) {
        ranges_.erase(address);
    }  // forgets registered host memory
    const Range *find_range(const void *address) const REQUIRES(engine_lock);
    // Returns true for imported memory whose exporter has freed it or has ended; its content is then undefined. Queries
    // the host, which takes some microseconds.
    bool is_orphaned(const void *address) const REQUIRES(engine_lock);
    bool overlaps_range(const void *address, std::uint64_t size) const REQUIRES(engine_lock);

  private:
    void map_pinned_twice(std::uint64_t size);
    const Heap *slot_of(const void *address) const REQUIRES(engine_lock);
    bool has_virtual() REQUIRES(engine_lock);  // reserves addresses of the host at the first use
    bool take(std::uintptr_t begin, std::uintptr_t end) REQUIRES(engine_lock);
    bool is_virtual(std::uintptr_t address) const REQUIRES(engine_lock);

    template <class Discard, class Then>
    void discard_then(Discard discard, Then then) REQUIRES(engine_lock);

    Core &core_;
    Addresses range_;  // reserved for the slots; base_ is aligned
    std::uintptr_t base_ = 0;
    std::uint64_t stride_ = 0;
    std::uint64_t pinned_slots_ = 0;
    std::vector<Heap> heaps_;
    std::vector<std::shared_ptr<PageFile>> files_;  // one for each device
    // Pages of pinned memory, and their second address; only for the race check.
    std::shared_ptr<PageFile> pinned_file_;
    Addresses pinned_view_;
    std::map<std::uintptr_t, Range> ranges_ GUARDED_BY(engine_lock);
    std::map<std::uintptr_t, Range> clearing_ GUARDED_BY(engine_lock);  // until their addresses are clear
    Addresses virtual_range_ GUARDED_BY(engine_lock);
    std::unique_ptr<Heap> virtual_ GUARDED_BY(engine_lock);
    // Addresses that users chose, begin -> end: those reserved now, and all that the host ever granted. The latter stay
    // taken, because a late task must not hit memory of others, and a crash would not explain the mistake.
    std::map<std::uintptr_t, std::uintptr_t> wished_ GUARDED_BY(engine_lock);
    std::map<std::uintptr_t, std::uintptr_t> taken_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
