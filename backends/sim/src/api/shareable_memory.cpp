// SPDX-License-Identifier: Apache-2.0
// Physical memory that processes share by handle (memory_cmo_allocator.md section 4). Each function keeps the order of
// checks given there.
#include <cstring>
#include <memory>

#include "api/entry.h"
#include "memory/memory.h"
#include "memory/virtual_memory.h"

using namespace aclsim;

namespace {

constexpr std::uint64_t kHighestExportFlag = 1;

void require_export_flags(std::uint64_t flags) {
    if (flags > kHighestExportFlag) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no export flag %#llx", static_cast<unsigned long long>(flags));
    }
}

const ExportedPages &export_memory(Simulator &sim, aclrtDrvMemHandle handle, std::uint64_t flags)
    REQUIRES(engine_lock) {
    PhysicalMemory &memory = require_handle<PhysicalMemory>(sim, handle, "physical memory");
    if (memory.exported || memory.is_imported()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the memory was exported already, or is another process's");
    }
    return sim.memory.virtual_memory.export_memory(memory, flags == ACL_RT_VMM_EXPORT_FLAG_DEFAULT);
}

void require_share_type(aclrtMemSharedHandleType type) {
    if (type != ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT && type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no type %d of shared handles", static_cast<int>(type));
    }
    // Fabric handles work between servers, as aclrtIpcMemImportPidInterServer does, and exist on the same products.
    const bool has_fabric = is_documented_for(Function::aclrtIpcMemImportPidInterServer, *config().product);
    if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC && !has_fabric) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no fabric handles", config().product->name);
    }
}

// Reads the number from a handle. A fabric handle has room for more; the rest is 0.
std::uint64_t read_number(const void *handle) {
    std::uint64_t number = 0;
    std::memcpy(&number, handle, sizeof number);
    return number;
}

void write_number(aclrtMemSharedHandleType type, std::uint64_t number, void *handle) {
    if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
        std::memset(handle, 0, sizeof(aclrtMemFabricHandle));
    }
    std::memcpy(handle, &number, sizeof number);
}

void permit(Simulator &sim, std::uint64_t number, const std::int32_t *processes, std::size_t count)
    REQUIRES(engine_lock) {
    for (const auto &memory : sim.core.registry().all<PhysicalMemory>()) {
        if (memory->exported && memory->exported->number() == number) {
            memory->exported->permit(processes, count);
            return;
        }
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "this process has exported no memory as %#llx",
         static_cast<unsigned long long>(number));
}

void require_processes(const std::int32_t *processes, std::size_t count) {
    require(processes, "pid");
    if (count == 0) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "pidNum is 0");
    }
}

aclrtDrvMemHandle import_memory(Simulator &sim, std::uint64_t number, const Device &device) REQUIRES(engine_lock) {
    auto pages = ExportedPages::open(SharedMemory::name_of(number));
    if (!pages) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "no other process that lives exports memory as %#llx",
             static_cast<unsigned long long>(number));
    }
    aclrtPhysicalMemProp prop = {};
    prop.memAttr = pages->attribute;
    if (pages->location.place == Place::Device) {
        pages->location.device = device.physical_id;
        prop.location = {device.user_id, ACL_MEM_LOCATION_TYPE_DEVICE};
    } else {
        prop.location = {0, ACL_MEM_LOCATION_TYPE_HOST};
    }
    auto memory = make_ref<PhysicalMemory>(sim.memory, *pages, prop);
    sim.core.registry().add(memory);
    return memory->handle();
}

}  // namespace

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                         uint64_t *shareableHandle) {
    return entry(Function::aclrtMemExportToShareableHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        if (handleType != ACL_MEM_HANDLE_TYPE_NONE) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "handle type %d is not ACL_MEM_HANDLE_TYPE_NONE",
                              static_cast<int>(handleType));
        }
        require(shareableHandle, "shareableHandle");
        require_export_flags(flags);
        *shareableHandle = export_memory(sim, handle, flags).number();
    });
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType shareType,
                                           void *shareableHandle) {
    return entry(Function::aclrtMemExportToShareableHandleV2, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        require(shareableHandle, "shareableHandle");
        require_share_type(shareType);
        require_export_flags(flags);
        if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
            require_context(sim);
        }
        write_number(shareType, export_memory(sim, handle, flags).number(), shareableHandle);
    });
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum) {
    return entry(Function::aclrtMemSetPidToShareableHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_processes(pid, pidNum);
        permit(sim, shareableHandle, pid, pidNum);
    });
}

aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle, aclrtMemSharedHandleType shareType, int32_t *pid,
                                           size_t pidNum) {
    return entry(Function::aclrtMemSetPidToShareableHandleV2, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(shareableHandle, "shareableHandle");
        require_processes(pid, pidNum);
        require_share_type(shareType);
        permit(sim, read_number(shareableHandle), pid, pidNum);
    });
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle) {
    return entry(Function::aclrtMemImportFromShareableHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        *handle = import_memory(sim, shareableHandle, require_device(sim, deviceId));
    });
}

aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle, aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle *handle) {
    return entry(Function::aclrtMemImportFromShareableHandleV2, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(shareableHandle, "shareableHandle");
        require(handle, "handle");
        require_no_flags(flags);
        require_share_type(shareType);
        *handle = import_memory(sim, read_number(shareableHandle), require_current_device(sim));
    });
}
