// SPDX-License-Identifier: Apache-2.0
#include "machine/exception.h"

#include <algorithm>
#include <new>
#include <optional>

#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

// Codes that end a task without being a failure.
constexpr aclError kNoFailures[] = {ACL_ERROR_RT_END_OF_SEQUENCE, ACL_ERROR_RT_MODEL_ABORT_NORMAL};

thread_local bool t_is_delivering = false;

}  // namespace

void Exceptions::add(aclrtExceptionInfoCallback callback) {
    if (std::find(callbacks_->begin(), callbacks_->end(), callback) == callbacks_->end()) {
        auto changed = std::make_shared<Callbacks>(*callbacks_);
        changed->push_back(callback);
        callbacks_ = std::move(changed);
    }
}

void Exceptions::remove(aclrtExceptionInfoCallback callback) {
    auto changed = std::make_shared<Callbacks>(*callbacks_);
    changed->erase(std::remove(changed->begin(), changed->end(), callback), changed->end());
    callbacks_ = std::move(changed);
}

void Exceptions::report(const rtExceptionInfo &info, std::uint64_t stream) {
    if (single_ == nullptr && callbacks_->empty() && info.kernel.callback == nullptr && !is_dumping()) {
        return;
    }
    const bool is_in_call = current_call() != nullptr;  // false in threads of the simulator
    try {
        delivering_.reserve(delivering_.size() + pending_.size() + 1);  // a later delivery must not fail
        pending_.push_back({info, stream, is_in_call ? std::this_thread::get_id() : std::thread::id()});
        core_.begin_report();
    } catch (const std::bad_alloc &) {
        return;  // a synchronization still reports the failure
    }
    if (!is_in_call) {
        deliver_aside();
    }
}

void Exceptions::task_failed(const Stream &stream, const Task &task) {
    if (std::find(std::begin(kNoFailures), std::end(kNoFailures), task.result) == std::end(kNoFailures)) {
        report({static_cast<std::uint32_t>(task.sequence), stream.id, task.submitter, device_of(stream).user_id,
                static_cast<std::uint32_t>(task.result), task.details().failed_kernel()},
               stream.serial);
    }
}

void Exceptions::report_device(const Device &device, aclError code) {
    report({kUnknown, kUnknown, kUnknown, device.user_id, static_cast<std::uint32_t>(code)}, 0);
}

namespace {

// Terminates if a callback throws: an exception cannot fail a call or a task here, and destructors run some callbacks.
void call_all(const std::vector<aclrtExceptionInfoCallback> &callbacks, aclrtExceptionInfoCallback single,
              rtExceptionInfo *info) noexcept {
    const Uncancelled uncancelled;
    for (const auto callback : callbacks) {
        callback(info);
    }
    if (single != nullptr) {  // a callback in both places is called twice
        single(info);
    }
    if (info->kernel.callback != nullptr) {
        info->kernel.callback(info, info->kernel.callback_data);
    }
}

}  // namespace

// Leaves the dump out if the host lacks memory or addresses for it: the callbacks still come.
std::function<void()> Exceptions::prepare_dump(const rtExceptionInfo &info) {
    try {
        return is_dumping() ? dump_->prepare(info) : std::function<void()>();
    } catch (const std::bad_alloc &) {
        return {};
    } catch (const Failure &) {
        return {};
    }
}

void Exceptions::run(Lock &lock, const Report &report) {
    const auto callbacks = callbacks_;
    const auto single = single_;
    const auto dump = prepare_dump(report.info);
    delivering_.push_back(&report);
    t_is_delivering = true;
    {
        const Unlocked unlocked(lock);
        if (dump) {
            dump();
        }
        call_all(*callbacks, single, const_cast<rtExceptionInfo *>(&report.info));  // the callback's type has no const
    }
    t_is_delivering = false;
    delivering_.erase(std::remove(delivering_.begin(), delivering_.end(), &report), delivering_.end());
    core_.end_report();
    delivered_.notify_all();
}

// A callback may call the API and make further tasks fail; their delivery waits until it has returned.
template <class Condition>
void Exceptions::deliver(Lock &lock, Condition is_wanted) {
    while (!t_is_delivering) {
        const auto found = std::find_if(pending_.begin(), pending_.end(), is_wanted);
        if (found == pending_.end()) {
            return;
        }
        const Report report = *found;
        pending_.erase(found);
        run(lock, report);
    }
}

void Exceptions::deliver_own(Lock &lock) {
    deliver(lock, [](const Report &it) { return it.owner == std::this_thread::get_id(); });
}

void Exceptions::thread_sleeps() {
    bool has_own = false;
    for (Report &it : pending_) {
        if (it.owner == std::this_thread::get_id()) {
            it.owner = {};
            has_own = true;
        }
    }
    if (has_own) {
        deliver_aside();
    }
}

// Leaves the reports to the next synchronization of the stream if the host has no thread left.
void Exceptions::deliver_aside() {
    if (has_thread_) {
        return;
    }
    has_thread_ = start_thread([this] {
        Lock lock = core_.acquire();
        deliver(lock, [](const Report &it) { return it.owner == std::thread::id(); });
        has_thread_ = false;
    });
}

bool Exceptions::is_reporting(const Stream &stream) const {
    const auto is_to_come = [&](const Report &it) REQUIRES(engine_lock) {
        return it.stream == stream.serial && (has_thread_ || it.owner != std::thread::id());
    };
    const auto is_under_way = [&](const Report *it) { return it->stream == stream.serial; };
    return !t_is_delivering && (std::any_of(pending_.begin(), pending_.end(), is_to_come) ||
                                std::any_of(delivering_.begin(), delivering_.end(), is_under_way));
}

bool Exceptions::settle(Lock &lock, const Stream &stream, Time deadline) {
    if (t_is_delivering) {
        return true;
    }
    if (deadline == kNever) {
        deliver(lock,
                [&](const Report &it) { return it.stream == stream.serial || it.owner == std::this_thread::get_id(); });
    } else {
        for (Report &it : pending_) {
            it.owner = it.stream == stream.serial ? std::thread::id() : it.owner;
        }
        deliver_aside();
    }
    const auto concerns = [&](const Report &it) { return it.stream == stream.serial; };
    const auto is_open = [&]() REQUIRES(engine_lock) {
        return std::any_of(pending_.begin(), pending_.end(), concerns) ||
               std::any_of(delivering_.begin(), delivering_.end(), [&](const Report *it) { return concerns(*it); });
    };
    std::optional<HostWait> wait;
    while (is_open()) {
        if (!wait) {
            wait.emplace(core_, Outside::Clock, "the end of an exception callback, which another thread runs",
                         deadline);
        }
        if (!wait->sleep(lock, delivered_)) {
            return !is_open();
        }
    }
    return true;
}

const rtExceptionInfo *Exceptions::find(const rtExceptionInfo *info) const {
    const auto is_it = [info](const Report *report) { return &report->info == info; };
    return std::any_of(delivering_.begin(), delivering_.end(), is_it) ? info : nullptr;
}

}  // namespace aclsim
