// Groups of kernels in a captured graph, and their update: kernels that a stream launches in place of those
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

// Guarded by the engine's lock.
class TaskGroup final : public Object {
  public:
    static constexpr Kind kKind = Kind::TaskGroup;
    // The tasks of a hidden stream that were submitted behind `first`, up to and with `last`.
    struct Range {
        Stream *stream;
        std::uint64_t first;
        std::uint64_t last;
    };
    TaskGroup(Graph &owner, std::vector<Range> ranges);
    std::size_t size() const { return members_.size(); }
    const Task &task(std::size_t number) const REQUIRES(engine_lock);
    bool is_running() const REQUIRES(engine_lock);  // one of its tasks
    // In the order of the group.
    void replace(std::vector<std::unique_ptr<Task>> tasks) REQUIRES(engine_lock);

    Graph &graph;  // with which it ends
    bool is_updating GUARDED_BY(engine_lock) = false;

  private:
    struct Member {
        Stream *stream;
        std::size_t index;
    };
    std::vector<Member> members_;
};

// The redirect of a stream whose kernels update a group.
class GroupUpdate final : public TaskRedirect {
  public:
    GroupUpdate(ContextStream &stream, Ref<TaskGroup> group);
    ~GroupUpdate() override;
    GroupUpdate *as_update() override { return this; }
    ContextStream &take(ContextStream &stream, bool is_kernel) override REQUIRES(engine_lock);
    void require_usable(const ContextStream &) const override {}
    // Fails with ACL_ERROR_RT_INTERNAL_ERROR unless the function is of the kind of that which it is to replace.
    void require_replacement(const KernelFunction &function) const REQUIRES(engine_lock);
    // The stream is itself again, and replaces the kernels when it comes to that.
    void end(Core &core, Lock &lock, ContextStream &stream) REQUIRES(engine_lock);

  private:
    const Ref<Graph> graph_;  // which keeps the group's streams
    const Ref<TaskGroup> group_;
    const Ref<ContextStream> collected_;  // no stream of the machine: it keeps the kernels until the end
};

inline GroupUpdate *update_of(const ContextStream &stream) REQUIRES(engine_lock) {
    return stream.is_redirected ? stream.redirect()->as_update() : nullptr;
}

}  // namespace aclsim
