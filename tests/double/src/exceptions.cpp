// SPDX-License-Identifier: Apache-2.0
#include "exceptions.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine.h"
#include "settings.h"

namespace unforgiving {
namespace {

// Copy of details that the simulator provides only while its own callback runs.
struct Failure {
    uint32_t task, stream, thread, device, code;
    aclError arguments_result, function_result;
    void *arguments;
    uint32_t arguments_length;
    aclrtFuncHandle function;
    bool is_for_single;  // for the callback of aclrtSetExceptionInfoCallback, not for the registered ones
    std::chrono::steady_clock::time_point due;
};

struct Late {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<Failure> failures;
    aclrtExceptionInfoCallback single = nullptr;
    std::vector<aclrtExceptionInfoCallback> registered;
    std::atomic<const Failure *> delivered{nullptr};
    bool has_thread = false;
};

// Never destroyed: the thread that delivers outlives everything.
Late &late() {
    static Late *const known = new Late;
    return *known;
}

aclrtExceptionInfo *as_info(Failure *failure) { return reinterpret_cast<aclrtExceptionInfo *>(failure); }

const Failure *own(const aclrtExceptionInfo *info) {
    const Failure *const delivered = late().delivered;
    return info != nullptr && reinterpret_cast<const Failure *>(info) == delivered ? delivered : nullptr;
}

void deliver() {
    std::unique_lock<std::mutex> locked(late().lock);
    while (true) {
        late().changed.wait(locked, [] { return !late().failures.empty(); });
        Failure failure = late().failures.front();
        late().failures.pop_front();
        locked.unlock();
        std::this_thread::sleep_until(failure.due);
        locked.lock();
        auto callbacks = late().registered;
        if (failure.is_for_single) {
            callbacks.assign(late().single == nullptr ? 0 : 1, late().single);
        }
        locked.unlock();
        late().delivered = &failure;
        for (const auto callback : callbacks) {
            callback(as_info(&failure));
        }
        late().delivered = nullptr;
        locked.lock();
    }
}

void keep(aclrtExceptionInfo *info, bool is_for_single) {
    Failure failure{};
    failure.task = engine().aclrtGetTaskIdFromExceptionInfo(info);
    failure.stream = engine().aclrtGetStreamIdFromExceptionInfo(info);
    failure.thread = engine().aclrtGetThreadIdFromExceptionInfo(info);
    failure.device = engine().aclrtGetDeviceIdFromExceptionInfo(info);
    failure.code = engine().aclrtGetErrorCodeFromExceptionInfo(info);
    failure.arguments_result =
        engine().aclrtGetArgsFromExceptionInfo(info, &failure.arguments, &failure.arguments_length);
    failure.function_result = engine().aclrtGetFuncHandleFromExceptionInfo(info, &failure.function);
    failure.is_for_single = is_for_single;
    failure.due = std::chrono::steady_clock::now() + settings().exception_delay;
    const std::lock_guard<std::mutex> locked(late().lock);
    late().failures.push_back(failure);
    if (!late().has_thread) {
        late().has_thread = true;
        std::thread(deliver).detach();
    }
    late().changed.notify_all();
}

void keep_for_single(aclrtExceptionInfo *info) { keep(info, true); }
void keep_for_registered(aclrtExceptionInfo *info) { keep(info, false); }

// Returns the detail of a copy, or that of the simulator's own information.
uint32_t detail(const aclrtExceptionInfo *info, uint32_t Failure::*kept,
                decltype(aclrtGetTaskIdFromExceptionInfo) *ask) {
    const Failure *const copy = own(info);
    return copy != nullptr ? copy->*kept : ask(info);
}

bool are_late() { return settings().exception_delay.count() > 0; }

}  // namespace

aclError set_exception_callback(aclrtExceptionInfoCallback callback) {
    if (!are_late()) {
        return engine().aclrtSetExceptionInfoCallback(callback);
    }
    const std::lock_guard<std::mutex> locked(late().lock);
    late().single = callback;
    return engine().aclrtSetExceptionInfoCallback(callback == nullptr ? nullptr : keep_for_single);
}

aclError register_exception_callback(aclrtExceptionInfoCallback callback) {
    if (!are_late() || callback == nullptr) {
        return engine().aclrtExceptionInfoCallbackRegister(callback);
    }
    const std::lock_guard<std::mutex> locked(late().lock);
    auto &all = late().registered;
    if (std::find(all.begin(), all.end(), callback) == all.end()) {
        all.push_back(callback);
    }
    return engine().aclrtExceptionInfoCallbackRegister(keep_for_registered);
}

aclError unregister_exception_callback(aclrtExceptionInfoCallback callback) {
    if (!are_late() || callback == nullptr) {
        return engine().aclrtExceptionInfoCallbackUnregister(callback);
    }
    const std::lock_guard<std::mutex> locked(late().lock);
    auto &all = late().registered;
    all.erase(std::remove(all.begin(), all.end(), callback), all.end());
    return all.empty() ? engine().aclrtExceptionInfoCallbackUnregister(keep_for_registered) : ACL_SUCCESS;
}

uint32_t failed_task(const aclrtExceptionInfo *info) {
    return detail(info, &Failure::task, engine().aclrtGetTaskIdFromExceptionInfo);
}

uint32_t failed_stream(const aclrtExceptionInfo *info) {
    return detail(info, &Failure::stream, engine().aclrtGetStreamIdFromExceptionInfo);
}

uint32_t failed_thread(const aclrtExceptionInfo *info) {
    return detail(info, &Failure::thread, engine().aclrtGetThreadIdFromExceptionInfo);
}

uint32_t failed_device(const aclrtExceptionInfo *info) {
    return detail(info, &Failure::device, engine().aclrtGetDeviceIdFromExceptionInfo);
}

uint32_t failure_code(const aclrtExceptionInfo *info) {
    return detail(info, &Failure::code, engine().aclrtGetErrorCodeFromExceptionInfo);
}

aclError failed_arguments(const aclrtExceptionInfo *info, void **arguments, uint32_t *length) {
    const Failure *const copy = own(info);
    if (copy == nullptr || arguments == nullptr || length == nullptr) {
        return engine().aclrtGetArgsFromExceptionInfo(copy == nullptr ? info : nullptr, arguments, length);
    }
    *arguments = copy->arguments;
    *length = copy->arguments_length;
    return copy->arguments_result;
}

aclError failed_function(const aclrtExceptionInfo *info, aclrtFuncHandle *function) {
    const Failure *const copy = own(info);
    if (copy == nullptr || function == nullptr) {
        return engine().aclrtGetFuncHandleFromExceptionInfo(copy == nullptr ? info : nullptr, function);
    }
    *function = copy->function;
    return copy->function_result;
}

}  // namespace unforgiving
