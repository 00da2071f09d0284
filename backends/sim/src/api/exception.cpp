// Callbacks for failed tasks and what they may ask (events_streams_sync.md section 11).
#include "machine/exception.h"

#include "api/entry.h"

using namespace aclsim;

namespace {

void require_callback(aclrtExceptionInfoCallback callback) {
    if (callback == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "callback is NULL");  // 107000, not 100000
    }
}

// 0xFFFFFFFF for NULL, and for an information whose callback has returned.
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
