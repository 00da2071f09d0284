#include "machine/exception.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "engine/core.h"
#include "engine/stream.h"
#include "engine/task.h"
#include "machine/context.h"
#include "machine/device.h"
#include "support/error.h"

namespace aclsim {
namespace {

// These end a task without being a failure.
constexpr aclError kNoFailures[] = {ACL_ERROR_RT_END_OF_SEQUENCE, ACL_ERROR_RT_MODEL_ABORT_NORMAL};

thread_local bool t_is_delivering = false;

}  // namespace

void Exceptions::add(aclrtExceptionInfoCallback callback) {
    if (std::find(callbacks_.begin(), callbacks_.end(), callback) == callbacks_.end()) {
        callbacks_.push_back(callback);
    }
}

void Exceptions::remove(aclrtExceptionInfoCallback callback) {
    callbacks_.erase(std::remove(callbacks_.begin(), callbacks_.end(), callback), callbacks_.end());
}

void Exceptions::report(const Report &report) {
    if (single_ != nullptr || !callbacks_.empty()) {
        pending_.push_back(report);
    }
}

void Exceptions::report_task(const Stream &stream, const Task &task) {
    if (std::find(std::begin(kNoFailures), std::end(kNoFailures), task.result) == std::end(kNoFailures)) {
        report({{static_cast<std::uint32_t>(task.sequence), stream.id, task.submitter, stream.context.device.user_id,
                 static_cast<std::uint32_t>(task.result)},
                &stream});
    }
}

void Exceptions::report_device(const Device &device, aclError code) {
    report({{kUnknown, kUnknown, kUnknown, device.user_id, static_cast<std::uint32_t>(code)}, nullptr});
}

void Exceptions::run(std::unique_lock<std::mutex> &lock, const Report &report) {
    auto callbacks = callbacks_;  // one that is in both places is called twice
    if (single_ != nullptr) {
        callbacks.push_back(single_);
    }
    delivering_.push_back(&report);
    t_is_delivering = true;
    const KeptCall kept;
    lock.unlock();
    rtExceptionInfo *info = const_cast<rtExceptionInfo *>(&report.info);  // the callback's type has no const
    for (const auto callback : callbacks) {
        callback(info);
    }
    lock.lock();
    t_is_delivering = false;
    delivering_.erase(std::remove(delivering_.begin(), delivering_.end(), &report), delivering_.end());
    delivered_.notify_all();
}

void Exceptions::deliver(std::unique_lock<std::mutex> &lock) {
    while (!pending_.empty() && !t_is_delivering) {  // a callback may call the API
        const Report report = pending_.front();
        pending_.pop_front();
        run(lock, report);
    }
}

void Exceptions::deliver_aside(Engine &engine, std::unique_lock<std::mutex> &lock) {
    if (pending_.empty() || has_thread_) {
        return;
    }
    try {
        std::thread([this, &engine] {
            Lock own = engine.acquire();
            deliver(own);
            has_thread_ = false;
        }).detach();
        has_thread_ = true;
    } catch (const std::system_error &) {
        deliver(lock);  // the host has no thread left
    }
}

void Exceptions::settle(std::unique_lock<std::mutex> &lock, const Stream &stream) {
    deliver(lock);
    const auto concerns = [&](const Report *report) { return report->stream == &stream; };
    Patience patience;
    while (!t_is_delivering && std::any_of(delivering_.begin(), delivering_.end(), concerns)) {
        patience.wait(lock, delivered_, [] { return "the end of an exception callback, which another thread runs\n"; });
    }
}

const rtExceptionInfo *Exceptions::find(const rtExceptionInfo *info) const {
    const auto is_it = [info](const Report *report) { return &report->info == info; };
    return std::any_of(delivering_.begin(), delivering_.end(), is_it) ? info : nullptr;
}

}  // namespace aclsim
