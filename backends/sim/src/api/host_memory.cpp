// SPDX-License-Identifier: Apache-2.0
// Pinned host memory, and host memory that the user registers (memory_cmo_allocator.md section 2).
#include "api/entry.h"
#include "memory/address_space.h"
#include "memory/malloc_config.h"
#include "memory/memory.h"
#include "support/pages.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kRegisterTypes = ACL_HOST_REGISTER_IOMEMORY | ACL_HOST_REGISTER_READONLY;
constexpr std::uint32_t kRegisterFlags =
    ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;

void *allocate_pinned(Simulator &sim, Lock &lock, std::uint64_t size, std::uint16_t module) REQUIRES(engine_lock) {
    constexpr std::uint64_t kUnit = 32;
    const std::uint64_t bytes = round_up(size, kUnit);
    void *address = allocate_patiently(sim.memory, lock, [&]() REQUIRES(engine_lock) {
        return bytes < size ? nullptr : sim.memory.space().pinned().allocate(bytes, page_for(bytes), module);
    });
    if (address == nullptr) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes of pinned host memory do not fit",
             static_cast<unsigned long long>(size));
    }
    note_allocation(sim.memory, address, size);
    return address;
}

void free_host(Simulator &sim, void *pointer) REQUIRES(engine_lock) {
    if (!sim.memory.space().is_pinned_block(pointer)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of live pinned host memory%s", pointer,
             explain_address(sim.memory, pointer).c_str());
    }
    const Block block = *sim.memory.space().pinned().find(pointer);
    if (sim.memory.space().overlaps_range(pointer, block.size)) {
        sim.core.observers().report<kMemory>(&Observer::freed_registered, pointer);
    }
    note_release(sim.memory, pointer);
    sim.memory.space().free_pinned(pointer);
}

// Registers host memory, which then counts as pinned and has the same address on the device. The driver maps whole
// pages, and its checks come last (hardware_seen.md section 4.6); pinning memory does not map it (hardware_seen.md
// section 4.19).
void register_host(Simulator &sim, void *pointer, std::uint64_t size, bool is_mapped) REQUIRES(engine_lock) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (size > UINTPTR_MAX - address) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%p has no %llu bytes behind it", pointer,
             static_cast<unsigned long long>(size));
    }
    const Place place = sim.memory.space().locate(pointer).place;
    const bool is_of_host = place == Place::Unregistered || place == Place::Pinned;
    if (!is_of_host || !sim.memory.space().is_live(pointer, size) || !has_pages(pointer, size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes at %p are not live memory of the host%s",
             static_cast<unsigned long long>(size), pointer, explain_address(sim.memory, pointer).c_str());
    }
    if (sim.memory.space().overlaps_range(pointer, size)) {
        fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "some of the %llu bytes at %p are registered already",
             static_cast<unsigned long long>(size), pointer);
    }
    if (is_mapped && (address % kSmallPage != 0 || size % kSmallPage != 0)) {
        fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
             "%llu bytes at %p are not whole pages; for a mapping, address and size must be multiples of 4 KiB",
             static_cast<unsigned long long>(size), pointer);
    }
    if (size > config().product->pinned_bytes) {
        fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes are more than can be pinned",
             static_cast<unsigned long long>(size));
    }
    Range range{address, size, {Place::Pinned, 0}, kSmallPage, true};
    range.registration = is_mapped ? Registration::Mapped : Registration::Pinned;
    sim.memory.space().add_range(range);
    sim.core.observers().report<kMemory>(&Observer::registered, pointer, size);
}

const Range *find_registered(Simulator &sim, const void *pointer) REQUIRES(engine_lock) {
    const Range *range = sim.memory.space().find_range(pointer);
    return range != nullptr && range->registration != Registration::None ? range : nullptr;
}

// Checks if an accelerator of the chip reaches host memory. The answer is invented, except for the products: only those
// that register host memory qualify, and only one of them has the newest units.
bool reaches_host(aclrtHacType type) {
    const Product &product = *config().product;
    const bool is_newest_unit = type == ACL_RT_HAC_TYPE_UDMA || type == ACL_RT_HAC_TYPE_CCU;
    return is_documented_for(Function::aclrtHostRegister, product) && (!is_newest_unit || product.has(kHasSimt));
}

}  // namespace

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    return entry(Function::aclrtMallocHost, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(hostPtr, "hostPtr");
        require_size(size);
        require_context(sim);
        *hostPtr = allocate_pinned(sim, lock, size, Heap::kApplication);
    });
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg) {
    return entry(Function::aclrtMallocHostWithCfg, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require_size(size);
        require_attributes(cfg);
        require_context(sim);
        const MallocConfig wanted = read_malloc_config(cfg, {ACL_RT_MEM_ATTR_MODULE_ID, ACL_RT_MEM_ATTR_VA_FLAG});
        if (wanted.keeps_address && !config().product->has(kKeepsHostAddress)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s cannot show host memory at the same address",
                              config().product->name);
        }
        *ptr = allocate_pinned(sim, lock, size, wanted.module);
    });
}

aclError aclrtFreeHost(void *hostPtr) {
    return entry(Function::aclrtFreeHost, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(hostPtr, "hostPtr");
        refuse_dead_block(sim.memory, hostPtr);
        free_host(sim, hostPtr);
    });
}

aclError aclrtFreeHostWithDevSync(void *hostPtr) {
    return entry(Function::aclrtFreeHostWithDevSync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(hostPtr, "hostPtr");
        refuse_dead_block(sim.memory, hostPtr);
        synchronize_device(sim.machine, lock, kNever);  // a failure here frees nothing
        free_host(sim, hostPtr);
    });
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr) {
    return entry(Function::aclrtHostRegister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require(devPtr, "devPtr");
        require_size(size);
        if ((static_cast<std::uint32_t>(type) & ~kRegisterTypes) != 0) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "there is no register type %#x",
                              static_cast<unsigned>(type));
        }
        require_context(sim);
        require_supported();
        register_host(sim, ptr, size, true);
        *devPtr = ptr;
    });
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag) {
    return entry(Function::aclrtHostRegisterV2, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require_size(size);
        require_supported();
        if (flag == 0 || (flag & ~kRegisterFlags) != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "flag %#x has no bit of ACL_HOST_REG_*, or an unknown one", flag);
        }
        require_context(sim);
        if ((flag & ACL_HOST_REG_PINNED) != 0 && find_registered(sim, ptr) == nullptr &&
            sim.memory.space().locate(ptr).place == Place::Pinned) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p is pinned already", ptr);
        }
        register_host(sim, ptr, size, flag != ACL_HOST_REG_PINNED);
    });
}

aclError aclrtHostUnregister(void *ptr) {
    return entry(Function::aclrtHostUnregister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        require_supported();
        require_context(sim);
        const Range *registered = find_registered(sim, ptr);
        if (registered == nullptr || registered->address != reinterpret_cast<std::uintptr_t>(ptr)) {
            fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not the start of registered memory", ptr);
        }
        sim.memory.space().forget_range(registered->address);
        sim.core.observers().report<kMemory>(&Observer::unregistered, ptr);
    });
}

aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag) {
    return entry(Function::aclrtHostGetDevicePointer, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(pHost, "pHost");
        require(pDevice, "pDevice");
        if (flag != 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "flag must be 0");
        }
        require_supported();
        require_context(sim);
        const Range *registered = find_registered(sim, pHost);
        if (registered == nullptr || registered->registration != Registration::Mapped) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not registered for devices; call aclrtHostRegister first", pHost);
        }
        *pDevice = pHost;
    });
}

aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType, aclrtHostMemMapCapability *capabilities) {
    return entry(Function::aclrtHostMemMapCapabilities, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(capabilities, "capabilities");
        require_device(sim, deviceId);
        if (hacType < ACL_RT_HAC_TYPE_STARS || hacType > ACL_RT_HAC_TYPE_CCU) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no accelerator type %d", static_cast<int>(hacType));
        }
        require_context(sim);
        *capabilities = reaches_host(hacType) ? ACL_RT_HOST_MEM_MAP_SUPPORTED : ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
    });
}
