// Captured graphs (graphs_kernels.md part B): models whose streams are their own, and hidden. A capture (capture.h)
// fills the streams, one for each stream of the user's that takes part; their order is that of events.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "machine/machine.h"
#include "tasks/external_event.h"
#include "tasks/model.h"

namespace aclsim {

class Capture;
class Condition;
class TaskGroup;

// Guarded by the engine's lock.
class Graph final : public Model {
  public:
    // What the program wants to be called with the graph's end: aclsimReleaseWithGraph.
    struct Release {
        aclsimReleaseFunction function;
        void *data;
    };
    enum class Status : std::uint8_t {
        New,        // a sub graph that nobody has captured yet
        Capturing,  // `capture` fills it
        Ready,
        Updating,  // tasks were changed, and aclmdlRIUpdate has not been called
        Fault,     // a change failed, or its capture was given up; it can be destroyed
    };

    Graph(Machine &machine, Context &owner, std::uint32_t number);
    ~Graph() override;
    Graph *as_graph() override { return this; }

    // --- being captured --------------------------------------------------------------------------------------------
    ContextStream &add_stream(std::uint32_t stream_priority) REQUIRES(engine_lock);
    // The capture has ended well.
    void complete() REQUIRES(engine_lock);
    // What the user submits to a hidden stream is accepted (section B1).
    void require_open(const Stream &) const override {}

    // --- changing tasks --------------------------------------------------------------------------------------------
    // The task is to be replaced, or does nothing, from the next apply_changes() on.
    void change(ModelTask &task, std::unique_ptr<Task> replacement) REQUIRES(engine_lock);
    void disable(ModelTask &task) REQUIRES(engine_lock);
    // Between slices other threads may change further tasks, which are then replaced too.
    void apply_changes(Lock &lock) REQUIRES(engine_lock);

    bool is_executable() const override REQUIRES(engine_lock) { return status == Status::Ready; }
    void retire() override {}  // its streams go with it, when nothing executes it any more
    void close_handles(LeavingNames &leaving) override REQUIRES(engine_lock);

    Status status GUARDED_BY(engine_lock) = Status::New;
    Capture *capture GUARDED_BY(engine_lock) = nullptr;
    bool caches_op_info GUARDED_BY(engine_lock) = false;  // ACL_STREAM_ATTR_CACHE_OP_INFO of its capture
    bool is_sub_graph GUARDED_BY(engine_lock) = false;    // that a conditional task of another graph executes
    std::vector<Ref<Graph>> sub_graphs GUARDED_BY(engine_lock);
    std::vector<Ref<Condition>> conditions GUARDED_BY(engine_lock);
    std::vector<Ref<TaskGroup>> groups GUARDED_BY(engine_lock);
    ExternalEvents external_events GUARDED_BY(engine_lock);
    std::vector<Release> releases GUARDED_BY(engine_lock);  // when nothing executes it any more

  protected:
    std::unique_ptr<LaunchBinding> bind_launch(Stream &stream) override REQUIRES(engine_lock) {
        return bind_external(core_, stream, external_events);
    }
    void prepare() override REQUIRES(engine_lock);

  private:
    class End;
    Machine &machine_;
    std::unique_ptr<End> end_ GUARDED_BY(engine_lock);  // made in advance: a destruction cannot fail
    std::deque<ModelTask *> changed_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
