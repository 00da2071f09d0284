// SPDX-License-Identifier: Apache-2.0
// Memory of operands.
#pragma once

#include <optional>

#include "abi/acl.h"

namespace companions {

// Returns the place of the memory at the address, std::nullopt if devices cannot use it. The submission of an operation
// checks that its operands are live, for which any memory of the host is live.
inline std::optional<aclrtMemLocation> place_for_devices(const void *address) {
    aclrtPtrAttributes attributes{};
    if (address == nullptr || aclrtPointerGetAttributes(address, &attributes) != ACL_SUCCESS) {
        return std::nullopt;
    }
    const aclrtMemLocationType type = attributes.location.type;
    const bool is_usable = type == ACL_MEM_LOCATION_TYPE_DEVICE || type == ACL_MEM_LOCATION_TYPE_MANAGED;
    return is_usable ? std::optional(attributes.location) : std::nullopt;
}

inline bool is_of_device(const void *address) { return place_for_devices(address).has_value(); }

}  // namespace companions
