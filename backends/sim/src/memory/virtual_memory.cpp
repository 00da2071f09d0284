// SPDX-License-Identifier: Apache-2.0
#include "memory/virtual_memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "memory/memory.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {
namespace {

void require_multiple(std::uint64_t page, std::uint64_t value, const char *what) {
    if (value % page != 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s %#llx is not a multiple of %llu MiB; ask aclrtMemGetAllocationGranularity",
             what, static_cast<unsigned long long>(value), static_cast<unsigned long long>(page >> 20));
    }
}

Range range_of(void *address, const PhysicalPages &pages, bool is_accessible) {
    Range range{as_integer(address), pages.size, pages.location, pages.page, is_accessible};
    range.exported_as = pages.exported_as;
    return range;
}

bool is_same(const aclrtMemLocation &a, const aclrtMemLocation &b) { return a.type == b.type && a.id == b.id; }

}  // namespace

Ref<PhysicalMemory> PhysicalMemory::allocate(Memory &memory, Lock &lock, std::uint64_t size,
                                             const aclrtPhysicalMemProp &properties, std::uint64_t page) {
    require_multiple(page, size, "the size");
    auto physical = make_ref<PhysicalMemory>(
        memory, PhysicalPages{nullptr, 0, size, {Place::Pinned, 0}, properties.memAttr, page}, properties);
    PhysicalPages &pages = physical->pages_;
    void *&block = physical->block_;  // the destructor frees it from here on
    if (properties.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
        const Device &device = *memory.machine.devices[properties.location.id];
        require_not_poisoned(device);
        block = allocate_patiently(memory, lock, [&]() REQUIRES(engine_lock) {
            return memory.space().allocate_internal(device.physical_id, size, page, Owner::Mapping);
        });
        if (block == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes do not fit: %s", static_cast<unsigned long long>(size),
                 describe_room(memory, device).c_str());
        }
        pages.file = memory.space().pages(device.physical_id);
        pages.offset = memory.space().offset_of(device.physical_id, block);
        pages.location = {Place::Device, device.physical_id};
        // Small blocks have left content there that other processes could read.
        memory.space().discard(pages.file, pages.offset, size);
    } else {
        Heap &heap = memory.space().pinned();
        pages.file = PageFile::create(size);
        block = allocate_patiently(memory, lock, [&]() REQUIRES(engine_lock) { return heap.allocate(size, page); });
        if (block == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes do not fit: %llu of %llu bytes are free on the host",
                 static_cast<unsigned long long>(size), static_cast<unsigned long long>(heap.free_bytes()),
                 static_cast<unsigned long long>(heap.capacity()));
        }
        heap.set_owner(block, Owner::Mapping);
    }
    memory.core.registry().add(physical);
    return physical;
}

PhysicalMemory::~PhysicalMemory() {
    if (pages_.location.place == Place::Pinned) {
        memory_.space().release_counted(block_);
        memory_.space().drop_file(std::move(pages_.file));
    } else if (block_ != nullptr) {
        memory_.space().free_internal(pages_.location.device, block_);
    }
}

// The driver takes any size and returns whole pages; mappings stay inside the requested size (memory_cmo_allocator.md
// section 4).
void *VirtualMemory::reserve(std::uint64_t asked, void *wish, const AddressRange &wishes) {
    const std::uint64_t size = round_up(asked, kHugePage);
    if (size < asked) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes of addresses are not free",
             static_cast<unsigned long long>(asked));
    }
    // A reservation of exactly one giant page is aligned to it only if the runtime chooses the address.
    const std::uint64_t alignment =
        size > kGiantPage || (size == kGiantPage && wish == nullptr) ? kGiantPage : kHugePage;
    if (wish != nullptr) {
        const std::uintptr_t begin = as_integer(wish);
        if (begin % alignment != 0 || begin < wishes.begin || begin > wishes.end || size > wishes.end - begin) {
            fail(ACL_ERROR_RT_PARAM_INVALID,
                 "%llu bytes at %p are not between %llu and %llu TiB, or %p is not aligned to %llu bytes",
                 static_cast<unsigned long long>(size), wish, static_cast<unsigned long long>(wishes.begin >> 40),
                 static_cast<unsigned long long>(wishes.end >> 40), wish, static_cast<unsigned long long>(alignment));
        }
    }
    void *address = memory_.space().reserve(size, alignment, wish);
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes of addresses are not free%s",
             static_cast<unsigned long long>(size), wish == nullptr ? "" : " there");
    }
    try {
        reservations_[as_integer(address)] = {asked};
    } catch (const std::bad_alloc &) {
        memory_.space().unreserve(address);
        throw;
    }
    return address;
}

void VirtualMemory::release(void *address) {
    const auto found = reservations_.find(as_integer(address));
    if (found == reservations_.end()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of reserved addresses", address);
    }
    if (found->second.mappings > 0) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "%u mappings are left at %p; unmap them first", found->second.mappings,
             address);
    }
    reservations_.erase(found);
    memory_.space().unreserve(address);
}

std::map<std::uintptr_t, VirtualMemory::Reservation>::iterator VirtualMemory::reservation_of(void *address,
                                                                                             std::uint64_t size) {
    const auto after = reservations_.upper_bound(as_integer(address));
    if (after != reservations_.begin()) {
        const auto found = std::prev(after);
        const std::uint64_t offset = as_integer(address) - found->first;
        if (offset < found->second.size && size <= found->second.size - offset) {
            return found;
        }
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes at %p are not inside one reservation",
         static_cast<unsigned long long>(size), address);
}

// A reservation cannot mix memory of two devices, or local and imported memory (memory_cmo_allocator.md section 4,
// aclrtMapMem).
void VirtualMemory::require_alike(std::uintptr_t reservation, const PhysicalMemory &memory) const {
    for (const auto &[address, mapping] : mappings_) {
        if (mapping.reservation != reservation) {
            continue;
        }
        const Location &there = mapping.memory->pages().location;
        const Location &here = memory.pages().location;
        if (there.place != here.place || there.device != here.device ||
            mapping.memory->is_imported() != memory.is_imported()) {
            fail(ACL_ERROR_RT_PARAM_INVALID,
                 "the reservation has memory of another device, or of another process, or only one of both has");
        }
        return;  // all mappings of the reservation are alike
    }
}

void VirtualMemory::map(void *address, std::uint64_t size, Ref<PhysicalMemory> memory, bool is_accessible) {
    const PhysicalPages &pages = memory->pages();
    if (size != pages.size) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the size must be that of the physical memory, %llu",
             static_cast<unsigned long long>(pages.size));
    }
    require_multiple(pages.page, as_integer(address), "the address");
    const auto reservation = reservation_of(address, size);
    if (memory_.space().overlaps_range(address, size)) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "something is mapped at %p already; unmap it first", address);
    }
    require_alike(reservation->first, *memory);
    Mapping mapping{size, memory, {}, reservation->first};
    if (is_accessible) {
        mapping.granted.push_back(memory->properties().location);
    }
    const auto added = mappings_.emplace(as_integer(address), std::move(mapping)).first;
    try {
        memory_.space().add_range(range_of(address, pages, is_accessible));
        if (is_accessible) {
            pages.file->map(address, pages.offset, size);
        }
    } catch (...) {
        memory_.space().forget_range(as_integer(address));
        mappings_.erase(added);
        throw;
    }
    ++reservation->second.mappings;
    note_allocation(memory_, address, size, Pages::Shared);
    if (memory->is_imported() || memory->exported) {
        note_shared(memory_, address, memory->pages());
    }
}

const ExportedPages &VirtualMemory::export_memory(PhysicalMemory &memory, bool checks_process) {
    memory.exported = std::make_unique<ExportedPages>(memory.pages(), checks_process);
    for (const auto &[address, mapping] : mappings_) {
        if (mapping.memory.get() == &memory) {
            note_shared(memory_, reinterpret_cast<const void *>(address), memory.pages());
        }
    }
    return *memory.exported;
}

void VirtualMemory::map_like(void *address, std::uint64_t size, void *source) {
    auto *to = static_cast<unsigned char *>(address);
    auto *from = static_cast<unsigned char *>(source);
    std::uint64_t done = 0;
    try {
        while (done < size) {
            const Mapping &block = require_mapping(from + done);
            if (block.size > size - done) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes end inside a block",
                     static_cast<unsigned long long>(size));
            }
            map(to + done, block.size, block.memory, true);
            done += block.size;
        }
    } catch (...) {  // map all blocks or none
        for (std::uint64_t at = 0; at < done;) {
            const std::uint64_t bytes = require_mapping(to + at).size;
            unmap(to + at);
            at += bytes;
        }
        throw;
    }
}

void VirtualMemory::unmap(void *address) {
    require_mapping(address);
    unmap(mappings_.find(as_integer(address)));
}

VirtualMemory::Mappings::iterator VirtualMemory::unmap(Mappings::iterator mapping) {
    note_release(memory_, reinterpret_cast<void *>(mapping->first));
    memory_.space().clear_range(mapping->first);
    --reservations_.at(mapping->second.reservation).mappings;
    return mappings_.erase(mapping);
}

VirtualMemory::Mapping &VirtualMemory::require_mapping(void *address) {
    return const_cast<Mapping &>(std::as_const(*this).require_mapping(address));
}

const VirtualMemory::Mapping &VirtualMemory::require_mapping(void *address) const {
    const auto found = mappings_.find(as_integer(address));
    if (found == mappings_.end()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped that starts at %p%s", address,
             explain_address(memory_, address).c_str());
    }
    return found->second;
}

void VirtualMemory::require_settable(void *address, std::uint64_t size, const aclrtMemAccessDesc &access) const {
    const Mapping &mapping = require_mapping(address);
    if (size != mapping.size) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the size must be that of the mapping, %llu",
             static_cast<unsigned long long>(mapping.size));
    }
    if (access.flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
        const bool is_reset = has_access(address, access.location);  // section 4: the driver is busy
        fail(is_reset ? ACL_ERROR_RT_DRV_INTERNAL_ERROR : ACL_ERROR_RT_PARAM_INVALID,
             "access %d is not ACL_RT_MEM_ACCESS_FLAGS_READWRITE%s", static_cast<int>(access.flags),
             is_reset ? ", which the location has" : "");
    }
}

void VirtualMemory::set_access(void *address, const aclrtMemLocation &location) {
    Mapping &mapping = require_mapping(address);
    const PhysicalPages &pages = mapping.memory->pages();
    mapping.granted.reserve(mapping.granted.size() + 1);
    if (mapping.granted.empty()) {
        pages.file->map(address, pages.offset, mapping.size);
        memory_.space().add_range(range_of(address, pages, true));
    }
    if (!has_access(address, location)) {
        mapping.granted.push_back(location);
    }
}

bool VirtualMemory::has_access(void *address, const aclrtMemLocation &location) const {
    const std::vector<aclrtMemLocation> &granted = require_mapping(address).granted;
    return std::any_of(granted.begin(), granted.end(), [&](const auto &it) { return is_same(it, location); });
}

const Ref<PhysicalMemory> &VirtualMemory::memory_at(void *address) const {
    const Range *range = memory_.space().find_range(address);
    return require_mapping(range == nullptr ? address : reinterpret_cast<void *>(range->address)).memory;
}

void VirtualMemory::drop(std::uint32_t device) {
    const auto is_lost = [device](const PhysicalMemory &memory) {
        return memory.pages().location.place == Place::Device && memory.pages().location.device == device;
    };
    for (auto it = mappings_.begin(); it != mappings_.end();) {
        it = is_lost(*it->second.memory) ? unmap(it) : std::next(it);
    }
    for (const auto &memory : memory_.core.registry().all<PhysicalMemory>()) {
        if (is_lost(*memory)) {
            memory_.core.registry().remove(*memory);
        }
    }
}

}  // namespace aclsim
