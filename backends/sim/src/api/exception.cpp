// SPDX-License-Identifier: Apache-2.0
// Callbacks for failed tasks, and the queries that they may make (events_streams_sync.md section 11).
#include "machine/exception.h"

#include "api/entry.h"

using namespace aclsim;

namespace {

void require_callback(aclrtExceptionInfoCallback callback) {
    if (callback == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "callback is NULL");  // returns 107000, not 100000
    }
}

// Returns a field of the information, or 0xFFFFFFFF for NULL and for information whose callback has returned.
std::uint32_t field(Function function, const aclrtExceptionInfo *info, std::uint32_t rtExceptionInfo::*member) {
    std::uint32_t value = Exceptions::kUnknown;
    entry(function, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const rtExceptionInfo *found = sim.machine.exceptions.find(info);
        if (found == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "info is NULL, or its callback has returned");
        }
        value = found->*member;
    });
    return value;
}

constexpr aclError kNoInfo = -1;

const rtExceptionInfo &require_info(Simulator &sim, const aclrtExceptionInfo *info) REQUIRES(engine_lock) {
    const rtExceptionInfo *found = sim.machine.exceptions.find(info);
    if (found == nullptr) {
        fail_unremembered(kNoInfo, "info is NULL, or its callback has returned");
    }
    return *found;
}

}  // namespace

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
    return entry(Function::aclrtSetExceptionInfoCallback,
                 [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { sim.machine.exceptions.set_single(callback); });
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
    return entry(Function::aclrtExceptionInfoCallbackRegister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_callback(callback);
        sim.machine.exceptions.add(callback);
    });
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
    return entry(Function::aclrtExceptionInfoCallbackUnregister, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_callback(callback);
        sim.machine.exceptions.remove(callback);
    });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return field(Function::aclrtGetTaskIdFromExceptionInfo, info, &rtExceptionInfo::task);
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return field(Function::aclrtGetStreamIdFromExceptionInfo, info, &rtExceptionInfo::stream);
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return field(Function::aclrtGetThreadIdFromExceptionInfo, info, &rtExceptionInfo::thread);
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return field(Function::aclrtGetDeviceIdFromExceptionInfo, info, &rtExceptionInfo::device);
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info) {
    return field(Function::aclrtGetErrorCodeFromExceptionInfo, info, &rtExceptionInfo::code);
}

// Reports invalid information with a number that appears in no table of errors (graphs_kernels.md section A2,
// aclrtGetArgsFromExceptionInfo).
aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo *info, void **devArgsPtr, uint32_t *devArgsLen) {
    return entry(Function::aclrtGetArgsFromExceptionInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const rtExceptionInfo &found = require_info(sim, info);
        require(devArgsPtr, "devArgsPtr");
        require(devArgsLen, "devArgsLen");
        if (found.kernel.function == nullptr) {
            fail_unremembered(kNoInfo, "the task that failed is not a kernel");
        }
        *devArgsPtr = found.kernel.arguments;
        *devArgsLen = found.kernel.arguments_size;
    });
}

aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo *info, aclrtFuncHandle *func) {
    return entry(Function::aclrtGetFuncHandleFromExceptionInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const rtExceptionInfo &found = require_info(sim, info);
        require(func, "func");
        *func = found.kernel.function;
    });
}
