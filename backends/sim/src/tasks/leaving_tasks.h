// SPDX-License-Identifier: Apache-2.0
// Tasks that streams or models give up: cancelled unless they have been executed, and destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/sliced_work.h"
#include "engine/stream.h"
#include "engine/task.h"

namespace aclsim {

using Tasks = std::vector<std::unique_ptr<Task>>;

class LeavingTasks final : public SlicedWork {
  public:
    using SlicedWork::SlicedWork;
    // Adds tasks that were dropped from the queue of the stream for that reason.
    void add_dropped(Stream &stream, TaskQueue tasks, aclError reason) REQUIRES(engine_lock);
    // Adds tasks that a model kept for the stream: the list, and the tasks that have not been moved into it.
    void add_kept(Stream &stream, Tasks list, TaskQueue queue, bool are_cancelled) REQUIRES(engine_lock);
    bool do_slice() override REQUIRES(engine_lock);

  private:
    struct OfStream {
        Ref<Stream> stream;
        Ref<StreamGroup> group;
        Tasks list;
        TaskQueue queue;
        bool are_cancelled;
        aclError reason;            // ACL_SUCCESS: not dropped
        std::size_t left_list = 0;  // index of the next one in the list
        std::unique_ptr<Task> next() REQUIRES(engine_lock) {
            return left_list < list.size() ? std::move(list[left_list++]) : queue.pop();
        }
    };
    // Adds tasks, or releases them now if there is no memory for the list.
    void add(OfStream leaving) REQUIRES(engine_lock);
    // Returns true when all of them are gone.
    bool release(OfStream &leaving, std::size_t &done) REQUIRES(engine_lock);
    bool is_over(std::size_t done) const REQUIRES(engine_lock);

    std::vector<OfStream> of_streams_;
    std::size_t next_ = 0;  // index in that list
};

}  // namespace aclsim
