// SPDX-License-Identifier: Apache-2.0
#include "observe/subscriptions.h"

#include <fcntl.h>

#include <cstdio>
#include <new>
#include <utility>

#include "engine/thread.h"
#include "machine/context.h"
#include "support/error.h"
#include "support/standard_error.h"

namespace aclsim {

void Subscriptions::subscribe(std::uint32_t model, const SubscribeConfig &config) {
    const int file = *config.descriptor;
    const int flags = fcntl(file, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "descriptor %d is not open for writing", file);
    }
    const auto pipe = std::make_shared<RecordPipe>(core_, names, RecordPipe::Settings{file, model, config.has_times});
    try {
        models_[model] = pipe;
        if (models_.size() == 1) {
            core_.add_observer(*this);
        }
    } catch (const std::bad_alloc &) {
        remove(model);
        throw;
    }
    if (!start_thread([pipe] { pipe->write_all(); })) {
        remove(model);
        fail_unremembered(ACL_ERROR_PROFILING_FAILURE, "the host has no thread for a subscription");
    }
    were_used_ = true;
}

void Subscriptions::remove(std::uint32_t model) {
    models_.erase(model);
    if (models_.empty()) {
        core_.remove_observer(*this);
        times_.clear();
    }
}

void Subscriptions::unsubscribe(Lock &lock, std::uint32_t model) {
    const auto pipe = models_.at(model);
    remove(model);
    const Unlocked unlocked(lock);
    pipe->close_after_all();
}

// Skips tasks that were started before the first subscription.
void Subscriptions::started(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    times_.add(now, stream, task);
}

void Subscriptions::ended(const Moment &now, const Stream &stream, const Task &task, std::uint32_t) {
    TaskTimes::Times times{};
    if (!times_.take(stream, task, times)) {
        return;
    }
    TaskLabel label;
    task.details().label(stream, label);
    const auto found = models_.find(label.model);
    if (found == models_.end()) {
        return;
    }
    if (label.name.empty()) {
        label.name = task.info().name;
    }
    found->second->add(Core::shard_of(stream), {std::move(label.name), std::move(label.op_info), task.submitter,
                                                device_of(stream).user_id, times.started, now.time()});
}

void Subscriptions::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    times_.forget(stream, task);
}

void Subscriptions::fact_lost(const Moment &) {
    if (!has_lost_facts_.exchange(true)) {
        print_error("ascend_rt simulator, subscription: the host is out of memory; records are missing\n");
    }
}

}  // namespace aclsim
