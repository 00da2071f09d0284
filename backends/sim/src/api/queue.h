// SPDX-License-Identifier: Apache-2.0
// Parts shared by the functions of shared queues and buffers.
#pragma once

#include <cstddef>
#include <cstring>

#include "api/entry.h"
#include "memory/queues.h"

namespace aclsim {

// Refuses the functions that the runtime does not have in a program on a host (17-02 and 17-03, table of products).
inline void require_queues_on_device() {
    if (!config().queues_are_on_device) {
        fail_unremembered(ACL_ERROR_FEATURE_UNSUPPORTED,
                          "a program on a host cannot do this; ASCEND_RT_SIM_QUEUES=device simulates one on a device");
    }
}

// Copies a parameter of which the caller gives the size. The destination may be larger.
inline void copy_parameter(void *to, std::size_t room, const void *from, std::size_t size) {
    if (size > room) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "the value has %zu bytes, and there is room for %zu", size, room);
    }
    std::memcpy(to, from, size);
}

SharedBuffer &require_buffer(Simulator &sim, void *buffer) REQUIRES(engine_lock);
SharedBuffer &require_chain(Simulator &sim, void *buffer) REQUIRES(engine_lock);  // the head of a chain

}  // namespace aclsim
