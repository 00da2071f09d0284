// Limits of what kernels may use, for the whole process: aclrtDeviceSetLimit and the configuration of aclInit.
#pragma once

#include <cstdint>

#include "abi/acl.h"

namespace aclsim {

// Engine lock held. ACL_ERROR_RT_FEATURE_NOT_SUPPORT for a limit that the product does not have.
std::uint64_t device_limit(aclrtDeviceLimit limit);
// ACL_ERROR_RT_PARAM_INVALID for a value that the limit does not allow; what is allowed may be rounded up.
void set_device_limit(aclrtDeviceLimit limit, std::uint64_t value);

}  // namespace aclsim
