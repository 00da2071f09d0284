// SPDX-License-Identifier: Apache-2.0
// Captured graphs (graphs_kernels.md part B): models that own hidden streams. A capture (capture.h) fills one hidden
// stream for each participating stream of the program; events define their order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine/machine.h"
#include "tasks/external_event.h"
#include "tasks/model.h"

namespace aclsim {

class Capture;
class Condition;
class TaskGroup;

// Guarded by the engine lock.
class Graph final : public Model {
  public:
    // Function to call when the graph ends: aclsimReleaseWithGraph.
    struct Release {
        aclsimReleaseFunction function;
        void *data;
    };
    enum class Status : std::uint8_t {
        New,        // sub graph that has not been captured yet
        Capturing,  // `capture` fills it
        Ready,
        Updating,  // tasks were changed, and aclmdlRIUpdate has not been called
        Fault,     // a change failed or the capture was abandoned; it can only be destroyed
    };

    Graph(Machine &machine, Context &owner, std::uint32_t number);
    ~Graph() override;
    Graph *as_graph() override { return this; }

    // --- being captured --------------------------------------------------------------------------------------------
    ContextStream &add_stream(std::uint32_t stream_priority) REQUIRES(engine_lock);
    // Undoes the newest add_stream().
    void drop_stream(ContextStream &stream) REQUIRES(engine_lock);
    // Completes the graph after a successful capture.
    void complete() REQUIRES(engine_lock);
    // Accepts tasks that the program submits to a hidden stream (section B1).
    void require_open(const Stream &) const override {}

    // --- changing tasks --------------------------------------------------------------------------------------------
    // Replaces the task, or disables it, with the next apply_changes().
    void change(ModelTask &task, std::unique_ptr<Task> replacement) REQUIRES(engine_lock);
    void disable(ModelTask &task) REQUIRES(engine_lock);
    // Between slices other threads may change more tasks; those are replaced as well.
    void apply_changes(Lock &lock) REQUIRES(engine_lock);

    bool is_executable() const override REQUIRES(engine_lock) { return status == Status::Ready; }
    void retire() override {}  // streams end with the graph, once no execution is left
    void close_handles(LeavingNames &leaving) override REQUIRES(engine_lock);

    Status status GUARDED_BY(engine_lock) = Status::New;
    Capture *capture GUARDED_BY(engine_lock) = nullptr;
    bool caches_op_info GUARDED_BY(engine_lock) = false;  // ACL_STREAM_ATTR_CACHE_OP_INFO of its capture
    bool is_sub_graph GUARDED_BY(engine_lock) = false;    // executed by a conditional task of another graph
    std::vector<Ref<Graph>> sub_graphs GUARDED_BY(engine_lock);
    std::vector<Ref<Condition>> conditions GUARDED_BY(engine_lock);
    std::vector<Ref<TaskGroup>> groups GUARDED_BY(engine_lock);
    ExternalEvents external_events GUARDED_BY(engine_lock);
    std::vector<Release> releases GUARDED_BY(engine_lock);  // called once no execution is left

  protected:
    std::unique_ptr<LaunchBinding> bind_launch(Stream &stream) override REQUIRES(engine_lock) {
        return bind_external(core_, stream, external_events);
    }
    void prepare() override REQUIRES(engine_lock);

  private:
    class End;
    Machine &machine_;
    std::unique_ptr<End> end_ GUARDED_BY(engine_lock);      // allocated in advance, because destruction must not fail
    ModelTask *changed_ GUARDED_BY(engine_lock) = nullptr;  // first of the tasks with a replacement
};

}  // namespace aclsim
