// Memory of operands.
#pragma once

#include "abi/acl.h"

namespace companions {

// Returns true if devices can use the memory at the address. The submission of an operation checks
// that its operands are live, for which any memory of the host is live.
inline bool is_of_device(const void *address) {
    aclrtPtrAttributes attributes{};
    if (address == nullptr || aclrtPointerGetAttributes(address, &attributes) != ACL_SUCCESS) {
        return false;
    }
    const aclrtMemLocationType type = attributes.location.type;
    return type == ACL_MEM_LOCATION_TYPE_DEVICE || type == ACL_MEM_LOCATION_TYPE_MANAGED;
}

}  // namespace companions
