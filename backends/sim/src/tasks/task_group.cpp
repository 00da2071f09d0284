// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "support/error.h"
#include "tasks/kernel_launch.h"

namespace aclsim {
namespace {

// Launch that was refused: the task of the group that it was to replace stays.
class KeptTask final : public Task {
  public:
    static constexpr TaskInfo kInfo{"TASK", "a kernel that stays", kIsUnlisted};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override { return Start::Done; }
};

class UpdateTask final : public BlockingTask {
  public:
    UpdateTask(Core &core, Ref<Graph> graph, Ref<TaskGroup> group, Ref<ContextStream> collected)
        : core_(core), graph_(std::move(graph)), group_(std::move(group)), collected_(std::move(collected)) {
        core_.timer().start();
    }
    static constexpr TaskInfo kInfo{"TASK", "an update of kernels", kIsUnrepeatable};
    const TaskInfo &info() const override { return kInfo; }
    // Replaces only tasks that the current execution has not reached: its graph may wait for an event that the program
    // records after the update (aclmdlRICaptureTaskUpdateBegin). A running kernel is kept until it has ended.
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (group_->is_running()) {
            core_.timer().poll(stream);
            return Start::Blocked;
        }
        group_->replace(collected_->queue);
        return Start::Done;
    }
    void add_causes(Causes &causes) const override { causes.list.push_back({nullptr, 0, Outside::Clock}); }
    std::string awaited() const override { return "a kernel of graph " + std::to_string(graph_->id); }

  private:
    Core &core_;
    Ref<Graph> graph_;
    Ref<TaskGroup> group_;
    Ref<ContextStream> collected_;  // keeps the kernels
};

}  // namespace

TaskGroup::TaskGroup(Graph &owner, const std::vector<Range> &ranges) : graph(owner) {
    for (const Range &range : ranges) {
        for (std::uint64_t number = range.first + 1; number <= range.last; ++number) {
            if (const auto index = graph.find_index(*range.stream, number)) {
                members_.push_back({range.stream, *index});
                graph.named_task(*range.stream, *index);
            }
        }
    }
}

void TaskGroup::mark_tasks() {
    for (const Member &member : members_) {
        graph.known_task(*member.stream, member.index)->group = this;
    }
}

const Task &TaskGroup::task(std::size_t number) const {
    return graph.task(*members_[number].stream, members_[number].index);
}

bool TaskGroup::is_running() const {
    return std::any_of(members_.begin(), members_.end(),
                       [this](const Member &it) REQUIRES(engine_lock) { return graph.is_at(*it.stream, it.index); });
}

void TaskGroup::replace(TaskQueue &tasks) {
    for (const Member &member : members_) {
        std::unique_ptr<Task> task = tasks.pop();
        if (dynamic_cast<const KeptTask *>(task.get()) == nullptr) {
            graph.replace(*member.stream, member.index, std::move(task));
        }
    }
}

GroupUpdate::GroupUpdate(ContextStream &stream, Ref<TaskGroup> group)
    : graph_(group->graph),
      group_(std::move(group)),
      collected_(make_ref_in<ContextStream>(Core::shard_of(stream), context_of(stream), stream.id,
                                            ACL_STREAM_PERSISTENT, stream.priority)) {
    group_->is_updating = true;
    collected_->stands_for = &stream;
}

GroupUpdate::~GroupUpdate() { group_->is_updating = false; }

void GroupUpdate::leave(ContextStream &stream) {
    stream.set_redirect(nullptr);
    collected_->stands_for = nullptr;
    group_->is_updating = false;
}

ContextStream &GroupUpdate::take(ContextStream &stream, bool is_kernel) {
    if (!is_kernel) {
        fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "stream %u updates a task group, and takes kernels alone", stream.id);
    }
    if (collected_->queue.size() == group_->size()) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "the task group that stream %u updates has %zu tasks", stream.id,
             group_->size());
    }
    return *collected_;
}

// Compares the cores of the kernels, and the kinds that their blocks use (graphs_kernels.md section B3).
void GroupUpdate::require_replacement(const KernelFunction &function) {
    const auto *replaced = dynamic_cast<const KernelTask *>(&group_->task(collected_->queue.size()));
    if (replaced != nullptr && replaced->launch().function->description.type != function.description.type) {
        collected_->queue.push(std::make_unique<KeptTask>());
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "kernel %s is of another type than kernel %s, which it is to replace",
             function.description.name.c_str(), replaced->launch().function->description.name.c_str());
    }
}

void GroupUpdate::end(Core &core, Lock &lock, ContextStream &stream) {
    const Ref<GroupUpdate> keep(this);
    if (collected_->queue.size() < group_->size()) {
        leave(stream);
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "%u kernels were launched for a task group of %zu", collected_->queue.size(),
             group_->size());
    }
    if (core.admit(lock, stream) && update_of(stream) != this) {
        fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "another thread has ended the update of stream %u", stream.id);
    }
    core.submit(stream, UpdateTask(core, graph_, group_, collected_));
    leave(stream);
}

}  // namespace aclsim
