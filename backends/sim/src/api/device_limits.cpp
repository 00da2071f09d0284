// SPDX-License-Identifier: Apache-2.0
// Limits of the whole process (device_context_init_errors.md section 5).
#include "machine/device_limits.h"

#include "api/entry.h"

using namespace aclsim;

namespace {

void require_limit(aclrtDeviceLimit limit) {
    if (limit < ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE || limit > ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no device limit %d", static_cast<int>(limit));
    }
}

// Checks that the product has the limit: those of SIMT kernels exist only on products with such kernels.
void require_limit_here(aclrtDeviceLimit limit) {
    require_supported();
    if (!has_device_limit(limit)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no limit %d, which is for SIMT kernels",
                          config().product->name, static_cast<int>(limit));
    }
}

}  // namespace

aclError aclrtDeviceSetLimit(aclrtDeviceLimit limit, size_t value) {
    return entry(Function::aclrtDeviceSetLimit, [&](Simulator &, Lock &) {
        require_limit(limit);
        if (value > UINT32_MAX) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu does not fit into 32 bits", value);
        }
        require_limit_here(limit);
        if (!is_device_limit_valid(limit, value)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%zu is outside the range of device limit %d", value,
                 static_cast<int>(limit));
        }
        set_device_limit(limit, value);
    });
}

aclError aclrtDeviceGetLimit(aclrtDeviceLimit limit, size_t *value) {
    return entry(Function::aclrtDeviceGetLimit, [&](Simulator &, Lock &) {
        require(value, "value");
        require_limit(limit);
        require_limit_here(limit);
        *value = device_limit(limit);
    });
}

aclError aclrtDeviceL2CacheFlush(void *rsv) {
    return entry(Function::aclrtDeviceL2CacheFlush, [&](Simulator &, Lock &) {
        if (rsv != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "rsv must be NULL");
        }
        if (!config().product->has(kHasCacheFlush)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s cannot flush its cache", config().product->name);
        }
    });
}
