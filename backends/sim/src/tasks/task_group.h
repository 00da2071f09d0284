// SPDX-License-Identifier: Apache-2.0
// Groups of kernels in a captured graph, and their replacement by kernels that a stream launches
// (graphs_kernels.md section B3).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core.h"
#include "machine/context.h"
#include "tasks/graph.h"

namespace aclsim {

class GroupUpdate;
class KernelFunction;

// Guarded by the engine lock.
class TaskGroup final : public Object {
  public:
    static constexpr Kind kKind = Kind::TaskGroup;
    // Tasks of a hidden stream submitted after `first`, up to and including `last`.
    struct Range {
        Stream *stream;
        std::uint64_t first;
        std::uint64_t last;
    };
    TaskGroup(Graph &owner, const std::vector<Range> &ranges);
    void mark_tasks() REQUIRES(engine_lock);  // as those of this group, once it cannot fail any more
    std::size_t size() const { return members_.size(); }
    const Task &task(std::size_t number) const REQUIRES(engine_lock);
    bool is_running() const REQUIRES(engine_lock);  // one of its tasks is running
    // Replaces the tasks, in the order of the group, by those of the queue. A KeptTask leaves its task in place.
    void replace(TaskQueue &tasks) REQUIRES(engine_lock);

    Graph &graph;  // owner, with which the group ends
    bool is_updating GUARDED_BY(engine_lock) = false;

  private:
    struct Member {
        Stream *stream;
        std::size_t index;
    };
    std::vector<Member> members_;
};

// Redirect of a stream whose kernels update a group.
class GroupUpdate final : public TaskRedirect {
  public:
    GroupUpdate(ContextStream &stream, Ref<TaskGroup> group);
    ~GroupUpdate() override;
    GroupUpdate *as_update() override { return this; }
    Graph &graph() const { return *graph_; }
    ContextStream &take(ContextStream &stream, bool is_kernel) override REQUIRES(engine_lock);
    void require_usable(const ContextStream &) const override {}
    // Fails with ACL_ERROR_RT_INTERNAL_ERROR unless the function is of the same kind as the one it is to replace. The
    // launch counts nevertheless, and the kernel of the group stays.
    void require_replacement(const KernelFunction &function) REQUIRES(engine_lock);
    // Submits the replacement of the kernels to the stream, and ends the redirection. Continues it if the submission
    // fails.
    void end(Core &core, Lock &lock, ContextStream &stream) REQUIRES(engine_lock);

  private:
    void leave(ContextStream &stream) REQUIRES(engine_lock);

    const Ref<Graph> graph_;  // keeps the streams of the group
    const Ref<TaskGroup> group_;
    const Ref<ContextStream> collected_;  // not part of the machine: keeps the kernels until the end
};

inline GroupUpdate *update_of(const ContextStream &stream) REQUIRES(engine_lock) {
    return stream.is_redirected ? stream.redirect()->as_update() : nullptr;
}

}  // namespace aclsim
