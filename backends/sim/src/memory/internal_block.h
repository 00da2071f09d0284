// SPDX-License-Identifier: Apache-2.0
// A block of device memory for internal use.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/lock.h"

namespace aclsim {

class Memory;

// Frees the block unless a reset of its device has freed it: an owner that leaves late must not free the block that
// begins there by then.
struct InternalRelease {
    Memory *memory = nullptr;
    std::uint32_t device = 0;
    std::uint64_t era = 0;  // era of the device's heap
    void operator()(void *address) const REQUIRES(engine_lock);
};
using InternalBlock = std::unique_ptr<void, InternalRelease>;

// Takes over a block of AddressSpace::allocate_internal, or nullptr.
InternalBlock own_block(Memory &memory, std::uint32_t device, void *address) REQUIRES(engine_lock);

}  // namespace aclsim
