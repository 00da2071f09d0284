// SPDX-License-Identifier: Apache-2.0
// Attributes of a configured allocation (memory_cmo_allocator.md sections 1 and 2, aclrtMallocWithCfg).
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "abi/acl.h"
#include "memory/heap.h"
#include "support/error.h"

namespace aclsim {

struct MallocConfig {
    std::uint16_t module = Heap::kApplication;
    std::optional<std::uint32_t> device;
    bool keeps_address = false;  // the memory has the same address on the device if it is registered later
};

// The runtime layer rejects a configuration without attributes.
inline void require_attributes(const aclrtMallocConfig *cfg) {
    if (cfg != nullptr && cfg->attrs == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "cfg has no attributes; pass NULL instead of cfg");
    }
}

// The last one of repeated attributes counts.
inline MallocConfig read_malloc_config(const aclrtMallocConfig *cfg,
                                       std::initializer_list<aclrtMallocAttrType> allowed) {
    MallocConfig wanted;
    for (std::size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
        const aclrtMallocAttribute &attribute = cfg->attrs[i];
        if (std::find(allowed.begin(), allowed.end(), attribute.attr) == allowed.end()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "cfg attribute %zu (%d) is not allowed here", i,
                 static_cast<int>(attribute.attr));
        }
        switch (attribute.attr) {
            case ACL_RT_MEM_ATTR_MODULE_ID:
                wanted.module =
                    attribute.value.moduleId < Heap::kModules ? attribute.value.moduleId : Heap::kApplication;
                break;
            case ACL_RT_MEM_ATTR_DEVICE_ID:
                wanted.device = attribute.value.deviceId;
                break;
            case ACL_RT_MEM_ATTR_VA_FLAG:
                wanted.keeps_address = attribute.value.vaFlag == 1;
                break;
            case ACL_RT_MEM_ATTR_RSV:
                break;
        }
    }
    return wanted;
}

}  // namespace aclsim
