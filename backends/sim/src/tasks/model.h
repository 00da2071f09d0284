// SPDX-License-Identifier: Apache-2.0
// Built models: streams whose tasks are kept, and executed together as often as the program requests (graphs_kernels.md
// sections B4 and B5).
//
// Until the model is built, tasks collect in the queues of its streams, which are PERSISTENT and execute nothing. The
// model then takes them over, and each execution queues one Replay per task in the same streams. Replays run as tasks
// of any stream do, in order within a stream and concurrently across streams. An execution ends when all of its replays
// have ended. Replays are queued up to the next branch of their stream, which then determines where the stream
// continues.
//
// A captured graph (graph.h) is such a model too: it owns its streams, and a capture fills them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/registry.h"
#include "engine/stream.h"
#include "engine/task.h"
#include "engine/waiters.h"
#include "machine/machine.h"
#include "tasks/cmo.h"
#include "tasks/leaving_tasks.h"

namespace aclsim {

class Graph;
class LeavingNames;
class Model;
struct Label;

// State bound to an execution when it is launched, before earlier launches have begun.
class LaunchBinding {
  public:
    virtual ~LaunchBinding() = default;
    virtual void apply() REQUIRES(engine_lock) = 0;                          // when the execution begins
    virtual void cancel(Stream &stream) noexcept REQUIRES(engine_lock) = 0;  // when it will not begin
};

// Task of a model as the program names it (aclmdlRITask), with attached information.
class ModelTask final : public Object {
  public:
    static constexpr Kind kKind = Kind::ModelTask;
    ModelTask(Model &owner, Stream &stream_of_task, std::size_t place)
        : model(owner), stream(stream_of_task), index(place) {}
    Task &task() const REQUIRES(engine_lock);

    Model &model;  // owner, with which the name ends
    Stream &stream;
    const std::size_t index;  // in its stream
    std::vector<unsigned char> op_info GUARDED_BY(engine_lock);
    std::string extend_info GUARDED_BY(engine_lock);
    Object *group GUARDED_BY(engine_lock) = nullptr;            // task group that contains it
    std::unique_ptr<Task> replacement GUARDED_BY(engine_lock);  // until the graph is updated
    ModelTask *next_changed GUARDED_BY(engine_lock) = nullptr;  // next one of the graph with a replacement
};

// Guarded by the engine lock.
class Model : public Object, public TaskKeeper {
  public:
    static constexpr Kind kKind = Kind::Model;
    using Streams = std::vector<Ref<Stream>>;

    Model(Core &core, Context &owner, std::uint32_t number)
        : keep_context(owner), context(owner), id(number), core_(core) {}
    ~Model() override;
    virtual Graph *as_graph() { return nullptr; }  // nullptr: a built model

    // --- building --------------------------------------------------------------------------------------------------
    // Heads start with the execution, other streams when a task of the model activates them.
    void bind(Stream &stream, bool is_head) REQUIRES(engine_lock);
    void unbind(Stream &stream) REQUIRES(engine_lock);  // drops its tasks
    void unbind_all() REQUIRES(engine_lock);
    // Marks the point in the stream at which the model's work is done.
    void end_task(const Stream &stream) REQUIRES(engine_lock);
    void build(Lock &lock) REQUIRES(engine_lock);
    // Submits a task to the first stream that starts the second one unless it has been started.
    void submit_activation(Lock &lock, Stream &stream, const Stream &activated) REQUIRES(engine_lock);
    // Fails unless the stream, which is bound, still accepts tasks.
    void require_open(const Stream &stream) const override REQUIRES(engine_lock);
    // Places a label before the next task of the stream.
    void submit_label(Lock &lock, Stream &stream, Label &label) REQUIRES(engine_lock);
    virtual bool is_executable() const REQUIRES(engine_lock) { return is_built_ && has_end_; }

    // --- inspection --------------------------------------------------------------------------------------------------
    Streams streams() const REQUIRES(engine_lock);
    std::size_t count_tasks(const Stream &stream) const REQUIRES(engine_lock);
    std::size_t count_tasks() const REQUIRES(engine_lock);
    Task &task(const Stream &stream, std::size_t index) const REQUIRES(engine_lock);
    template <class Function>
    void for_each_task(const Stream &stream, Function function) const REQUIRES(engine_lock);
    // Name of the task, created on first use.
    ModelTask &named_task(const Stream &stream, std::size_t index) REQUIRES(engine_lock);
    // Name of the task, or nullptr if it has none.
    ModelTask *known_task(const Stream &stream, std::size_t index) const REQUIRES(engine_lock);
    // Index of the task with that submission number, or none if the model has no such task.
    std::optional<std::size_t> find_index(const Stream &stream, std::uint64_t submitted_as) const REQUIRES(engine_lock);
    // Returns true if the stream has reached the task in the current execution; the task may then be running.
    bool is_at(const Stream &stream, std::size_t index) const REQUIRES(engine_lock);
    // Replaces a task that no stream has reached.
    void replace(const Stream &stream, std::size_t index, std::unique_ptr<Task> task) REQUIRES(engine_lock);

    // --- executing: one execution after the other ------------------------------------------------------------------
    // Launches the model as one task of a stream.
    void launch(Lock &lock, Stream &stream) REQUIRES(engine_lock);
    // Waits for the end, and returns the first failure of a task.
    aclError execute(Lock &lock, Time deadline) REQUIRES(engine_lock);
    // Drops the queued tasks of the execution without waiting for running ones.
    void stop(aclError reason) REQUIRES(engine_lock);
    bool is_busy() const REQUIRES(engine_lock) { return launches_ > 0 || run_ != nullptr; }
    // Continues a stream after a branch, which is the last of its tasks that were queued: with the next task, at a
    // label, or, by starting another stream, not at all. Returns false if the model does not contain the label.
    void go_on(const Stream &stream) REQUIRES(engine_lock);
    bool jump(const Stream &stream, const Point &branch, const Label &label) REQUIRES(engine_lock);
    void switch_to(const Stream &stream, const Point &branch, const Stream &other) REQUIRES(engine_lock);
    // Returns false when the deadline has passed.
    bool wait_until_idle(Lock &lock, Time deadline) REQUIRES(engine_lock);
    // Streams whose head waits for the end of an execution.
    Waiters &waiters() REQUIRES(engine_lock) { return waiters_; }
    bool is_executing() const REQUIRES(engine_lock) { return run_ != nullptr; }
    const Origin &origin() const REQUIRES(engine_lock);           // origin of the current execution
    void add_causes(Causes &causes) const REQUIRES(engine_lock);  // causes for the end of the execution

    // --- life ------------------------------------------------------------------------------------------------------
    // Called when the handle is gone. The current execution continues if the model owns its streams.
    virtual void retire() REQUIRES(engine_lock) { unbind_all(); }
    // Invalidates the handles of everything in the model. Task names find nothing from here on, and leave the registry
    // in slices.
    virtual void close_handles(LeavingNames &leaving) REQUIRES(engine_lock);

    // A call or deferred work may have the last reference to the model after the end of its context. First member: the
    // streams of the model, which end with it, refer to the context.
    const Ref<Context> keep_context;
    Context &context;
    const std::uint32_t id;
    std::string name GUARDED_BY(engine_lock);
    CmoBarriers barriers;
    // Callbacks of aclmdlRIDestroy with their data. The function alone is the key (section B5).
    std::map<aclrtCallback, void *> destroy_callbacks GUARDED_BY(engine_lock);

  protected:
    // Binds a launch, which is the stream's next task.
    virtual std::unique_ptr<LaunchBinding> bind_launch(Stream &) REQUIRES(engine_lock) { return nullptr; }
    // Prepares an execution, whose tasks have not been queued yet.
    virtual void prepare() REQUIRES(engine_lock) {}
    // Takes over the tasks; from here on the streams execute.
    void keep_tasks() REQUIRES(engine_lock);

    Core &core_;

  private:
    friend class ActivateTask;
    friend class Beginning;
    friend class Execution;
    friend class LaunchTask;
    friend class Replay;
    struct Run;
    struct Track {
        Ref<Stream> stream;
        bool is_head;
        std::uint64_t submitted_before;      // tasks submitted to the stream before it was bound
        bool is_started = false;             // in the newest execution, and not left by a branch
        std::uint64_t checked = UINT64_MAX;  // newest task of the stream when build() checked its tasks
        // Tasks of the built model. The queue that the model has taken over is moved into the list when the list is
        // first needed, one stream at a time, so that building does not depend on the number of tasks.
        mutable TaskQueue queue{};
        mutable Tasks list{};
        std::size_t count() const { return list.size() + queue.size(); }
        Tasks &tasks() const {  // allocates nothing
            while (auto task = queue.pop()) {
                list.push_back(std::move(task));
            }
            return list;
        }
        std::size_t next = 0;     // index after the newest task that was queued
        std::size_t reached = 0;  // number of tasks that the newest execution has reached
        std::map<std::size_t, Ref<ModelTask>> named{};
    };

    Track &track_of(const Stream &stream) REQUIRES(engine_lock);
    const Track &track_of(const Stream &stream) const REQUIRES(engine_lock);
    void discard(Track &track, LeavingTasks &leaving) REQUIRES(engine_lock);
    void require_repeatable(const Stream &stream) const REQUIRES(engine_lock);
    // With many tasks, lets other threads take the lock before the streams start.
    std::shared_ptr<Run> begin(const Point &before, const Origin &origin, LaunchBinding *binding = nullptr)
        REQUIRES(engine_lock);
    // Returns true if there is more to do.
    bool go_on_beginning(Run &run) REQUIRES(engine_lock);
    void start_heads() REQUIRES(engine_lock);
    void drop_replays(aclError reason) REQUIRES(engine_lock);
    void await_drop(Lock &lock) REQUIRES(engine_lock);
    static void rewind(Track &track, const Run &run) REQUIRES(engine_lock);
    // Queues the tasks from that index on, up to the next branch.
    void queue(Track &track, std::size_t begin, const Point &before) REQUIRES(engine_lock);
    void play(Track &track, std::size_t begin, const Point &before) REQUIRES(engine_lock);  // also starts the stream
    void activate(const Stream &stream, const Point &before) REQUIRES(engine_lock);
    void end(Run &run) REQUIRES(engine_lock);
    void note_ends(Run &run) const REQUIRES(engine_lock);  // for observers of the order
    void report_launched(const Point &launch) const REQUIRES(engine_lock);
    Stream *first_at_work() const REQUIRES(engine_lock);

    std::vector<Track> tracks_ GUARDED_BY(engine_lock);
    const Stream *end_ GUARDED_BY(engine_lock) = nullptr;  // stream of the end task, unless it was unbound
    bool has_end_ GUARDED_BY(engine_lock) = false;
    bool is_built_ GUARDED_BY(engine_lock) = false;
    bool has_run_ GUARDED_BY(engine_lock) = false;
    std::uint32_t launches_ GUARDED_BY(engine_lock) = 0;  // queued, waiting or executing
    std::shared_ptr<Run> run_ GUARDED_BY(engine_lock);    // current execution
    Waiters waiters_;                                     // streams with launches
    std::condition_variable_any idle_;
};

template <class Function>
void Model::for_each_task(const Stream &stream, Function function) const {
    for (const Task *task = stream.queue.front(); !is_built_ && task != nullptr; task = task->next.get()) {
        function(*task);
    }
    if (is_built_) {
        for (const auto &task : track_of(stream).tasks()) {
            function(*task);
        }
    }
}

inline Task &ModelTask::task() const { return model.task(stream, index); }

// Execution of a model as work of a task in another stream.
class Execution {
  public:
    Execution(Ref<Model> model, const Origin &origin, std::unique_ptr<LaunchBinding> binding = nullptr)
        : model_(std::move(model)), origin_(origin), binding_(std::move(binding)) {}
    // Begins when the model is free, and returns Done when the execution has ended. Wakes the stream when it has to be
    // called again.
    Start proceed(Stream &stream, const Task &task) REQUIRES(engine_lock);
    void cancel(Stream &stream) noexcept REQUIRES(engine_lock);
    bool is_under_way() const REQUIRES(engine_lock);
    aclError result() const REQUIRES(engine_lock);
    std::string failure_reason() const REQUIRES(engine_lock);  // "": none is known
    std::vector<Ref<Stream>> parts() const REQUIRES(engine_lock);
    Model &model() const { return *model_; }

  private:
    Ref<Model> model_;
    Origin origin_;
    std::unique_ptr<LaunchBinding> binding_;  // until it begins
    std::shared_ptr<Model::Run> run_;
};

// Returns the model to which a stream is bound, or nullptr.
inline Model *model_of(const Stream &stream) REQUIRES(engine_lock) { return static_cast<Model *>(stream.keeper); }

// Owner of all models. A model belongs to a context, and ends with it.
class Models final : public Resident {
  public:
    explicit Models(Machine &machine);
    Ref<Model> create(Context &context) REQUIRES(engine_lock);
    Ref<Graph> create_graph(Context &context) REQUIRES(engine_lock);
    // Creates a graph for a conditional task of the parent, with which it ends.
    Ref<Graph> create_sub_graph(Graph &parent) REQUIRES(engine_lock);
    // Removes the sub graphs from that one on, whose conditional task was not submitted.
    void forget_sub_graphs(Graph &parent, std::size_t first) REQUIRES(engine_lock);
    // Calls the callbacks registered for the destruction.
    void destroy(Lock &lock, Model &model) REQUIRES(engine_lock);
    // Removes a model whose creation failed.
    void forget(Model &model) REQUIRES(engine_lock);
    void context_closes(Context &context) override REQUIRES(engine_lock);
    void context_closed(Context &context) override REQUIRES(engine_lock);

  private:
    void add(const Ref<Model> &model) REQUIRES(engine_lock);
    void erase(const Model &model) REQUIRES(engine_lock);

    Machine &machine_;
    Core &core_;
    std::uint32_t created_ GUARDED_BY(engine_lock) = 0;
    std::map<const Context *, std::vector<Ref<Model>>> models_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
