// Tasks that streams or models give up: cancelled, unless they have been executed, and destroyed.
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
    // Dropped from the queue of the stream, for that reason.
    void add_dropped(Stream &stream, TaskQueue tasks, aclError reason) REQUIRES(engine_lock);
    // Kept by a model for the stream: the list, and those that have not been put into it.
    void add_kept(Stream &stream, Tasks list, TaskQueue queue, bool are_cancelled) REQUIRES(engine_lock);
    bool do_slice() override REQUIRES(engine_lock);

  private:
    struct OfStream {
        Ref<Stream> stream;
        Ref<StreamGroup> group;
        Tasks list;
        TaskQueue queue;
        bool are_cancelled;
        aclError reason;            // ACL_SUCCESS: they were not dropped
        std::size_t left_list = 0;  // how many of the list
        std::unique_ptr<Task> next() REQUIRES(engine_lock) {
            return left_list < list.size() ? std::move(list[left_list++]) : queue.pop();
        }
    };
    // Without memory for the list of them, they leave now.
    void add(OfStream leaving) REQUIRES(engine_lock);
    // Returns whether all of them are gone.
    bool release(OfStream &leaving, std::size_t &done) REQUIRES(engine_lock);
    bool is_over(std::size_t done) const REQUIRES(engine_lock);

    std::vector<OfStream> of_streams_;
    std::size_t next_ = 0;  // in that list
};

}  // namespace aclsim
