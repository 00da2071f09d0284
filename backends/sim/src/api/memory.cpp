// SPDX-License-Identifier: Apache-2.0
// Device memory, and queries about any memory (memory_cmo_allocator.md sections 1 and 5).
#include "memory/memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "api/entry.h"
#include "memory/address_space.h"
#include "memory/malloc_config.h"

using namespace aclsim;

namespace {

constexpr std::size_t kUnit = 32;  // unit to which sizes are rounded up
constexpr std::uint32_t kPageMask = 0xFF;

// --- allocation ------------------------------------------------------------------------------------------------------

struct Policy {
    bool is_p2p;
    std::uint64_t page;         // page size; 0: huge pages above 1 MiB
    std::uint64_t padded_page;  // page of aclrtMalloc and aclrtMallocAlign32, which lack huge P2P pages (page rule)
};
constexpr Policy kPolicies[] = {
    {false, 0, 0},                    // ACL_MEM_MALLOC_HUGE_FIRST, and unknown policies
    {false, kHugePage, kHugePage},    // ACL_MEM_MALLOC_HUGE_ONLY
    {false, kSmallPage, kSmallPage},  // ACL_MEM_MALLOC_NORMAL_ONLY
    {true, 0, kSmallPage},            // ACL_MEM_MALLOC_HUGE_FIRST_P2P
    {true, kHugePage, kSmallPage},    // ACL_MEM_MALLOC_HUGE_ONLY_P2P
    {true, kSmallPage, kSmallPage},   // ACL_MEM_MALLOC_NORMAL_ONLY_P2P
    {false, kGiantPage, kGiantPage},  // ACL_MEM_MALLOC_HUGE1G_ONLY
    {true, kGiantPage, kGiantPage},   // ACL_MEM_MALLOC_HUGE1G_ONLY_P2P
};

const Policy &policy_of(std::uint32_t number) {
    return number < std::size(kPolicies) ? kPolicies[number] : kPolicies[ACL_MEM_MALLOC_HUGE_FIRST];
}

std::size_t padded(std::size_t size, std::size_t padding) {
    require_size(size);
    if (size > SIZE_MAX - kUnit - padding) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "size %zu wraps around when it is padded", size);
    }
    return round_up(size, kUnit) + padding;
}

void *allocate_device(Simulator &sim, Lock &lock, std::size_t size, bool is_p2p, std::uint64_t page,
                      std::uint16_t module) REQUIRES(engine_lock) {
    Device &device = require_current_device(sim);
    require_not_poisoned(device);
    if (page == kGiantPage && !config().product->has_huge1g_pages) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no 1 GiB pages", config().product->name);
    }
    if (is_p2p && config().product->has(kLacksP2p)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no P2P memory", config().product->name);
    }
    Heap &heap = sim.memory.space().device(device.physical_id);
    void *address = allocate_patiently(sim.memory, lock, [&]() REQUIRES(engine_lock) {
        return heap.allocate(size, page == 0 ? page_for(size) : page, module);
    });
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes do not fit: %s", size,
             describe_room(sim.memory, device).c_str());
    }
    return address;
}

aclError allocate(Function function, void **pointer, std::size_t size, bool is_padded, std::uint32_t number) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(pointer, "devPtr");
        const Policy &policy = policy_of(number);
        const bool takes_padding = is_padded && policy.page != kGiantPage && !config().product->has(kPadsNothing);
        const std::size_t bytes = padded(size, takes_padding ? kUnit : 0);
        *pointer = allocate_device(sim, lock, bytes, policy.is_p2p, policy.padded_page, Heap::kApplication);
        note_allocation(sim.memory, *pointer, size);
    });
}

// Reads a configuration. If it names a device, that must be the current one.
MallocConfig read_device_config(const Context &context, const aclrtMallocConfig *cfg) {
    const MallocConfig wanted =
        read_malloc_config(cfg, {ACL_RT_MEM_ATTR_RSV, ACL_RT_MEM_ATTR_MODULE_ID, ACL_RT_MEM_ATTR_DEVICE_ID});
    if (wanted.device && *wanted.device != context.device.user_id) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "cfg names device %u, and device %u is the current one", *wanted.device,
             context.device.user_id);
    }
    return wanted;
}

// Ignores the bits above the page policy, which are hints for other chips.
aclError allocate_configured(Function function, void **pointer, std::size_t size, aclrtMemMallocPolicy policy,
                             const aclrtMallocConfig *cfg) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(pointer, "devPtr");
        if (cfg != nullptr && cfg->numAttrs != 0) {
            require(cfg->attrs, "cfg->attrs");
        }
        const std::size_t bytes = padded(size, 0);
        require_attributes(cfg);
        const MallocConfig wanted = read_device_config(require_context(sim), cfg);
        const Policy &pages = policy_of(static_cast<std::uint32_t>(policy) & kPageMask);
        *pointer = allocate_device(sim, lock, bytes, pages.is_p2p, pages.page, wanted.module);
        note_allocation(sim.memory, *pointer, size);
    });
}

// --- freeing ---------------------------------------------------------------------------------------------------------

void free_memory(Simulator &sim, void *pointer) REQUIRES(engine_lock) {
    if (!sim.memory.managed_memory.free(pointer) && !free_into_pool(sim.memory, pointer) &&
        !sim.memory.free_device_block(pointer)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of live device memory%s", pointer,
             explain_address(sim.memory, pointer).c_str());
    }
}

void require_pair(const void *pointer, std::size_t size) {
    require(pointer, "devPtr");
    require_size(size);
}

// --- queries ---------------------------------------------------------------------------------------------------------

// Memory that an aclrtMemAttr asks for.
struct AllocationKind {
    MemoryKind kind;
    bool is_p2p;
    std::uint64_t page;
};
constexpr AllocationKind kAllocationKinds[] = {
    {MemoryKind::Ddr, false, kSmallPage},  // ACL_DDR_MEM: all pages
    {MemoryKind::Hbm, false, kSmallPage},  // ACL_HBM_MEM
    {MemoryKind::Ddr, false, kHugePage},   // ACL_DDR_MEM_HUGE
    {MemoryKind::Ddr, false, kSmallPage},  // ACL_DDR_MEM_NORMAL
    {MemoryKind::Hbm, false, kHugePage},   // ACL_HBM_MEM_HUGE
    {MemoryKind::Hbm, false, kSmallPage},  // ACL_HBM_MEM_NORMAL
    {MemoryKind::Ddr, true, kHugePage},    // ACL_DDR_MEM_P2P_HUGE
    {MemoryKind::Ddr, true, kSmallPage},   // ACL_DDR_MEM_P2P_NORMAL
    {MemoryKind::Hbm, true, kHugePage},    // ACL_HBM_MEM_P2P_HUGE
    {MemoryKind::Hbm, true, kSmallPage},   // ACL_HBM_MEM_P2P_NORMAL
    {MemoryKind::Hbm, false, kGiantPage},  // ACL_HBM_MEM_HUGE1G
    {MemoryKind::Hbm, true, kGiantPage},   // ACL_HBM_MEM_P2P_HUGE1G
    {MemoryKind::Any, false, kSmallPage},  // ACL_MEM_NORMAL
    {MemoryKind::Any, false, kHugePage},   // ACL_MEM_HUGE
    {MemoryKind::Any, false, kGiantPage},  // ACL_MEM_HUGE1G
    {MemoryKind::Any, true, kSmallPage},   // ACL_MEM_P2P_NORMAL
    {MemoryKind::Any, true, kHugePage},    // ACL_MEM_P2P_HUGE
    {MemoryKind::Any, true, kGiantPage},   // ACL_MEM_P2P_HUGE1G
};

// Checks that the chip has such memory; other memory has size 0. Chips without HBM answer HBM queries for their DDR.
bool is_there(const AllocationKind &attribute) {
    const Product &product = *config().product;
    return (attribute.kind != MemoryKind::Ddr || product.has(kHasDdr)) && !(attribute.is_p2p && product.has(kLacksP2p));
}

std::string module_name(std::uint16_t module) {
    return module == Heap::kApplication ? "APP" : "MODULE_" + std::to_string(module);
}

std::vector<aclrtMemUsageInfo> usage_of(const Heap &heap) REQUIRES(engine_lock) {
    std::vector<aclrtMemUsageInfo> all;
    for (const auto &[module, usage] : heap.usage()) {
        aclrtMemUsageInfo info = {};
        std::strncpy(info.name, module_name(module).c_str(), sizeof info.name - 1);
        info.curMemSize = usage.current;
        info.memPeakSize = usage.peak;
        all.push_back(info);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.curMemSize > b.curMemSize; });
    return all;
}

constexpr aclrtMemLocationType location_type(Place place) {
    switch (place) {
        case Place::Pinned:
            return ACL_MEM_LOCATION_TYPE_HOST;
        case Place::Device:
            return ACL_MEM_LOCATION_TYPE_DEVICE;
        case Place::Managed:
            return ACL_MEM_LOCATION_TYPE_MANAGED;
        case Place::Unregistered:
            break;
    }
    return ACL_MEM_LOCATION_TYPE_UNREGISTERED;
}

// Returns the user id of the device. Memory of a device that this process does not see was imported.
std::uint32_t user_id_of(Simulator &sim, const Location &location, const void *address) REQUIRES(engine_lock) {
    for (const auto &device : sim.machine.devices) {
        if (device->physical_id == location.device) {
            return device->user_id;
        }
    }
    return sim.memory.space().find_range(address)->importer;
}

}  // namespace

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return allocate(Function::aclrtMalloc, devPtr, size, true, policy);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return allocate(Function::aclrtMallocAlign32, devPtr, size, false, policy);
}

// Treats P2P policies as ACL_MEM_MALLOC_HUGE_FIRST: the function does not know them.
aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    const bool is_known = policy_of(policy).is_p2p == false;
    return allocate(Function::aclrtMallocCached, devPtr, size, true, is_known ? policy : ACL_MEM_MALLOC_HUGE_FIRST);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return allocate_configured(Function::aclrtMallocWithCfg, devPtr, size, policy, cfg);
}

aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    return allocate_configured(Function::aclrtMallocForTaskScheduler, devPtr, size, policy, cfg);
}

aclError aclrtFree(void *devPtr) {
    return entry(Function::aclrtFree, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(devPtr, "devPtr");
        refuse_dead_block(sim.memory, devPtr);
        free_memory(sim, devPtr);
    });
}

aclError aclrtFreeWithDevSync(void *devPtr) {
    return entry(Function::aclrtFreeWithDevSync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(devPtr, "devPtr");
        refuse_dead_block(sim.memory, devPtr);
        synchronize_device(sim.machine, lock, kNever);  // a failure here frees nothing
        free_memory(sim, devPtr);
    });
}

// Checks the range. Simulated memory has no cache between host and device, so flushing and invalidating need nothing
// else.
aclError aclrtMemFlush(void *devPtr, size_t size) {
    return entry(Function::aclrtMemFlush, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pair(devPtr, size);
        require_working_context(sim);
        note_use(sim.memory, devPtr, size, AccessMode::ReadWrite, "devPtr");
    });
}

aclError aclrtMemInvalidate(void *devPtr, size_t size) {
    return entry(Function::aclrtMemInvalidate, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pair(devPtr, size);
        require_current_device(sim);
        note_use(sim.memory, devPtr, size, AccessMode::ReadWrite, "devPtr");
    });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
    return entry(Function::aclrtGetMemInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(free, "free");
        require(total, "total");
        if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
            fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE, "there is no memory attribute %d", static_cast<int>(attr));
        }
        const Heap &heap = sim.memory.space().device(require_current_device(sim).physical_id);
        const AllocationKind &wanted = kAllocationKinds[attr];
        if (wanted.page == kGiantPage && !config().product->has_huge1g_pages) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no 1 GiB pages", config().product->name);
        }
        // Count only whole pages as free; pages of all sizes come from the same memory.
        *free = is_there(wanted) ? heap.free_bytes() / wanted.page * wanted.page : 0;
        *total = is_there(wanted) ? config().product->memory_bytes : 0;
    });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum) {
    return entry(Function::aclrtGetMemUsageInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memUsageInfo, "memUsageInfo");
        require(outputNum, "outputNum");
        *outputNum = 0;
        require_supported();
        if (inputNum == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "inputNum is 0");
        }
        const Device &device = require_device(sim, deviceId);
        require_context(sim);
        require_not_lost(device);
        const auto all = usage_of(sim.memory.space().device(device.physical_id));
        *outputNum = std::min(inputNum, all.size());
        std::copy_n(all.begin(), *outputNum, memUsageInfo);
    });
}

aclError aclrtCheckMemType(void **addrList, uint32_t size, uint32_t memType, uint32_t *checkResult, uint32_t reserve) {
    return entry(Function::aclrtCheckMemType, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(addrList, "addrList");
        require(checkResult, "checkResult");
        // Refuse ACL_RT_MEM_TYPE_RSVD, because the runtime treats it as an unknown type (section 1).
        if (reserve != 0 || size == 0 || (memType & ~(ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP)) != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "reserve %u is not 0, or there is no address, or no memory type %#x",
                 reserve, memType);
        }
        require_context(sim);
        *checkResult = std::all_of(addrList, addrList + size, [&](const void *address) REQUIRES(engine_lock) {
            return (memType & ACL_RT_MEM_TYPE_DEV) != 0 && sim.memory.space().locate(address).place == Place::Device &&
                   sim.memory.space().is_live(address, 1);
        });
    });
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes) {
    return entry(Function::aclrtPointerGetAttributes, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require(attributes, "attributes");
        const Location location = sim.memory.space().locate(ptr);
        if (location.place == Place::Unregistered && !config().has(Change::AnswersForPlainMemory)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not memory of the runtime; newer releases say so in the attributes",
                 ptr);
        }
        const std::optional<Block> block = sim.memory.space().find(ptr);
        const bool has_device = location.place == Place::Device || location.place == Place::Managed;
        *attributes = {};
        attributes->location.type = location_type(location.place);
        attributes->location.id = has_device ? user_id_of(sim, location, ptr) : 0;
        attributes->pageSize = static_cast<std::uint32_t>(block ? block->page : kSmallPage);
    });
}

aclError aclrtMemP2PMap(void *devPtr, size_t size, int32_t dstDevId, uint64_t flags) {
    return entry(Function::aclrtMemP2PMap, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pair(devPtr, size);
        require_no_flags(flags);
        require_supported();
        const Device &peer = require_device(sim, dstDevId);
        const Device &device = require_current_device(sim);
        const Location location = sim.memory.space().locate(devPtr);
        if (location.place != Place::Device || !sim.memory.space().is_live(devPtr, size)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes at %p are not live device memory%s", size, devPtr,
                 explain_address(sim.memory, devPtr).c_str());
        }
        note_use(sim.memory, devPtr, size, AccessMode::None, "devPtr");
        if (&peer != &device && device.accessible_peers.count(peer.physical_id) == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "access to device %d is not enabled: aclrtDeviceEnablePeerAccess",
                 dstDevId);
        }
    });
}
