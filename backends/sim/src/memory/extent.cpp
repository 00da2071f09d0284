// SPDX-License-Identifier: Apache-2.0
#include "memory/extent.h"

#include "memory/memory.h"
#include "support/error.h"

namespace aclsim {

bool is_live(Memory &memory, const void *address, std::size_t size) { return memory.space().is_live(address, size); }

void require_allocated(Memory &memory, const void *address, std::size_t size, const char *name) {
    if (!is_live(memory, address, size)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes at %p are not inside one live allocation%s", name, size,
             address, explain_address(memory, address).c_str());
    }
}

void require_live(Memory &memory, const Access &access) {
    require_allocated(memory, access.address, access.size, access.name);
    note_use(memory, access);
}

void require_live(Memory &memory, const void *address, std::size_t size, AccessMode mode, const char *name) {
    require_allocated(memory, address, size, name);
    note_use(memory, address, size, mode, name);
}

void require_live_on_device(Memory &memory, const void *address, std::size_t size, AccessMode mode, const char *name) {
    if (memory.space().locate(address).place != Place::Device) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not device memory%s", name, address,
             explain_address(memory, address).c_str());
    }
    require_live(memory, address, size, mode, name);
}

void require_still_live(Memory &memory, std::initializer_list<Extent> extents) {
    for (const Extent &extent : extents) {
        if (!is_live(memory, extent.address, extent.size)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the %zu bytes at %p were freed while this call waited for the stream%s",
                 extent.size, extent.address, explain_address(memory, extent.address).c_str());
        }
    }
}

void admit_with(Memory &memory, Lock &lock, Stream &stream, std::initializer_list<Extent> extents) {
    if (memory.core.admit(lock, stream)) {
        require_still_live(memory, extents);
    }
}

}  // namespace aclsim
