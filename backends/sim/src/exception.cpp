#include "exception.h"

#include <algorithm>

#include "context.h"
#include "device.h"
#include "stream.h"
#include "task.h"

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

void Exceptions::report(const rtExceptionInfo &info) {
    if (single_ != nullptr || !callbacks_.empty()) {
        pending_.push_back(info);
    }
}

void Exceptions::report_task(const Stream &stream, const Task &task) {
    if (std::find(std::begin(kNoFailures), std::end(kNoFailures), task.result) == std::end(kNoFailures)) {
        report({static_cast<std::uint32_t>(task.sequence), stream.id, task.submitter, stream.context.device.user_id,
                static_cast<std::uint32_t>(task.result)});
    }
}

void Exceptions::report_device(const Device &device, aclError code) {
    report({kUnknown, kUnknown, kUnknown, device.user_id, static_cast<std::uint32_t>(code)});
}

void Exceptions::deliver(std::unique_lock<std::mutex> &lock) {
    if (t_is_delivering) {
        return;  // a callback that calls the API
    }
    while (!pending_.empty()) {
        rtExceptionInfo info = pending_.front();
        pending_.pop_front();
        auto callbacks = callbacks_;  // one that is in both places is called twice
        if (single_ != nullptr) {
            callbacks.push_back(single_);
        }
        live_.insert(&info);
        ++delivering_;
        t_is_delivering = true;
        lock.unlock();
        for (const auto callback : callbacks) {
            callback(&info);
        }
        lock.lock();
        t_is_delivering = false;
        --delivering_;
        live_.erase(&info);
        delivered_.notify_all();
    }
    delivered_.wait(lock, [this] { return delivering_ == 0; });
}

const rtExceptionInfo *Exceptions::find(const rtExceptionInfo *info) const {
    return live_.count(info) > 0 ? info : nullptr;
}

}  // namespace aclsim
