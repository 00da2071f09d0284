// SPDX-License-Identifier: Apache-2.0
// Extents of memory used by a call. They must be live when the call begins and still live after it has waited.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Memory;
class Stream;

// All functions require the engine lock.

// Memory allocated by the runtime must be live over the whole range; other addresses cannot be checked.
bool is_live(Memory &memory, const void *address, std::size_t size) REQUIRES(engine_lock);
void require_allocated(Memory &memory, const void *address, std::size_t size,
                       const char *name) REQUIRES(engine_lock);  // ACL_ERROR_RT_PARAM_INVALID
// Does the same, and records that the present call, or the task that it submits, works on the memory.
void require_live(Memory &memory, const Access &access) REQUIRES(engine_lock);
void require_live(Memory &memory, const void *address, std::size_t size, AccessMode mode, const char *name)
    REQUIRES(engine_lock);
// Does the same for memory that must belong to a device.
void require_live_on_device(Memory &memory, const void *address, std::size_t size, AccessMode mode, const char *name)
    REQUIRES(engine_lock);

// Memory that must still be live after Core::admit(): other threads may free it while the call waits.
struct Extent {
    const void *address;
    std::size_t size;
};
void require_still_live(Memory &memory, std::initializer_list<Extent> extents)
    REQUIRES(engine_lock);  // ACL_ERROR_RT_PARAM_INVALID
void admit_with(Memory &memory, Lock &lock, Stream &stream, std::initializer_list<Extent> extents)
    REQUIRES(engine_lock);

}  // namespace aclsim
