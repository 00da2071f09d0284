// SPDX-License-Identifier: Apache-2.0
// Conversions between the runtime's inner functions (rt*) and the documented functions that do the same: the calls in
// codegen/runtime.py are made of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "abi/acl.h"
#include "refusal.h"
#include "runtime/rt.h"

namespace companions {

// Returns the runtime's own code: those of the layer above it are not known to its inner functions.
inline rtError_t runtime_code(aclError code) {
    switch (code) {
        case ACL_ERROR_INVALID_PARAM:
            return ACL_ERROR_RT_PARAM_INVALID;
        case ACL_ERROR_BAD_ALLOC:
            return ACL_ERROR_RT_MEMORY_ALLOCATION;
        case ACL_ERROR_API_NOT_SUPPORT:
        case ACL_ERROR_FEATURE_UNSUPPORTED:
            return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
        default:
            return code;
    }
}

// Runs the body of an inner function, which returns the code of a documented function or refuses.
template <class Body>
rtError_t forwarded(const char *function, Body body) {
    aclError code = ACL_SUCCESS;
    const aclError refused = checked(function, [&] { code = body(); });
    return runtime_code(refused == ACL_SUCCESS ? code : refused);
}

// Enumerations and structures of both APIs have the same values and layouts, where the table uses this.
template <class T, class Value>
T as(Value value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(value);
    } else {
        return static_cast<T>(value);
    }
}

static_assert(sizeof(rtMemAccessDesc) == sizeof(aclrtMemAccessDesc));
static_assert(sizeof(rtMemLocation) == sizeof(aclrtMemLocation));
static_assert(sizeof(rtMallocConfig_t) == sizeof(aclrtMallocConfig));
static_assert(sizeof(rtMallocAttribute_t) == sizeof(aclrtMallocAttribute));
static_assert(sizeof(rtIpcEventHandle_t) == sizeof(aclrtIpcEventHandle));
static_assert(sizeof(rtUuid_t) == sizeof(aclrtUuid));
static_assert(sizeof(rtHostInputInfo_t) == sizeof(aclrtPlaceHolderInfo));

[[noreturn]] void refuse_value(const char *argument, std::uint64_t value, const char *hint);

// Refuses a value that the documented function has no parameter for.
inline void require_zero(const char *argument, std::uint64_t value) {
    if (value != 0) {
        refuse_value(argument, value, "0");
    }
}

// Refuses a device that is not the current one: the documented function has no parameter for it.
void require_current(std::int32_t device);

std::uint32_t stream_priority(std::int32_t priority);
std::uint32_t stream_flags(std::uint32_t flags);
aclrtMemMallocPolicy malloc_policy(rtMemType_t type);
aclrtMemcpyKind copy_kind(rtMemcpyKind_t kind);
aclDataType data_type(rtDataType_t type);
aclrtPhysicalMemProp physical_property(const rtDrvMemProp_t *property);

template <class Body>
aclError with_property(const rtDrvMemProp_t *property, Body body) {
    aclrtPhysicalMemProp documented = physical_property(property);
    return body(&documented);
}

aclError allocate(void **memory, std::uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise,
                  rtMallocConfig_t *config);
aclError attributes_of(rtPointerAttributes_t *attributes, const void *memory);
aclError complete(rtStream_t stream);
aclError complete_event(rtEvent_t event);
aclError control_address(std::uint64_t *address, std::uint32_t *length);
aclError core_count(aclrtDevAttr attribute, std::uint32_t *count);
aclError device_ids(std::uint32_t *devices, std::uint32_t length);
aclError failure_mode(rtStream_t stream, std::uint64_t *mode);
aclError flags_of(rtStream_t stream, std::uint32_t *flags);
aclError last_task(std::uint32_t *task, std::uint32_t *stream);
aclError meta_information(rtFuncHandle function, rtFunctionMetaType type, void *data, std::uint32_t length);
aclError size_of_meta_information(rtFuncHandle function, rtFunctionMetaType type, std::size_t *size);
aclError soc_name(char *name, std::uint32_t length);
aclError soc_value(const char *label, const char *key, char *value, std::uint32_t length);
aclError wait_for_event(rtStream_t stream, rtEvent_t event, std::uint32_t timeout);

// Memory of other processes by address: the documented function closes it by key.
aclError open_memory(void **memory, const char *key);
aclError close_memory(const void *memory);

}  // namespace companions
