// SPDX-License-Identifier: Apache-2.0
// Faults of a device and their repair (events_streams_sync.md section 11). Simulated devices have no faults.
#include <algorithm>

#include "api/entry.h"

using namespace aclsim;

namespace {

constexpr std::size_t kMostRepairs = 128;

bool has_reserved(const aclrtMemUceInfo &info) {
    return std::any_of(std::begin(info.reserved), std::end(info.reserved), [](std::size_t it) { return it != 0; });
}

}  // namespace

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t, size_t *retSize) {
    return entry(Function::aclrtGetMemUceInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memUceInfoArray, "memUceInfoArray");
        require(retSize, "retSize");
        require_supported();
        require_device(sim, deviceId);
        *retSize = 0;  // an array of any size is large enough
    });
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize) {
    return entry(Function::aclrtMemUceRepair, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(memUceInfoArray, "memUceInfoArray");
        if (arraySize > kMostRepairs) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu ranges are more than %zu", arraySize, kMostRepairs);
        }
        if (std::any_of(memUceInfoArray, memUceInfoArray + arraySize, has_reserved)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "a reserved field is not 0");
        }
        require_supported();
        require_device(sim, deviceId);
    });
}

aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo) {
    return entry(Function::aclrtGetErrorVerbose, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(errorInfo, "errorInfo");
        require_supported();
        require_device(sim, deviceId);
        *errorInfo = {};
        errorInfo->errorType = ACL_RT_NO_ERROR;
    });
}

aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo) {
    return entry(Function::aclrtRepairError, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(errorInfo, "errorInfo");
        require_supported();
        require_device(sim, deviceId);
        if (errorInfo->errorType != ACL_RT_ERROR_MEMORY) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "an error of type %d cannot be repaired",
                 static_cast<int>(errorInfo->errorType));
        }
    });
}
