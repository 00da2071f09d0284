// SPDX-License-Identifier: Apache-2.0
#include "runtime_calls.h"

#include <iterator>
#include <limits>
#include <map>
#include <mutex>

#include "abi/aclsim.h"

namespace companions {
namespace {

struct Flag {
    std::uint32_t inner;
    std::uint32_t documented;
};

constexpr Flag kStreamFlags[] = {
    {RT_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_LAUNCH}, {RT_STREAM_FAST_SYNC, ACL_STREAM_FAST_SYNC},
    {RT_STREAM_PERSISTENT, ACL_STREAM_PERSISTENT},   {RT_STREAM_HUGE, ACL_STREAM_HUGE},
    {RT_STREAM_AICPU, ACL_STREAM_CPU_SCHEDULE},      {RT_STREAM_CP_PROCESS_USE, ACL_STREAM_DEVICE_USE_ONLY},
};

struct Policy {
    std::uint32_t bit;
    aclrtMemMallocPolicy policy;
};

constexpr Policy kPolicies[] = {
    {RT_MEMORY_POLICY_HUGE_PAGE_FIRST, ACL_MEM_MALLOC_HUGE_FIRST},
    {RT_MEMORY_POLICY_HUGE_PAGE_ONLY, ACL_MEM_MALLOC_HUGE_ONLY},
    {RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY},
    {RT_MEMORY_POLICY_HUGE_PAGE_FIRST_P2P, ACL_MEM_MALLOC_HUGE_FIRST_P2P},
    {RT_MEMORY_POLICY_HUGE_PAGE_ONLY_P2P, ACL_MEM_MALLOC_HUGE_ONLY_P2P},
    {RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY_P2P, ACL_MEM_MALLOC_NORMAL_ONLY_P2P},
    {RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY, ACL_MEM_MALLOC_HUGE1G_ONLY},
    {RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY_P2P, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P},
};

struct Type {
    rtDataType_t inner;
    aclDataType documented;
};

constexpr Type kTypes[] = {
    {RT_DATA_TYPE_FP32, ACL_FLOAT},    {RT_DATA_TYPE_FP16, ACL_FLOAT16}, {RT_DATA_TYPE_INT16, ACL_INT16},
    {RT_DATA_TYPE_INT4, ACL_INT4},     {RT_DATA_TYPE_INT8, ACL_INT8},    {RT_DATA_TYPE_INT32, ACL_INT32},
    {RT_DATA_TYPE_BFP16, ACL_BF16},    {RT_DATA_TYPE_UINT8, ACL_UINT8},  {RT_DATA_TYPE_UINT16, ACL_UINT16},
    {RT_DATA_TYPE_UINT32, ACL_UINT32},
};

// Kinds of memory by the numbers that rtDrvMemProp_t has for its pages. The numbers of its memory are those of a
// driver: HBM, DDR, and both for other devices.
constexpr aclrtMemAttr kPages[] = {ACL_MEM_NORMAL, ACL_MEM_HUGE, ACL_MEM_HUGE1G};
constexpr aclrtMemAttr kPagesForOthers[] = {ACL_MEM_P2P_NORMAL, ACL_MEM_P2P_HUGE, ACL_MEM_P2P_HUGE1G};
constexpr std::uint32_t kMemoryForOthers = 2;
constexpr std::uint32_t kMemoryKinds = 4;

// Bytes behind the address that aclrtGetHardwareSyncAddr returns.
constexpr std::uint32_t kControlBytes = 4096;

std::int32_t current_device() {
    std::int32_t device = 0;
    const aclError code = aclrtGetDevice(&device);
    if (code != ACL_SUCCESS) {
        refuse(code, "the thread has no current device; call rtSetDevice");
    }
    return device;
}

aclError copy_text(const std::string &text, char *to, std::uint32_t length) {
    if (text.size() >= length) {
        refuse(ACL_ERROR_RT_PARAM_INVALID,
               std::to_string(length) + " bytes are too few for \"" + text + "\" with its end");
    }
    std::memcpy(to, text.c_str(), text.size() + 1);
    return ACL_SUCCESS;
}

std::int64_t attribute_of(rtFuncHandle function, aclrtFuncAttribute attribute) {
    std::int64_t value = 0;
    demand(aclrtGetFunctionAttribute(function, attribute, &value));
    return value;
}

// Numbers of cores that work together, in the order of the meta information.
struct Ratio {
    std::uint16_t cube;
    std::uint16_t vector;
};

Ratio ratio_of(rtFuncHandle function) {
    const std::int64_t value = attribute_of(function, ACL_FUNC_ATTR_KERNEL_RATIO);
    return {static_cast<std::uint16_t>(value >> 16), static_cast<std::uint16_t>(value)};
}

// Returns an item of the meta information of a function in its binary. Kinds of kernels are 1 for AI cores that are not
// divided, 2 for cubes, 3 for vectors, 4 for both with a main cube, 5 for both with a main vector.
std::uint32_t meta_of(rtFuncHandle function, rtFunctionMetaType type) {
    const std::int64_t kind = attribute_of(function, ACL_FUNC_ATTR_KERNEL_TYPE);
    if (type == RT_FUNCTION_TYPE_KERNEL_TYPE && kind <= ACL_KERNEL_TYPE_MIX) {
        const bool is_vector_main = kind == ACL_KERNEL_TYPE_MIX && ratio_of(function).cube == 0;
        return static_cast<std::uint32_t>(kind) + (is_vector_main ? 2 : 1);
    }
    if (type == RT_FUNCTION_TYPE_MIX_TASK_RATION && kind == ACL_KERNEL_TYPE_MIX) {
        const Ratio ratio = ratio_of(function);
        std::uint32_t item = 0;
        static_assert(sizeof item == sizeof ratio);
        std::memcpy(&item, &ratio, sizeof item);
        return item;
    }
    refuse(ACL_ERROR_RT_PARAM_INVALID,
           "the function has no meta information " + std::to_string(static_cast<int>(type)));
}

struct OpenMemory {
    std::mutex mutex;
    std::map<const void *, std::string> keys;
};

OpenMemory &open_memories() {
    static auto *const open = new OpenMemory;  // never destroyed, because threads may use it until the process ends
    return *open;
}

}  // namespace

void refuse_value(const char *argument, std::uint64_t value, const char *hint) {
    refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
           std::string(argument) + " is " + std::to_string(value) + "; the simulator supports " + hint);
}

void require_current(std::int32_t device) {
    const std::int32_t current = current_device();
    if (device != current) {
        refuse(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(device) + " is not the current device, " +
                                                  std::to_string(current) + "; call rtSetDevice");
    }
}

std::uint32_t stream_priority(std::int32_t priority) {
    if (priority < 0) {
        refuse(ACL_ERROR_RT_PARAM_INVALID, "priority is " + std::to_string(priority));
    }
    return static_cast<std::uint32_t>(priority);
}

std::uint32_t stream_flags(std::uint32_t flags) {
    std::uint32_t documented = 0;
    std::uint32_t rest = flags;
    for (const Flag &flag : kStreamFlags) {
        if ((flags & flag.inner) != 0) {
            documented |= flag.documented;
            rest &= ~flag.inner;
        }
    }
    if (rest != 0) {
        refuse_value("flags", flags, "RT_STREAM_FAST_LAUNCH, _FAST_SYNC, _PERSISTENT, _HUGE, _AICPU, _CP_PROCESS_USE");
    }
    return documented;
}

// Memory without a policy has huge pages, as far as there are any.
aclrtMemMallocPolicy malloc_policy(rtMemType_t type) {
    if ((type & RT_MEMORY_HOST) == RT_MEMORY_HOST || (type & RT_MEMORY_SVM) == RT_MEMORY_SVM) {
        refuse_value("type", type, "memory of a device");
    }
    for (const Policy &each : kPolicies) {
        if ((type & each.bit) != 0) {
            return each.policy;
        }
    }
    return ACL_MEM_MALLOC_HUGE_FIRST;
}

aclrtMemcpyKind copy_kind(rtMemcpyKind_t kind) {
    switch (static_cast<int>(kind)) {
        case RT_MEMCPY_HOST_TO_HOST:
        case RT_MEMCPY_HOST_TO_DEVICE:
        case RT_MEMCPY_DEVICE_TO_HOST:
        case RT_MEMCPY_DEVICE_TO_DEVICE:
            return static_cast<aclrtMemcpyKind>(kind);
        case RT_MEMCPY_HOST_TO_DEVICE_EX:
            return ACL_MEMCPY_HOST_TO_DEVICE;
        case RT_MEMCPY_DEVICE_TO_HOST_EX:
            return ACL_MEMCPY_DEVICE_TO_HOST;
        case RT_MEMCPY_MANAGED:
        case RT_MEMCPY_DEFAULT:
            return ACL_MEMCPY_DEFAULT;
        case RT_MEMCPY_ADDR_DEVICE_TO_DEVICE:
            refuse_value("kind", kind, "copies that name both addresses");
        default:
            refuse(ACL_ERROR_RT_PARAM_INVALID, "there is no kind " + std::to_string(static_cast<int>(kind)));
    }
}

aclDataType data_type(rtDataType_t type) {
    for (const Type &each : kTypes) {
        if (each.inner == type) {
            return each.documented;
        }
    }
    refuse(ACL_ERROR_RT_PARAM_INVALID, "there is no data type " + std::to_string(static_cast<int>(type)));
}

aclrtPhysicalMemProp physical_property(const rtDrvMemProp_t *property) {
    require(property, "prop");
    if (property->pg_type >= std::size(kPages) || property->mem_type >= kMemoryKinds) {
        refuse(ACL_ERROR_RT_PARAM_INVALID, "there are no pages " + std::to_string(property->pg_type) + " of memory " +
                                               std::to_string(property->mem_type));
    }
    aclrtPhysicalMemProp result = {};
    result.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    result.memAttr = (property->mem_type < kMemoryForOthers ? kPages : kPagesForOthers)[property->pg_type];
    result.location.id = property->devid;
    result.location.type = static_cast<aclrtMemLocationType>(property->side);
    return result;
}

aclError allocate(void **memory, std::uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise,
                  rtMallocConfig_t *config) {
    const auto documented = static_cast<aclrtMemMallocPolicy>(policy);
    auto *const settings = reinterpret_cast<aclrtMallocConfig *>(config);
    switch (static_cast<int>(advise)) {
        case RT_MEM_ADVISE_NONE:
        case RT_MEM_ADVISE_DVPP:
            return aclrtMallocWithCfg(memory, size, documented, settings);
        case RT_MEM_ADVISE_TS:
            return aclrtMallocForTaskScheduler(memory, size, documented, settings);
        case RT_MEM_ADVISE_CACHED:
            return aclrtMallocCached(memory, size, documented);
        default:
            refuse(ACL_ERROR_RT_PARAM_INVALID, "there is no advise " + std::to_string(static_cast<int>(advise)));
    }
}

aclError attributes_of(rtPointerAttributes_t *attributes, const void *memory) {
    require(attributes, "attributes");
    aclrtPtrAttributes documented = {};
    const aclError code = aclrtPointerGetAttributes(memory, &documented);
    if (code == ACL_SUCCESS) {
        const bool is_on_device = documented.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
        const bool is_pinned = documented.location.type == ACL_MEM_LOCATION_TYPE_HOST;
        attributes->memoryType =
            is_on_device ? RT_MEMORY_TYPE_DEVICE : (is_pinned ? RT_MEMORY_TYPE_HOST : RT_MEMORY_TYPE_USER);
        attributes->locationType = static_cast<rtMemLocationType>(documented.location.type);
        attributes->deviceID = documented.location.id;
        attributes->pageSize = documented.pageSize;
    }
    return code;
}

aclError complete(rtStream_t stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    const aclError code = aclrtStreamQuery(stream, &status);
    return code == ACL_SUCCESS && status != ACL_STREAM_STATUS_COMPLETE ? ACL_ERROR_RT_STREAM_NOT_COMPLETE : code;
}

aclError complete_event(rtEvent_t event) {
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    const aclError code = aclrtQueryEvent(event, &status);
    return code == ACL_SUCCESS && status != ACL_EVENT_STATUS_COMPLETE ? ACL_ERROR_RT_EVENT_NOT_COMPLETE : code;
}

aclError control_address(std::uint64_t *address, std::uint32_t *length) {
    require(address, "addr");
    require(length, "len");
    void *found = nullptr;
    const aclError code = aclrtGetHardwareSyncAddr(&found);
    if (code == ACL_SUCCESS) {
        *address = reinterpret_cast<std::uintptr_t>(found);
        *length = kControlBytes;
    }
    return code;
}

aclError core_count(aclrtDevAttr attribute, std::uint32_t *count) {
    require(count, "the count");
    std::int64_t value = 0;
    const aclError code = aclrtGetDeviceInfo(static_cast<std::uint32_t>(current_device()), attribute, &value);
    if (code == ACL_SUCCESS) {
        *count = static_cast<std::uint32_t>(value);
    }
    return code;
}

aclError device_ids(std::uint32_t *devices, std::uint32_t length) {
    require(devices, "devices");
    std::uint32_t count = 0;
    const aclError code = aclrtGetDeviceCount(&count);
    for (std::uint32_t i = 0; code == ACL_SUCCESS && i < length && i < count; ++i) {
        devices[i] = i;
    }
    return code;
}

aclError failure_mode(rtStream_t stream, std::uint64_t *mode) {
    require(mode, "stmMode");
    aclrtStreamAttrValue value = {};
    const aclError code = aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value);
    if (code == ACL_SUCCESS) {
        *mode = value.failureMode;
    }
    return code;
}

aclError flags_of(rtStream_t stream, std::uint32_t *flags) {
    require(flags, "flags");
    std::uint32_t documented = 0;
    const aclError code = aclrtStreamGetFlags(stream, &documented);
    if (code == ACL_SUCCESS) {
        *flags = 0;
        for (const Flag &flag : kStreamFlags) {
            *flags |= (documented & flag.documented) != 0 ? flag.inner : 0;
        }
    }
    return code;
}

aclError last_task(std::uint32_t *task, std::uint32_t *stream) {
    require(task, "taskId");
    require(stream, "streamId");
    return aclsimGetLastTask(task, stream);
}

aclError meta_information(rtFuncHandle function, rtFunctionMetaType type, void *data, std::uint32_t length) {
    require(function, "funcHandle");
    require(data, "data");
    const std::uint32_t item = meta_of(function, type);
    if (length != sizeof item) {
        refuse(ACL_ERROR_RT_PARAM_INVALID,
               "length is " + std::to_string(length) + "; the item has " + std::to_string(sizeof item) + " bytes");
    }
    std::memcpy(data, &item, sizeof item);
    return ACL_SUCCESS;
}

aclError size_of_meta_information(rtFuncHandle function, rtFunctionMetaType type, std::size_t *size) {
    require(function, "funcHandle");
    require(size, "size");
    const std::uint32_t item = meta_of(function, type);
    *size = sizeof item;
    return ACL_SUCCESS;
}

aclError soc_name(char *name, std::uint32_t length) {
    require(name, "ver");
    const char *const known = aclrtGetSocName();
    return copy_text(known == nullptr ? "" : known, name, length);
}

// Values of the product's description that the simulator has.
aclError soc_value(const char *label, const char *key, char *value, std::uint32_t length) {
    require(label, "label");
    require(key, "key");
    require(value, "val");
    struct Known {
        const char *label;
        const char *key;
        aclrtDevAttr attribute;
    };
    constexpr Known kKnown[] = {
        {"version", "NpuArch", ACL_DEV_ATTR_NPU_ARCH},
        {"SoCInfo", "ai_core_cnt", ACL_DEV_ATTR_AICORE_CORE_NUM},
        {"SoCInfo", "cube_core_cnt", ACL_DEV_ATTR_CUBE_CORE_NUM},
        {"SoCInfo", "vector_core_cnt", ACL_DEV_ATTR_VECTOR_CORE_NUM},
        {"SoCInfo", "l2_size", ACL_DEV_ATTR_L2_CACHE_SIZE},
        {"SoCInfo", "memory_size", ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE},
    };
    const auto is_asked = [&](const char *of_label, const char *of_key) {
        return std::strcmp(label, of_label) == 0 && std::strcmp(key, of_key) == 0;
    };
    if (is_asked("version", "SoC_version")) {
        return soc_name(value, length);
    }
    for (const Known &each : kKnown) {
        if (is_asked(each.label, each.key)) {
            std::int64_t number = 0;
            const aclError code = aclrtGetDeviceInfo(0, each.attribute, &number);
            return code == ACL_SUCCESS ? copy_text(std::to_string(number), value, length) : code;
        }
    }
    std::string known = "SoC_version of version";
    for (const Known &each : kKnown) {
        known += std::string(", ") + each.key + " of " + each.label;
    }
    refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
           std::string("the simulator does not know ") + key + " of " + label + "; it knows " + known);
}

// The highest number is the time limit that rtSetOpWaitTimeOut sets, as in a call without one.
aclError wait_for_event(rtStream_t stream, rtEvent_t event, std::uint32_t timeout) {
    if (timeout == std::numeric_limits<std::uint32_t>::max()) {
        return aclrtStreamWaitEvent(stream, event);
    }
    if (timeout > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
        refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout is " + std::to_string(timeout));
    }
    return aclrtStreamWaitEventWithTimeout(stream, event, static_cast<std::int32_t>(timeout));
}

aclError open_memory(void **memory, const char *key) {
    require(memory, "ptr");
    require(key, "name");
    OpenMemory &open = open_memories();
    const std::lock_guard<std::mutex> guard(open.mutex);
    const aclError code = aclrtIpcMemImportByKey(memory, key, 0);
    if (code == ACL_SUCCESS) {
        open.keys[*memory] = key;
    }
    return code;
}

aclError close_memory(const void *memory) {
    require(memory, "ptr");
    OpenMemory &open = open_memories();
    const std::lock_guard<std::mutex> guard(open.mutex);
    const auto found = open.keys.find(memory);
    if (found == open.keys.end()) {
        refuse(ACL_ERROR_RT_PARAM_INVALID, "ptr is not memory that rtIpcOpenMemory has opened");
    }
    const aclError code = aclrtIpcMemClose(found->second.c_str());
    if (code == ACL_SUCCESS) {
        open.keys.erase(found);
    }
    return code;
}

}  // namespace companions
