// Built models: streams whose tasks are kept, and executed together as often as the user asks (graphs_kernels.md
// sections B4 and B5).
//
// Until the model is built the tasks collect in the queues of its streams, which are PERSISTENT and execute nothing. It
// then takes them over, and each execution queues one Replay per task in the same streams: these run as any streams do,
// each in its order and all at the same time. An execution ends when all of its replays have ended. Replays are queued
// up to the next branch of their stream, which then says where the stream goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/registry.h"
#include "engine/task.h"
#include "engine/waiters.h"
#include "machine/machine.h"
#include "tasks/cmo.h"

namespace aclsim {

struct Label;

// Guarded by the engine's lock.
class Model final : public Object, public TaskKeeper {
  public:
    static constexpr Kind kKind = Kind::Model;
    using Streams = std::vector<Ref<Stream>>;

    Model(Core &core, Context &owner, std::uint32_t number) : context(owner), id(number), core_(core) {}
    ~Model() override;

    // --- building --------------------------------------------------------------------------------------------------
    // A head starts with the execution, another stream when a task of the model activates it.
    void bind(Stream &stream, bool is_head) REQUIRES(engine_lock);
    void unbind(Stream &stream) REQUIRES(engine_lock);  // its tasks are dropped
    void unbind_all() REQUIRES(engine_lock);
    // The point in the stream at which the model's work is done.
    void end_task(const Stream &stream) REQUIRES(engine_lock);
    void build() REQUIRES(engine_lock);
    // When the first stream comes to this, the second starts if it has not been started.
    void submit_activation(Lock &lock, Stream &stream, const Stream &activated) REQUIRES(engine_lock);
    // Fails unless the stream, which is bound, still takes tasks.
    void require_open(const Stream &stream) const override REQUIRES(engine_lock);
    // Places a label before what the stream takes next.
    void submit_label(Lock &lock, Stream &stream, Label &label) REQUIRES(engine_lock);
    bool is_executable() const REQUIRES(engine_lock) { return is_built_ && end_ != nullptr; }

    // --- executing: one execution after the other ------------------------------------------------------------------
    // As one task of a stream.
    void launch(Lock &lock, Stream &stream) REQUIRES(engine_lock);
    // Waits for the end; answers the first failure of a task.
    aclError execute(Lock &lock, Time deadline) REQUIRES(engine_lock);
    // Drops the queued tasks of the execution, and does not wait for those that run.
    void stop(aclError reason) REQUIRES(engine_lock);
    bool is_busy() const REQUIRES(engine_lock) { return launches_ > 0 || run_ != nullptr; }
    // Where a stream goes on after a branch, which is the last of its tasks that were queued: with the next one, at a
    // label, or nowhere, because another stream starts. false: the label is nowhere in this model.
    void go_on(const Stream &stream) REQUIRES(engine_lock);
    bool jump(const Stream &stream, const Point &branch, const Label &label) REQUIRES(engine_lock);
    void switch_to(const Stream &stream, const Point &branch, const Stream &other) REQUIRES(engine_lock);
    // false when the deadline has passed.
    bool wait_until_idle(Lock &lock, Time deadline) REQUIRES(engine_lock);

    Context &context;
    const std::uint32_t id;
    std::string name GUARDED_BY(engine_lock);
    CmoBarriers barriers;

  private:
    friend class ActivateTask;
    friend class LaunchTask;
    friend class Replay;
    struct Run;
    struct Track {
        Ref<Stream> stream;
        bool is_head;
        bool is_started = false;  // in the newest execution, and not left by a branch
        std::vector<std::unique_ptr<Task>> tasks{};
        std::size_t next = 0;     // behind the newest task that was queued
        std::size_t reached = 0;  // how many tasks the newest execution has come to
    };

    Track &track_of(const Stream &stream) REQUIRES(engine_lock);
    void discard(Track &track) REQUIRES(engine_lock);
    void require_repeatable(const Stream &stream) const REQUIRES(engine_lock);
    // What the execution, or what is played of it, comes after; none if the host executes the model.
    std::shared_ptr<Run> begin(const Point &before) REQUIRES(engine_lock);
    // Queues the tasks from that one on, up to the next branch.
    void play(Track &track, std::size_t begin, const Point &before) REQUIRES(engine_lock);
    void activate(const Stream &stream, const Point &before) REQUIRES(engine_lock);
    void end(Run &run) REQUIRES(engine_lock);
    Streams streams() const REQUIRES(engine_lock);
    Stream *first_at_work() const REQUIRES(engine_lock);

    Core &core_;
    std::vector<Track> tracks_ GUARDED_BY(engine_lock);
    const Stream *end_ GUARDED_BY(engine_lock) = nullptr;  // where the end task is
    bool is_built_ GUARDED_BY(engine_lock) = false;
    bool has_run_ GUARDED_BY(engine_lock) = false;
    std::uint32_t launches_ GUARDED_BY(engine_lock) = 0;  // that are queued, wait or execute
    std::shared_ptr<Run> run_ GUARDED_BY(engine_lock);    // the execution that is under way
    Waiters waiters_;                                     // streams with launches
    std::condition_variable idle_;
};

// The model that a stream is bound to, or nullptr.
inline Model *model_of(const Stream &stream) REQUIRES(engine_lock) { return static_cast<Model *>(stream.keeper); }

// A model belongs to a context, and ends with it.
class Models final : public Resident {
  public:
    explicit Models(Machine &machine);
    Ref<Model> create(Context &context) REQUIRES(engine_lock);
    void destroy(Model &model) REQUIRES(engine_lock);
    void context_closes(Context &context) override REQUIRES(engine_lock);
    void context_closed(Context &context) override REQUIRES(engine_lock) { models_.erase(&context); }

  private:
    Core &core_;
    std::uint32_t created_ GUARDED_BY(engine_lock) = 0;
    std::map<const Context *, std::vector<Ref<Model>>> models_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
