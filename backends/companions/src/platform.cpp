// SPDX-License-Identifier: Apache-2.0
// Values of the product's description, by number. The description itself is that of the runtime.
#include <iterator>
#include <string>

#include "acl/acl_platform.h"
#include "refusal.h"
#include "runtime/rt.h"

namespace {

struct Place {
    const char *label;
    const char *key;
};

// By the numbers of aclplatformDevInfo.
constexpr Place kPlaces[] = {
    {"SoCInfo", "ai_core_cnt"},     {"AICoreSpec", "ub_size"},      {"SoCInfo", "cube_core_cnt"},
    {"SoCInfo", "vector_core_cnt"}, {"SoCInfo", "l2_size"},         {"SoCInfo", "memory_size"},
    {"AICoreSpec", "cube_freq"},    {"VectorCoreSpec", "vec_freq"}, {"AICoreSpec", "bt_size"},
    {"AICoreSpec", "l0_a_size"},    {"AICoreSpec", "l0_b_size"},    {"AICoreSpec", "l0_c_size"},
    {"AICoreSpec", "l1_size"},      {"version", "SoC_version"},     {"version", "AIC_version"},
    {"version", "NpuArch"},         {"SoCInfo", "memory_type"},
};

}  // namespace

aclError aclplatformGetDeviceInfo(aclplatformDevInfo infoType, char *value, uint32_t maxLen) {
    return companions::checked("aclplatformGetDeviceInfo", [&] {
        const auto index = static_cast<std::size_t>(infoType);
        if (index >= std::size(kPlaces)) {
            companions::refuse(ACL_ERROR_INVALID_PARAM, "there is no information " + std::to_string(index));
        }
        companions::require(value, "value");
        const rtError_t code = rtGetSocSpec(kPlaces[index].label, kPlaces[index].key, value, maxLen);
        if (code != ACL_SUCCESS) {
            companions::refuse(code == ACL_ERROR_RT_PARAM_INVALID ? ACL_ERROR_INVALID_PARAM : code,
                               aclGetRecentErrMsg());
        }
    });
}
