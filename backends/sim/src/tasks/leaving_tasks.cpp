// SPDX-License-Identifier: Apache-2.0
#include "tasks/leaving_tasks.h"

#include <cstdint>
#include <new>
#include <utility>

namespace aclsim {

void LeavingTasks::add_dropped(Stream &stream, TaskQueue tasks, aclError reason) {
    if (tasks.size() > 0) {
        add({Ref<Stream>(stream), Ref<StreamGroup>(stream.group), {}, std::move(tasks), true, reason});
    }
}

void LeavingTasks::add_kept(Stream &stream, Tasks list, TaskQueue queue, bool are_cancelled) {
    if (list.size() + queue.size() > 0) {
        add({Ref<Stream>(stream), Ref<StreamGroup>(stream.group), std::move(list), std::move(queue), are_cancelled,
             ACL_SUCCESS});
    }
}

void LeavingTasks::add(OfStream leaving) {
    try {
        of_streams_.push_back(std::move(leaving));  // unchanged if that fails
    } catch (const std::bad_alloc &) {
        for (std::size_t done = 0; !release(leaving, done); done = 0) {
        }
    }
}

bool LeavingTasks::do_slice() {
    std::size_t done = 0;
    while (next_ < of_streams_.size() && release(of_streams_[next_], done)) {
        ++next_;
    }
    return next_ < of_streams_.size();
}

bool LeavingTasks::release(OfStream &leaving, std::size_t &done) {
    Stream &stream = *leaving.stream;
    while (!is_over(done)) {
        const auto task = leaving.next();
        if (!task) {
            return true;
        }
        ++done;
        if (leaving.reason != ACL_SUCCESS) {
            const aclError newest = std::exchange(stream.abort_reason, leaving.reason);  // reason of a later abort
            core_.cancel_dropped(stream, *task, leaving.reason);
            stream.abort_reason = newest;
        } else if (leaving.are_cancelled) {
            task->cancel(stream);
        }
    }
    return false;
}

// Releases all tasks at once while an observer follows their life, so that it hears of their end before their streams
// continue.
bool LeavingTasks::is_over(std::size_t done) const { return is_enough(done) && !core_.observers().want(kTasks); }

}  // namespace aclsim
