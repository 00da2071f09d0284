// SPDX-License-Identifier: Apache-2.0
#include "observe/submission_calls.h"

#include "engine/stream.h"

namespace aclsim {

CallNote NotedCalls::find(const Stream &stream, std::uint64_t sequence) const {
    const Guard guard(mutex_);
    const auto found = pending_.find({stream.serial, sequence});
    return found == pending_.end() ? CallNote() : found->second.call;
}

std::uint64_t NotedCalls::number_of(const Stream &stream, std::uint64_t sequence) const {
    const Guard guard(mutex_);
    const auto found = pending_.find({stream.serial, sequence});
    return found == pending_.end() ? number_of_next(stream.serial, sequence) : found->second.number;
}

std::uint64_t NotedCalls::number_of_next(std::uint64_t stream, std::uint64_t sequence) const {
    const auto waits = waits_without_task_.find(stream);
    return sequence + (waits == waits_without_task_.end() ? 0 : waits->second);
}

void NotedCalls::note(const Stream &stream, const Task &task, const CallNote &call) {
    pending_[{stream.serial, task.sequence}] = {call, number_of_next(stream.serial, task.sequence)};
}

void NotedCalls::stream_destroyed(const Moment &, const Stream &stream) {
    const Guard guard(mutex_);
    waits_without_task_.erase(stream.serial);
}

void NotedCalls::submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) {
    if (!how.origin.is_calling) {
        return;  // a replay, whose note replayed() makes
    }
    const Guard guard(mutex_);
    if (stream.executes_tasks) {
        note(stream, task, CallNote::present());
    } else {
        kept_[&task] = CallNote::present();
    }
}

void NotedCalls::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    const Guard guard(mutex_);
    pending_.erase({stream.serial, task.sequence});
}

void NotedCalls::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    const Guard guard(mutex_);
    pending_.erase({stream.serial, task.sequence});
}

void NotedCalls::replayed(const Moment &, const Stream &stream, const Task &kept, const Task &replay) {
    const Guard guard(mutex_);
    const auto found = kept_.find(&kept);
    if (found != kept_.end()) {
        note(stream, replay, found->second);
    }
}

void NotedCalls::changed(const Moment &, const Stream &, const Task &, const Task &now, const Submission &) {
    const Guard guard(mutex_);
    kept_[&now] = CallNote::present();
}

void NotedCalls::waits(const Moment &, Point task, const SyncObject &, const WaitBinding &binding) {
    if (binding.state == WaitBinding::State::Record && !binding.has_task) {
        const Guard guard(mutex_);
        ++waits_without_task_[task.stream];
    }
}

}  // namespace aclsim
