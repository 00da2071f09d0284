// SPDX-License-Identifier: Apache-2.0
#include "memory/ipc_memory.h"

#include <algorithm>

#include "memory/memory.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {
namespace {

// Limits of permitted importers (memory_cmo_allocator.md section 7, aclrtIpcMemSetImportPid): on 950, and on other
// products.
constexpr std::size_t kMostProcesses = 65535;
constexpr std::size_t kProcesses = 32768;

template <class Map, class Condition>
void erase_if(Map &map, Condition condition) REQUIRES(engine_lock) {
    for (auto it = map.begin(); it != map.end();) {
        it = condition(it->second) ? map.erase(it) : std::next(it);
    }
}

}  // namespace

const std::string &IpcMemory::export_block(const void *address, std::uint64_t size, bool checks_process) {
    AddressSpace &memory = memory_.space();
    const Location location = memory.locate(address);
    const std::optional<Block> block = memory.find(address);
    if (location.place != Place::Device || memory.find_range(address) != nullptr || !block ||
        block->address != reinterpret_cast<std::uintptr_t>(address) || block->owner != Owner::Application) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of live memory that aclrtMalloc gave%s", address,
             explain_address(memory_, address).c_str());
    }
    if (block->address % kSmallPage != 0 || size > block->size) {
        fail(ACL_ERROR_RT_PARAM_INVALID,
             "%p is not aligned to a page, or has less than %llu bytes; allocate more than 1 MiB, or huge pages",
             address, static_cast<unsigned long long>(size));
    }
    const PhysicalPages physical{memory.pages(location.device),
                                 memory.offset_of(location.device, address),
                                 size,
                                 location,
                                 ACL_HBM_MEM_HUGE,
                                 block->page};
    ExportedPages pages(physical, checks_process);
    note_shared(memory_, address, physical);
    const std::string key = pages.name();
    return exports_.emplace(key, Export{address, location.device, std::move(pages)}).first->first;
}

void IpcMemory::permit(const std::string &key, const std::int32_t *processes, std::size_t count) {
    const auto found = exports_.find(key);
    if (found == exports_.end()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "this process has exported no memory under the key");
    }
    found->second.pages.permit(processes, count, config().product->has(kHasSimt) ? kMostProcesses : kProcesses);
}

void *IpcMemory::import(const std::string &key, Device &importer, bool enables_access) {
    const std::optional<PhysicalPages> pages = ExportedPages::open(key);
    if (!pages) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "no other process that lives exports memory under the key");
    }
    if (pages->location.device >= config().devices) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the memory is of device %u, and there are %u here", pages->location.device,
             config().devices);
    }
    const std::uint32_t owner = pages->location.device;
    const bool has_access =
        enables_access || owner == importer.physical_id || importer.accessible_peers.count(owner) != 0;
    if (!has_access && config().product->has(kImportsNeedPeerAccess)) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
             "the memory is of device %u; import it with ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS", owner);
    }
    std::set<std::uint32_t> peers;
    if (enables_access && owner != importer.physical_id) {
        peers.insert(owner);
    }
    const auto import = imports_.emplace(key, Import{nullptr, owner});
    void *&address = import->second.address;
    const std::uint64_t size = round_up(pages->size, kSmallPage);
    try {
        address = memory_.space().reserve(round_up(size, kHugePage), kHugePage);
        if (address == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "there are no addresses left");
        }
        Range range{as_integer(address), size, pages->location, pages->page, true};
        range.importer = importer.user_id;
        range.exported_as = pages->exported_as;
        memory_.space().add_range(range);
        pages->file->map(address, pages->offset, size);
    } catch (...) {
        if (address != nullptr) {
            memory_.space().forget_range(as_integer(address));
            memory_.space().unreserve(address);
        }
        imports_.erase(import);
        throw;
    }
    importer.accessible_peers.merge(peers);
    note_allocation(memory_, address, pages->size, Pages::Shared);
    note_shared(memory_, address, *pages);
    return address;
}

void IpcMemory::close(const std::string &key) {
    const auto imported = imports_.lower_bound(key);  // the oldest import under the key
    if (imported != imports_.end() && imported->first == key) {
        unmap(imported->second);
        imports_.erase(imported);
        return;
    }
    if (exports_.erase(key) + attributed_.erase(key) == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "this process has neither exported nor imported memory under the key");
    }
}

void IpcMemory::forget(const void *address) {
    erase_if(exports_, [address](const Export &it) { return it.address == address; });
}

void IpcMemory::forget_device(std::uint32_t device) {
    erase_if(exports_, [device](const Export &it) { return it.device == device; });
    erase_if(imports_, [&](const Import &it) REQUIRES(engine_lock) {
        const bool is_lost = it.device == device;
        if (is_lost) {
            unmap(it);
        }
        return is_lost;
    });
}

void IpcMemory::unmap(const Import &import) {
    note_release(memory_, import.address);
    memory_.space().clear_range(reinterpret_cast<std::uintptr_t>(import.address),
                                [this, address = import.address]()
                                    REQUIRES(engine_lock) { memory_.space().unreserve(address); });
}

}  // namespace aclsim
