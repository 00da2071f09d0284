// SPDX-License-Identifier: Apache-2.0
// Virtual memory (memory_cmo_allocator.md section 4). Each function keeps the order of checks given there.
#include "memory/virtual_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "api/entry.h"
#include "memory/memory.h"

using namespace aclsim;

namespace {

constexpr std::uint64_t kLargestOfSmallPages = 128ULL << 30;  // limit of one reservation
// Range in which a caller may ask for addresses.
constexpr AddressRange kWishes{16ULL << 40, 24ULL << 40};
constexpr AddressRange kNoUcWishes{40ULL << 40, 224ULL << 40};

constexpr char kWithP2p[] = " 910B 910C 310P 910 950 ";
constexpr char kWithHuge1g[] = " 910B 910C 950 ";

// Memory that can be allocated, the products that have it (nullptr: all), and the attribute that
// aclrtMemGetAllocationPropertiesFromHandle reports for it. Small pages of a device are served as huge ones.
struct PhysicalKind {
    aclrtMemAttr attribute;
    MemoryKind kind;
    std::uint64_t page;
    aclrtMemAttr on_device;
    aclrtMemAttr on_host;
    const char *products;
};
constexpr PhysicalKind kPhysicalKinds[] = {
    {ACL_DDR_MEM_HUGE, MemoryKind::Ddr, kHugePage, ACL_HBM_MEM_HUGE, ACL_MEM_HUGE, nullptr},
    {ACL_DDR_MEM_NORMAL, MemoryKind::Ddr, kHugePage, ACL_HBM_MEM_NORMAL, ACL_MEM_NORMAL, nullptr},
    {ACL_DDR_MEM_P2P_HUGE, MemoryKind::Ddr, kHugePage, ACL_MEM_P2P_HUGE, ACL_MEM_P2P_HUGE, kWithP2p},
    {ACL_DDR_MEM_P2P_NORMAL, MemoryKind::Ddr, kHugePage, ACL_MEM_P2P_NORMAL, ACL_DDR_MEM_P2P_NORMAL, kWithP2p},
    {ACL_HBM_MEM_HUGE, MemoryKind::Hbm, kHugePage, ACL_HBM_MEM_HUGE, ACL_MEM_HUGE, nullptr},
    {ACL_HBM_MEM_NORMAL, MemoryKind::Hbm, kHugePage, ACL_HBM_MEM_NORMAL, ACL_MEM_NORMAL, nullptr},
    {ACL_HBM_MEM_HUGE1G, MemoryKind::Hbm, kGiantPage, ACL_HBM_MEM_HUGE1G, ACL_MEM_HUGE1G, kWithHuge1g},
    {ACL_MEM_NORMAL, MemoryKind::Any, kHugePage, ACL_HBM_MEM_NORMAL, ACL_MEM_NORMAL, nullptr},
    {ACL_MEM_HUGE, MemoryKind::Any, kHugePage, ACL_HBM_MEM_HUGE, ACL_MEM_HUGE, nullptr},
    {ACL_MEM_HUGE1G, MemoryKind::Any, kGiantPage, ACL_HBM_MEM_HUGE1G, ACL_MEM_HUGE1G, " 910B 910C "},
    {ACL_MEM_P2P_NORMAL, MemoryKind::Any, kHugePage, ACL_MEM_P2P_NORMAL, ACL_DDR_MEM_P2P_NORMAL, kWithP2p},
    {ACL_MEM_P2P_HUGE, MemoryKind::Any, kHugePage, ACL_MEM_P2P_HUGE, ACL_MEM_P2P_HUGE, kWithP2p},
    {ACL_MEM_P2P_HUGE1G, MemoryKind::Any, kGiantPage, ACL_MEM_P2P_HUGE1G, ACL_MEM_P2P_HUGE1G, " 910C "},
};

bool is_on_device(const aclrtPhysicalMemProp &prop) { return prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE; }

const PhysicalKind *find_physical_kind(aclrtMemAttr attribute) {
    for (const PhysicalKind &row : kPhysicalKinds) {
        if (row.attribute == attribute) {
            return &row;
        }
    }
    return nullptr;
}

const PhysicalKind &require_physical_kind(const aclrtPhysicalMemProp &prop) {
    const PhysicalKind *found = find_physical_kind(prop.memAttr);
    if (found == nullptr || (is_on_device(prop) && found->kind == MemoryKind::Ddr)) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "memory attribute %d cannot be allocated there",
                          static_cast<int>(prop.memAttr));
    }
    return *found;
}

// Checks that the memory is available. Only devices have 1 GiB pages (section 4, aclrtMallocPhysical).
void require_available(const PhysicalKind &attribute, const aclrtPhysicalMemProp &prop) {
    const std::string product = " " + std::string(config().product->name) + " ";
    const bool is_there = attribute.products == nullptr || std::strstr(attribute.products, product.c_str()) != nullptr;
    if (!is_there || (attribute.page == kGiantPage && !is_on_device(prop))) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no memory of attribute %d there",
                          config().product->name, static_cast<int>(attribute.attribute));
    }
}

PhysicalMemory &require_memory(Simulator &sim, aclrtDrvMemHandle handle) REQUIRES(engine_lock) {
    return require_handle<PhysicalMemory>(sim, handle, "physical memory");
}

void require_reservation(void **pointer, std::uint64_t size, std::uint64_t flags) {
    require(pointer, "virPtr");
    require_size(size);
    if (flags > 1) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "flags %#llx is neither 0 nor 1",
                          static_cast<unsigned long long>(flags));
    }
    require_supported();
}

aclError map(Function function, void *pointer, std::size_t size, std::size_t offset, aclrtDrvMemHandle handle,
             std::uint64_t flags, bool is_accessible) {
    return entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(pointer, "virPtr");
        require(handle, "handle");
        require_size(size);
        require_no_flags(flags);
        require_supported();
        require_memory(sim, handle);
        if (offset != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "offset must be 0");
        }
        auto memory = Ref<PhysicalMemory>(sim.core.registry().find<PhysicalMemory>(handle));
        sim.memory.virtual_memory.map(pointer, size, std::move(memory), is_accessible);
    });
}

}  // namespace

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags) {
    return entry(Function::aclrtMallocPhysical, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(handle, "handle");
        require(prop, "prop");
        require_size(size);
        require_no_flags(flags);
        const aclrtMemLocationType type = prop->location.type;
        if (prop->handleType != ACL_MEM_HANDLE_TYPE_NONE || prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED ||
            type == ACL_MEM_LOCATION_TYPE_UNREGISTERED || type == ACL_MEM_LOCATION_TYPE_MANAGED) {
            fail_unremembered(
                ACL_ERROR_INVALID_PARAM, "handle type %d, allocation type %d or location type %d is not available",
                static_cast<int>(prop->handleType), static_cast<int>(prop->allocationType), static_cast<int>(type));
        }
        const PhysicalKind &attribute = require_physical_kind(*prop);
        if (is_on_device(*prop)) {
            require_not_lost(require_device(sim, prop->location.id));
        } else if (type == ACL_MEM_LOCATION_TYPE_HOST_NUMA) {
            require_context(sim);
        }
        require_available(attribute, *prop);
        *handle = PhysicalMemory::allocate(sim.memory, lock, size, *prop, attribute.page)->handle();
    });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    return entry(Function::aclrtFreePhysical, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        PhysicalMemory &memory = require_memory(sim, handle);
        if (--memory.references == 0) {
            memory.exported.reset();  // handles that another process could import are all gone
            sim.core.registry().remove(memory);
        }
    });
}

aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t, void *expectPtr, uint64_t flags) {
    return entry(Function::aclrtReserveMemAddress, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_reservation(virPtr, size, flags);
        if (expectPtr != nullptr && config().product->has(kHasSimt)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              "%s chooses the addresses itself: expectPtr must be NULL", config().product->name);
        }
        if (flags == 0 && size > kLargestOfSmallPages) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes are more than a reservation for small pages can have: 128 GiB",
                 size);
        }
        *virPtr = sim.memory.virtual_memory.reserve(size, expectPtr, kWishes);
    });
}

aclError aclrtReserveMemAddressNoUCMemory(void **virPtr, size_t size, size_t, void *expectPtr, uint64_t flags) {
    return entry(Function::aclrtReserveMemAddressNoUCMemory, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_reservation(virPtr, size, flags);
        if (expectPtr == nullptr) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              "expectPtr is NULL: these addresses must be chosen by the caller");
        }
        if (size % kGiantPage != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size %zu is not a multiple of 1 GiB", size);
        }
        *virPtr = sim.memory.virtual_memory.reserve(size, expectPtr, kNoUcWishes);
    });
}

aclError aclrtReleaseMemAddress(void *virPtr) {
    return entry(Function::aclrtReleaseMemAddress, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(virPtr, "virPtr");
        sim.memory.virtual_memory.release(virPtr);
    });
}

aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
    return map(Function::aclrtMapMem, virPtr, size, offset, handle, flags, true);
}

aclError aclrtMemMapNoAccess(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
    return map(Function::aclrtMemMapNoAccess, virPtr, size, offset, handle, flags, false);
}

aclError aclrtUnmapMem(void *virPtr) {
    return entry(Function::aclrtUnmapMem, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(virPtr, "virPtr");
        sim.memory.virtual_memory.unmap(virPtr);
    });
}

aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count) {
    return entry(Function::aclrtMemSetAccess, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (virPtr == nullptr || desc == nullptr || count == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "virPtr or desc is NULL, or there is no description");
        }
        for (std::size_t i = 0; i < count; ++i) {  // check all descriptions before applying the first
            const aclrtMemLocation &location = desc[i].location;
            if (location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
                require_device(sim, location.id);
            } else if (location.type != ACL_MEM_LOCATION_TYPE_HOST || location.id != 0) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "description %zu is neither for a device nor for host 0", i);
            }
            sim.memory.virtual_memory.require_settable(virPtr, size, desc[i]);
        }
        std::for_each(desc, desc + count, [&](const auto &it) REQUIRES(engine_lock) {
            sim.memory.virtual_memory.set_access(virPtr, it.location);
        });
    });
}

aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location, uint64_t *flag) {
    constexpr std::uint64_t kNeverGranted = 0x7FFFFFFF;  // marker with success [drv]; its number is not documented
    return entry(Function::aclrtMemGetAccess, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(virPtr, "virPtr");
        require(location, "location");
        require(flag, "flag");
        *flag = sim.memory.virtual_memory.has_access(virPtr, *location)
                    ? std::uint64_t{ACL_RT_MEM_ACCESS_FLAGS_READWRITE}
                    : kNeverGranted;
    });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions, size_t *granularity) {
    return entry(Function::aclrtMemGetAllocationGranularity, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(prop, "prop");
        require(granularity, "granularity");
        const PhysicalKind &attribute = require_physical_kind(*prop);
        if (is_on_device(*prop)) {
            require_device(sim, prop->location.id);
        }
        *granularity = attribute.page;
    });
}

aclError aclrtMemRetainAllocationHandle(void *virPtr, aclrtDrvMemHandle *handle) {
    return entry(Function::aclrtMemRetainAllocationHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(virPtr, "virPtr");
        require(handle, "handle");
        if (!config().has(Change::RetainsAllocationHandles)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "drivers of release %s do not retain handles",
                              config().cann_release->c_str());
        }
        const auto &memory = sim.memory.virtual_memory.memory_at(virPtr);
        if (sim.core.registry().find<PhysicalMemory>(memory->handle()) == nullptr) {
            sim.core.registry().add(memory);  // handles were freed, but the mapping kept the memory
            memory->references = 0;
        }
        ++memory->references;
        *handle = memory->handle();
    });
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop) {
    return entry(Function::aclrtMemGetAllocationPropertiesFromHandle,
                 [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
                     require(handle, "handle");
                     require(prop, "prop");
                     const PhysicalMemory &memory = require_memory(sim, handle);
                     *prop = memory.properties();
                     const PhysicalKind *found = find_physical_kind(prop->memAttr);
                     prop->memAttr = is_on_device(*prop) ? found->on_device : found->on_host;
                 });
}

aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize) {
    return entry(Function::aclrtMemGetAddressRange, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        if (pbase == nullptr && psize == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "pbase and psize are both NULL");
        }
        const std::optional<Block> block = sim.memory.space().find(ptr);
        if (!block) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p is in no live memory of the runtime%s", ptr,
                 explain_address(sim.memory, ptr).c_str());
        }
        if (pbase != nullptr) {
            *pbase = reinterpret_cast<void *>(block->address);
        }
        if (psize != nullptr) {
            *psize = round_up(block->size, block->page);
        }
    });
}

aclError aclrtMemMapSelectedLink(void *virPtrDst, size_t size, void *virPtrSrc, uint32_t linkIdx) {
    return entry(Function::aclrtMemMapSelectedLink, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(virPtrDst, "virPtrDst");
        require_size(size);
        require(virPtrSrc, "virPtrSrc");
        if (linkIdx > ACL_RT_MEM_LINK_IDX_1) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no link %u", linkIdx);
        }
        require_supported();
        sim.memory.virtual_memory.map_like(virPtrDst, size, virPtrSrc);
    });
}

aclError aclrtMemMapSetLink(aclrtDrvMemHandle handle, aclrtMemLinkType adviceLink) {
    return entry(Function::aclrtMemMapSetLink, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        if (adviceLink < ACL_RT_MEM_ACCESS_LINK_SIO || adviceLink > ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no link %d", static_cast<int>(adviceLink));
        }
        if (!config().product->has(kHasSuperPod)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no links to choose from",
                              config().product->name);
        }
        require_memory(sim, handle);
        const bool is_of_950 = adviceLink > ACL_RT_MEM_ACCESS_LINK_HCCS;
        if (is_of_950 != config().product->has(kHasSimt)) {
            fail(ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED, "%s has no link %d", config().product->name,
                 static_cast<int>(adviceLink));
        }
    });
}
