// SPDX-License-Identifier: Apache-2.0
// Queries about kernel functions (graphs_kernels.md section A3).
#include <algorithm>
#include <cstring>
#include <string>

#include "api/kernel.h"
#include "tasks/kernels.h"

using namespace aclsim;

namespace {

[[noreturn]] void fail_null(const char *name) { fail(ACL_ERROR_RT_PARAM_INVALID, "%s is NULL", name); }

void require_no_cpu(const KernelFunction &function, aclError code) {
    if (function.is_cpu()) {
        fail(code, "kernel %s is for AI CPUs", function.description.name.c_str());
    }
}

// Checks for the parts of a kernel's code that its type exposes.
bool has_cube_code(const KernelDescription &kernel) {
    return kernel.cube_code && kernel.type != ACL_KERNEL_TYPE_VECTOR;
}
bool has_vector_code(const KernelDescription &kernel) {
    return kernel.vector_code && (kernel.type == ACL_KERNEL_TYPE_VECTOR || kernel.type == ACL_KERNEL_TYPE_MIX);
}

const std::vector<KernelParameter> &require_parameters(const KernelFunction &function) {
    if (function.is_cpu()) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kernel %s is for AI CPUs",
                          function.description.name.c_str());
    }
    if (!function.description.parameters) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the binary of kernel %s does not describe its parameters",
             function.description.name.c_str());
    }
    return *function.description.parameters;
}

}  // namespace

aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr) {
    return entry(Function::aclrtGetFunctionAddr, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(aicAddr, "aicAddr");
        require(aivAddr, "aivAddr");
        *aicAddr = *aivAddr = nullptr;
        KernelFunction &function = require_function(sim, funcHandle);
        require_no_cpu(function, ACL_ERROR_RT_PARAM_INVALID);
        const Device &device = require_current_device(sim);
        const KernelDescription &kernel = function.description;
        Binary &binary = *function.binary;
        const Ref<KernelFunction> keep(function);
        binary.load_on(lock, device);
        if (has_cube_code(kernel)) {
            *aicAddr = binary.address_of(kernel.name, *kernel.cube_code, device);
        }
        if (has_vector_code(kernel)) {
            *aivAddr = binary.address_of(kernel.name, *kernel.vector_code, device);
        }
    });
}

aclError aclrtGetFunctionSize(aclrtFuncHandle funcHandle, size_t *aicSize, size_t *aivSize) {
    return entry(Function::aclrtGetFunctionSize, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (funcHandle == nullptr || aicSize == nullptr || aivSize == nullptr) {
            fail_null("funcHandle, aicSize or aivSize");
        }
        require_supported();
        const KernelFunction &function = require_function(sim, funcHandle);
        require_no_cpu(function, ACL_ERROR_RT_PARAM_INVALID);
        const KernelDescription &kernel = function.description;
        *aicSize = has_cube_code(kernel) ? kernel.cube_code->size : 0;
        *aivSize = has_vector_code(kernel) ? kernel.vector_code->size : 0;
    });
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char *name) {
    return entry(Function::aclrtGetFunctionName, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(name, "name");
        if (funcHandle == nullptr) {
            fail_null("funcHandle");
        }
        const std::string &found = require_function(sim, funcHandle).description.name;
        if (maxLen <= found.size()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the name has %zu characters, and name takes %u bytes", found.size(),
                 maxLen);
        }
        std::memcpy(name, found.c_str(), found.size() + 1);
    });
}

aclError aclrtGetFunctionAttribute(aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType, int64_t *attrValue) {
    return entry(Function::aclrtGetFunctionAttribute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(funcHandle, "funcHandle");
        require(attrValue, "attrValue");
        const KernelFunction &function = require_function(sim, funcHandle);
        const KernelDescription &kernel = function.description;
        switch (attrType) {
            case ACL_FUNC_ATTR_KERNEL_TYPE:
                *attrValue = kernel.type;
                return;
            case ACL_FUNC_ATTR_KERNEL_SCHED_MODE:
                *attrValue = 0;
                return;
            case ACL_FUNC_ATTR_KERNEL_RATIO: {
                if (!config().product->has(kHasKernelRatio)) {
                    fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no kernels for both kinds of cores",
                                      config().product->name);
                }
                require_no_cpu(function, ACL_ERROR_RT_PARAM_INVALID);
                // Write only the low half (section A3 [obs]).
                const std::uint16_t ratio[] = {kernel.vector_ratio, kernel.cube_ratio};
                std::memcpy(attrValue, ratio, sizeof ratio);
                return;
            }
        }
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no function attribute %d", static_cast<int>(attrType));
    });
}

aclError aclrtFunctionGetBinary(const aclrtFuncHandle funcHandle, aclrtBinHandle *binHandle) {
    return entry(Function::aclrtFunctionGetBinary, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (funcHandle == nullptr || binHandle == nullptr) {
            fail_null("funcHandle or binHandle");
        }
        *binHandle = require_function(sim, funcHandle).binary->handle();
    });
}

aclError aclrtFunctionGetParamCount(const void *func, size_t *paramCount) {
    return entry(Function::aclrtFunctionGetParamCount, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(func, "func");
        require(paramCount, "paramCount");
        *paramCount = require_parameters(require_function_or_symbol(sim, func)).size();
    });
}

aclError aclrtFunctionGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize) {
    return entry(Function::aclrtFunctionGetParamInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(func, "func");
        if (paramOffset == nullptr) {
            require(paramSize, "paramOffset and paramSize");
        }
        const auto &parameters = require_parameters(require_function_or_symbol(sim, func));
        if (paramIndex >= parameters.size()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no parameter %zu; the kernel has %zu", paramIndex,
                 parameters.size());
        }
        if (paramOffset != nullptr) {
            *paramOffset = parameters[paramIndex].offset;
        }
        if (paramSize != nullptr) {
            *paramSize = parameters[paramIndex].size;
        }
    });
}

aclError aclrtFunctionGetAvailDynUbufPerBlock(void *func, uint32_t flags, size_t *dynamicUbufSize) {
    return entry(Function::aclrtFunctionGetAvailDynUbufPerBlock, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(func, "func");
        require(dynamicUbufSize, "dynamicUbufSize");
        if (flags != 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "flags must be 0, not %u", flags);
        }
        require_function_or_symbol(sim, func);
        *dynamicUbufSize = 0;
    });
}

aclError aclrtGetHardwareSyncAddr(void **addr) {
    return entry(Function::aclrtGetHardwareSyncAddr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (addr == nullptr) {
            fail_null("addr");
        }
        require_supported();
        *addr = sim.kernels.sync_address(require_current_device(sim));
    });
}
