// SPDX-License-Identifier: Apache-2.0
// Functions documented only for the IPV350, which is not simulated. The simulated products lack them
// (events_streams_sync.md section 9, device_context_init_errors.md section 10); their libraries do not even export
// them.
#include "api/entry.h"

namespace {

aclError refuse(aclsim::Function function) {
    return aclsim::checked_entry(function, [function] { aclsim::require_supported(function); });
}

}  // namespace

using aclsim::Function;

aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle() {
    refuse(Function::aclrtCreateStreamConfigHandle);
    return nullptr;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *) {
    return refuse(Function::aclrtDestroyStreamConfigHandle);
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *, aclrtStreamConfigAttr, const void *, size_t) {
    return refuse(Function::aclrtSetStreamConfigOpt);
}

aclError aclrtCreateStreamV2(aclrtStream *, const aclrtStreamConfigHandle *) {
    return refuse(Function::aclrtCreateStreamV2);
}

aclError aclrtSubscribeHostFunc(uint64_t, aclrtStream) { return refuse(Function::aclrtSubscribeHostFunc); }

aclError aclrtProcessHostFunc(int32_t) { return refuse(Function::aclrtProcessHostFunc); }

aclError aclrtUnSubscribeHostFunc(uint64_t, aclrtStream) { return refuse(Function::aclrtUnSubscribeHostFunc); }
