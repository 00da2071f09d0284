#include "observe/submission_calls.h"

#include "engine/stream.h"

namespace aclsim {

CallNote NotedCalls::find(const Stream &stream, std::uint64_t sequence) const {
    const Guard guard(mutex_);
    const auto found = calls_.find({stream.serial, sequence});
    return found == calls_.end() ? CallNote() : found->second;
}

void NotedCalls::submitted(const Moment &, const Stream &stream, const Task &task, const Submission &how) {
    if (!how.origin.is_calling) {
        return;  // a replay, whose note replayed() makes
    }
    const Guard guard(mutex_);
    if (stream.executes_tasks) {
        calls_[{stream.serial, task.sequence}] = CallNote::present();
    } else {
        kept_[&task] = CallNote::present();
    }
}

void NotedCalls::ended(const Moment &, const Stream &stream, const Task &task, std::uint32_t) {
    const Guard guard(mutex_);
    calls_.erase({stream.serial, task.sequence});
}

void NotedCalls::dropped(const Moment &, const Stream &stream, const Task &task, aclError) {
    const Guard guard(mutex_);
    calls_.erase({stream.serial, task.sequence});
}

void NotedCalls::replayed(const Moment &, const Stream &stream, const Task &kept, const Task &replay) {
    const Guard guard(mutex_);
    const auto found = kept_.find(&kept);
    if (found != kept_.end()) {
        calls_[{stream.serial, replay.sequence}] = found->second;
    }
}

void NotedCalls::changed(const Moment &, const Stream &, const Task &, const Task &now, const Submission &) {
    const Guard guard(mutex_);
    kept_[&now] = CallNote::present();
}

}  // namespace aclsim
