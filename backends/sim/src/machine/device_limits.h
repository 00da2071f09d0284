// The limits of a device's stacks and print buffers: of the process, whatever the device (device_context_init_errors.md
// sections 3 and 5). aclInit sets them from its configuration, aclrtDeviceSetLimit at any time.
#pragma once

#include <cstdint>

#include "abi/acl.h"

namespace aclsim {

// The limits of SIMT exist on 950 only.
bool has_device_limit(aclrtDeviceLimit limit);
// Is the value within the range of that limit on this product?
bool is_device_limit_valid(aclrtDeviceLimit limit, std::uint64_t value);

// For the five limits that are declared; from any thread.
std::uint64_t device_limit(aclrtDeviceLimit limit);
// The value must be valid. A stack is rounded up to whole units, and one below the default changes nothing.
void set_device_limit(aclrtDeviceLimit limit, std::uint64_t value);

}  // namespace aclsim
