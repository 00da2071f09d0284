// SPDX-License-Identifier: Apache-2.0
// Managed memory: advice, attributes, prefetching (memory_cmo_allocator.md section 5).
#include "memory/managed_memory.h"

#include <algorithm>

#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/prefetch.h"

using namespace aclsim;

namespace {

void require_range(const void *pointer, std::uint64_t size) {
    require(pointer, "ptr");
    require_size(size);
}

void require_managed(Simulator &sim, const void *pointer, std::uint64_t size) REQUIRES(engine_lock) {
    if (!sim.memory.managed_memory.contains(pointer, size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes at %p are not inside one piece of managed memory%s",
             static_cast<unsigned long long>(size), pointer, explain_address(sim.memory, pointer).c_str());
    }
}

void require_location(Simulator &sim, const aclrtMemManagedLocation &location) {
    const bool is_known =
        location.type >= ACL_MEM_LOCATIONTYPE_DEVICE && location.type <= ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT;
    const bool is_device = location.type == ACL_MEM_LOCATIONTYPE_DEVICE;
    const auto devices = static_cast<std::int32_t>(sim.machine.devices.size());
    if (!is_known || (is_device && (location.id < 0 || location.id >= devices))) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no location of type %d with id %d", static_cast<int>(location.type),
             location.id);
    }
}

void require_range_attribute(aclrtMemManagedRangeAttribute attribute, std::size_t size) {
    const bool is_list = attribute == ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    if (attribute < ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no attribute %d", static_cast<int>(attribute));
    }
    if (is_list ? size == 0 || size % sizeof(std::int32_t) != 0 : size != sizeof(std::int32_t)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %d does not take %zu bytes", static_cast<int>(attribute), size);
    }
}

void get_attribute(Simulator &sim, aclrtMemManagedRangeAttribute attribute, const void *pointer, std::size_t size,
                   void *data, std::size_t data_size) REQUIRES(engine_lock) {
    auto *values = static_cast<std::int32_t *>(data);
    if (attribute != ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        *values = sim.memory.managed_memory.attribute(attribute, pointer, size);
        return;
    }
    const std::size_t room = data_size / sizeof *values;
    const std::set<std::int32_t> ids = sim.memory.managed_memory.accessed_by(pointer, size);
    std::fill_n(values, room, ManagedMemory::kNoLocation);
    std::copy_n(ids.begin(), std::min(room, ids.size()), values);
}

// Checks the indices of the ranges at which the locations begin: the first is 0, and they rise.
void require_rising(const std::size_t *indexes, std::size_t locations, std::size_t count) {
    for (std::size_t i = 0; i < locations; ++i) {
        if (indexes[i] >= count || (i == 0 ? indexes[i] != 0 : indexes[i] <= indexes[i - 1])) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "prefetchLocIdxs[%zu] is %zu; they begin at 0, rise, and stay below %zu",
                 i, indexes[i], count);
        }
    }
}

}  // namespace

aclError aclrtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag) {
    return entry(Function::aclrtMemAllocManaged, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ptr, "ptr");
        if (flag != ACL_RT_MEM_ATTACH_GLOBAL) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "flag %u is not ACL_RT_MEM_ATTACH_GLOBAL", flag);
        }
        require_supported();
        if (size == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size is 0");
        }
        const Device &device = require_current_device(sim);
        require_not_poisoned(device);
        void *address = sim.memory.managed_memory.allocate(size, device.physical_id);
        if (address == nullptr) {
            fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%llu bytes of managed memory do not fit",
                 static_cast<unsigned long long>(size));
        }
        *ptr = address;
        note_allocation(sim.memory, address, size);
    });
}

aclError aclrtMemManagedAdvise(const void *const ptr, uint64_t size, aclrtMemManagedAdviseType advise,
                               aclrtMemManagedLocation location) {
    return entry(Function::aclrtMemManagedAdvise, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_range(ptr, size);
        require_supported();
        if (advise < ACL_MEM_ADVISE_SET_READ_MOSTLY || advise > ACL_MEM_ADVISE_UNSET_ACCESSED_BY) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no advice %d", static_cast<int>(advise));
        }
        if (advise >= ACL_MEM_ADVISE_SET_PREFERRED_LOCATION) {  // the first two kinds of advice ignore the location
            require_location(sim, location);
        }
        require_context(sim);
        if (size % kHugePage != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "size %llu is not a multiple of 2 MiB",
                 static_cast<unsigned long long>(size));
        }
        require_managed(sim, ptr, size);
        sim.memory.managed_memory.advise(ptr, size, advise, location);
    });
}

aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute attribute, const void *ptr, size_t size, void *data,
                                size_t dataSize) {
    return entry(Function::aclrtMemManagedGetAttr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_range(ptr, size);
        require(data, "data");
        require_supported();
        require_range_attribute(attribute, dataSize);
        require_managed(sim, ptr, size);
        get_attribute(sim, attribute, ptr, size, data, dataSize);
    });
}

aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute *attributes, size_t numAttributes, const void *ptr,
                                 size_t size, void **data, size_t *dataSizes) {
    return entry(Function::aclrtMemManagedGetAttrs, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(attributes, "attributes");
        require_range(ptr, size);
        require(data, "data");
        require(dataSizes, "dataSizes");
        if (numAttributes == 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "numAttributes is 0");
        }
        require_supported();
        for (std::size_t i = 0; i < numAttributes; ++i) {
            require_range_attribute(attributes[i], dataSizes[i]);
            if (data[i] == nullptr) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "data[%zu] is NULL", i);
            }
        }
        require_managed(sim, ptr, size);
        for (std::size_t i = 0; i < numAttributes; ++i) {
            get_attribute(sim, attributes[i], ptr, size, data[i], dataSizes[i]);
        }
    });
}

aclError aclrtMemManagedPrefetchAsync(const void *ptr, size_t size, aclrtMemManagedLocation location, uint32_t flags,
                                      aclrtStream stream) {
    return entry(Function::aclrtMemManagedPrefetchAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_range(ptr, size);
        require_no_flags(flags);
        require_supported();
        ContextStream &on = require_stream(sim, stream);
        require_location(sim, location);
        require_managed(sim, ptr, size);
        note_use(sim.memory, ptr, size, AccessMode::Read, "ptr");
        sim.core.admit(lock, require_own(sim, on));
        sim.core.submit(on, PrefetchTask(sim.memory, ptr, size));
    });
}

aclError aclrtMemManagedPrefetchBatchAsync(const void **ptrs, size_t *sizes, size_t count,
                                           aclrtMemManagedLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                           size_t numPrefetchLocs, uint64_t flags, aclrtStream stream) {
    return entry(Function::aclrtMemManagedPrefetchBatchAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(ptrs, "ptrs");
        require(sizes, "sizes");
        require(prefetchLocs, "prefetchLocs");
        require(prefetchLocIdxs, "prefetchLocIdxs");
        if (count == 0 || numPrefetchLocs == 0 || count < numPrefetchLocs) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu ranges for %zu locations", count, numPrefetchLocs);
        }
        require_no_flags(flags);
        require_supported();
        require_stream(sim, stream);
        require_rising(prefetchLocIdxs, numPrefetchLocs, count);
        std::for_each(prefetchLocs, prefetchLocs + numPrefetchLocs,
                      [&](const auto &location) { require_location(sim, location); });
        for (std::size_t i = 0; i < count; ++i) {
            if (ptrs[i] == nullptr || sizes[i] == 0) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "range %zu is NULL or empty", i);
            }
            require_managed(sim, ptrs[i], sizes[i]);
        }
        for (std::size_t i = 0; i < count; ++i) {
            ContextStream &on = require_own_stream(sim, stream);  // recheck: admit() may have waited
            sim.core.admit(lock, on);
            note_use(sim.memory, ptrs[i], sizes[i], AccessMode::Read, "ptrs");
            sim.core.submit(on, PrefetchTask(sim.memory, ptrs[i], sizes[i]));
        }
    });
}
