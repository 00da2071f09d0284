// Control of the simulator (abi/aclsim.h).
#include <algorithm>
#include <cstring>

#include "entry.h"
#include "simulated.h"

using namespace aclsim;

int32_t aclsimHold(int32_t on) {
    return ungated_entry(__func__, [&](Engine &engine, Lock &) { engine.hold(on != 0); });
}

aclError aclsimGetInfo(aclsimInfo *info) {
    return ungated_entry(__func__, [&](Engine &, Lock &) {
        require(info, "info");
        *info = {};
        std::strncpy(info->product, config().product->name, sizeof info->product - 1);
        info->deviceCount = config().devices;
        info->workerCount = config().workers;
    });
}

int32_t aclsimIsSimulated(const char *function) {
    const auto less = [](const char *left, const char *right) { return std::strcmp(left, right) < 0; };
    const char *const *end = kSimulatedFunctions + kSimulatedFunctionCount;
    return function != nullptr && std::binary_search(kSimulatedFunctions, end, function, less) ? 1 : 0;
}

aclError aclsimNoOp(void *, void *) { return ACL_SUCCESS; }
