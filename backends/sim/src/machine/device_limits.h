// SPDX-License-Identifier: Apache-2.0
// Limits of a device's stacks and print buffers. They are per process and apply to all devices
// (device_context_init_errors.md sections 3 and 5). aclInit sets them from its configuration, aclrtDeviceSetLimit at
// any time.
#pragma once

#include <cstdint>

#include "abi/acl.h"

namespace aclsim {

// SIMT limits exist on 950 only.
bool has_device_limit(aclrtDeviceLimit limit);
// Returns true if the value is within the range of the limit on this product.
bool is_device_limit_valid(aclrtDeviceLimit limit, std::uint64_t value);

// Thread-safe; supports the five declared limits.
std::uint64_t device_limit(aclrtDeviceLimit limit);
// Requires a valid value. Rounds a stack up to whole units and ignores one below the default.
void set_device_limit(aclrtDeviceLimit limit, std::uint64_t value);

}  // namespace aclsim
