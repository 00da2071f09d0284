// The addresses of simulated memory, and what is behind each.
//
//   base          base + n * stride     base + (n + 1) * stride
//   | pinned host | device 0            | device 1            | ...      and, elsewhere, virtual addresses
//
// The slot of an address is a subtraction and a division, so memory of the runtime's own is classified in O(1). Pinned
// memory has as many slots as it needs. A device's slot shows a file of pages, so that the same memory can be mapped at
// virtual addresses and in other processes. Virtual addresses, and host memory that the user registered, are told apart
// by a sorted list of ranges.
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

// Where an address lives, as the runtime's location classes (memory_cmo_allocator.md section 3). Registered host memory
// counts as pinned.
enum class Place : std::uint8_t { Unregistered, Pinned, Device, Managed };

struct Location {
    Place place = Place::Unregistered;
    std::uint32_t device = 0;  // of Place::Device and Place::Managed: its number before ASCEND_RT_VISIBLE_DEVICES
};

// What aclrtHostRegister or aclrtHostRegisterV2 made of memory of the user.
enum class Registration : std::uint8_t {
    None,
    Pinned,  // copies need not wait for it
    Mapped,  // devices see it too
};

// Addresses with something behind them, outside the slots.
struct Range {
    std::uintptr_t address;
    std::uint64_t size;
    Location location;
    std::uint64_t page;
    bool is_accessible;  // not before aclrtMemSetAccess, if it was mapped without access
    Registration registration = Registration::None;
    std::uint32_t importer = 0;     // the user's id of the device that was current when the memory was imported by key
    std::uint64_t exported_as = 0;  // another process's memory: the number of its export
};

// Guarded by the engine's lock.
class AddressSpace {
  public:
    AddressSpace(Core &core, std::uint32_t devices, std::uint64_t device_memory, std::uint64_t pinned_memory);
    ~AddressSpace();
    AddressSpace(const AddressSpace &) = delete;
    AddressSpace &operator=(const AddressSpace &) = delete;

    Location locate(const void *address) const REQUIRES(engine_lock);
    // The live block or the range that the address is in; nothing for other memory of the user.
    std::optional<Block> find(const void *address) const REQUIRES(engine_lock);
    // May [address, address + size) be read and written? Memory that the runtime knows nothing of counts as live.
    bool is_live(const void *address, std::uint64_t size) const REQUIRES(engine_lock);

    Heap &pinned() REQUIRES(engine_lock) { return heaps_[0]; }
    Heap &device(std::uint32_t device) REQUIRES(engine_lock) { return heaps_[device + 1]; }
    bool is_pinned_block(const void *address) const REQUIRES(engine_lock);  // that starts there
    // Nothing happens unless the address is the start of a live block there. What was registered in it is so no longer.
    // The host gets the pages of large blocks back, as a chore: until that is done their addresses are not given out
    // again. Small blocks keep their pages, because they are likely to be used again.
    void free_pinned(const void *address) REQUIRES(engine_lock);
    void release_counted(const void *address) REQUIRES(engine_lock);  // of Owner::Mapping: the pages are somewhere else
    bool free_device(const void *address) REQUIRES(engine_lock);
    bool is_device_block(const void *address, Owner owner = Owner::Application) const
        REQUIRES(engine_lock);  // that starts there
    // Of a block that starts there; false: the owner from has none.
    bool change_owner(const void *address, Owner from, Owner to) REQUIRES(engine_lock);
    // What aclrtFree does not free; nullptr: no room. Memory for mappings has no address of its own: what it answers is
    // only for these calls.
    void *allocate_internal(std::uint32_t device, std::uint64_t size) REQUIRES(engine_lock) {
        return allocate_internal(device, size, page_for(size), Owner::Runtime);
    }
    void *allocate_internal(std::uint32_t device, std::uint64_t size, std::uint64_t page, Owner owner)
        REQUIRES(engine_lock);
    void free_internal(std::uint32_t device, const void *address) REQUIRES(engine_lock);
    void free_all(std::uint32_t device) REQUIRES(engine_lock);
    const std::shared_ptr<PageFile> &pages(std::uint32_t device) const REQUIRES(engine_lock) { return files_[device]; }
    // As chores: a file whose last reference this may be, and pages of one, go back to the host.
    void drop_file(std::shared_ptr<PageFile> file) REQUIRES(engine_lock);
    void discard(std::shared_ptr<PageFile> file, std::uint64_t offset, std::uint64_t size) REQUIRES(engine_lock);
    // Where in the device's pages the block is.
    std::uint64_t offset_of(std::uint32_t device, const void *address) const REQUIRES(engine_lock);

    // --- virtual addresses; sizes are multiples of huge pages ------------------------------------------------------
    // nullptr: there is no room, or something else is at the wished address.
    void *reserve(std::uint64_t size, std::uint64_t alignment, void *wish = nullptr) REQUIRES(engine_lock);
    void unreserve(void *address) REQUIRES(engine_lock);
    void add_range(const Range &range) REQUIRES(engine_lock) { ranges_[range.address] = range; }
    // What was at these addresses is gone; they stay reserved. A chore: until it is done the addresses count as in use,
    // and then() is called when it is.
    void clear_range(std::uintptr_t address, std::function<void()> then = {}) REQUIRES(engine_lock);
    void forget_range(std::uintptr_t address) REQUIRES(engine_lock) {
        ranges_.erase(address);
    }  // of registered host memory
    const Range *find_range(const void *address) const REQUIRES(engine_lock);
    // Imported memory that its exporter has freed, or whose exporter has ended: what is read there is not defined. Asks
    // the host, which takes some microseconds.
    bool is_orphaned(const void *address) const REQUIRES(engine_lock);
    bool overlaps_range(const void *address, std::uint64_t size) const REQUIRES(engine_lock);

  private:
    const Heap *slot_of(const void *address) const REQUIRES(engine_lock);
    bool has_virtual() REQUIRES(engine_lock);  // takes the addresses from the host at the first use
    bool take(std::uintptr_t begin, std::uintptr_t end) REQUIRES(engine_lock);
    bool is_virtual(std::uintptr_t address) const REQUIRES(engine_lock);

    template <class Discard, class Then>
    void discard_then(Discard discard, Then then) REQUIRES(engine_lock);

    Core &core_;
    Addresses range_;  // what was reserved for the slots: base_ is aligned
    std::uintptr_t base_ = 0;
    std::uint64_t stride_ = 0;
    std::uint64_t pinned_slots_ = 0;
    std::vector<Heap> heaps_;
    std::vector<std::shared_ptr<PageFile>> files_;  // of the devices
    std::map<std::uintptr_t, Range> ranges_ GUARDED_BY(engine_lock);
    std::map<std::uintptr_t, std::uint64_t> clearing_ GUARDED_BY(engine_lock);  // begin -> size
    Addresses virtual_range_ GUARDED_BY(engine_lock);
    std::unique_ptr<Heap> virtual_ GUARDED_BY(engine_lock);
    // Addresses that users chose, begin -> end: those reserved now, and all that the host ever gave. Those stay taken,
    // because a task that uses them too late must hit no memory of others, and a crash would not tell what was wrong.
    std::map<std::uintptr_t, std::uintptr_t> wished_ GUARDED_BY(engine_lock);
    std::map<std::uintptr_t, std::uintptr_t> taken_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
