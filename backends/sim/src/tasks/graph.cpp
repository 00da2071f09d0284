// SPDX-License-Identifier: Apache-2.0
#include "tasks/graph.h"

#include <utility>

#include "engine/core.h"
#include "support/config.h"
#include "support/error.h"
#include "tasks/capture.h"
#include "tasks/conditional.h"
#include "tasks/task_group.h"

namespace aclsim {
namespace {

// Task of the runtime at the end of a graph where the driver has no software queues (graphs_kernels.md section B6
// [obs]).
class GraphEndTask final : public Task {
  public:
    static constexpr TaskInfo kInfo{"TASK", "the end of a graph", kIsUnlisted};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &) override { return Start::Done; }
};

// Replacement of a disabled task, with the same description.
class DisabledTask final : public Task, public TaskDetails {
  public:
    explicit DisabledTask(const Task &disabled) : info_(disabled.info()) { disabled.details().describe(params_); }
    const TaskInfo &info() const override { return info_; }
    Start start(Stream &) override { return Start::Done; }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override { params = params_; }

  private:
    const TaskInfo &info_;
    aclmdlRITaskParams params_{};
};

void remove_stream(Machine &machine, ContextStream &stream) REQUIRES(engine_lock) {
    machine.core.registry().remove(stream);
    forget_stream(machine, stream);
}

}  // namespace

// Callbacks after the destruction of a graph. Program functions must not be called under the lock, and the streams of
// the graph may still make progress, so they leave the machine afterwards.
class Graph::End final : public DeferredWork {
  public:
    explicit End(Machine &machine) : machine_(machine) {}
    void work() noexcept override {
        for (const Graph::Release &release : releases) {
            release.function(release.data);
        }
    }
    void finish() override REQUIRES(engine_lock) {
        for (const auto &stream : std::exchange(streams, {})) {
            if (!stream->is_destroyed && stream->destroyer == std::thread::id()) {  // otherwise its context removes it
                remove_stream(machine_, *stream);
            }
        }
    }

    std::vector<Graph::Release> releases;
    std::vector<Ref<ContextStream>> streams;

  private:
    Machine &machine_;
};

Graph::Graph(Machine &machine, Context &owner, std::uint32_t number)
    : Model(machine.core, owner, number), machine_(machine), end_(std::make_unique<End>(machine)) {}

Graph::~Graph() {
    unbind_all();
    end_->releases = std::move(releases);
    if (!end_->releases.empty() || !end_->streams.empty()) {
        core_.defer(std::move(end_));
    }
}

ContextStream &Graph::add_stream(std::uint32_t stream_priority) {
    const aclError exhausted =
        config().has(Change::NamesMissingStreams) ? ACL_ERROR_RT_NO_STREAM_RESOURCE : ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    auto &own = end_->streams;
    own.emplace_back();
    auto &stream = own.back();
    try {
        stream = create_stream(machine_, context, ACL_STREAM_PERSISTENT, stream_priority, exhausted);
        bind(*stream, /*is_head=*/true);
    } catch (...) {
        if (stream) {
            remove_stream(machine_, *stream);
        }
        own.pop_back();
        throw;
    }
    stream->is_hidden = true;
    return *stream;
}

void Graph::drop_stream(ContextStream &stream) {
    const Ref<ContextStream> keep(stream);
    unbind(stream);
    end_->streams.pop_back();
    remove_stream(machine_, stream);
}

void Graph::complete() {
    if (!config().has_software_queues) {
        core_.submit(*streams().front(), GraphEndTask());
    }
    keep_tasks();
    status = Status::Ready;
}

void Graph::change(ModelTask &task, std::unique_ptr<Task> replacement) {
    core_.note_changed(task.stream, task.task(), *replacement);
    if (!task.replacement) {
        task.next_changed = std::exchange(changed_, &task);
    }
    task.replacement = std::move(replacement);
    status = Status::Updating;
}

void Graph::disable(ModelTask &task) {
    change(task, std::make_unique<DisabledTask>(task.replacement ? *task.replacement : task.task()));
    task.op_info.clear();
    task.extend_info.clear();
}

void Graph::apply_changes(Lock &lock) {
    const Ref<Graph> keep(this);
    for (std::size_t replaced = 0; status == Status::Updating && changed_ != nullptr;) {
        ModelTask &task = *changed_;
        changed_ = std::exchange(task.next_changed, nullptr);
        replace(task.stream, task.index, std::move(task.replacement));
        if (core_.are_many(++replaced)) {
            replaced = 0;
            let_others_in(lock);
        }
    }
    if (status == Status::Updating) {  // otherwise a change by another thread has failed
        status = Status::Ready;
    }
}

void Graph::prepare() {
    for (const auto &condition : conditions) {
        condition->assign_default();
    }
}

void Graph::close_handles(LeavingNames &leaving) {
    Model::close_handles(leaving);
    changed_ = nullptr;
    const auto forget = [&](const auto &objects) REQUIRES(engine_lock) {
        for (const auto &object : objects) {
            core_.registry().remove(*object);
        }
    };
    for (const auto &sub : sub_graphs) {
        sub->close_handles(leaving);
    }
    forget(sub_graphs);
    forget(conditions);
    forget(groups);
}

}  // namespace aclsim
