// Built models: streams whose tasks are kept, and executed together as often as the user asks (graphs_kernels.md B4,
// B5).
//
// Until the model is built the tasks collect in the queues of its streams, which are PERSISTENT and execute nothing. It
// then takes them over, and each execution queues one Replay per task in the same streams: these run as any streams do,
// each in its order and all at the same time. An execution is over when none of its replays is left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/registry.h"
#include "engine/task.h"
#include "engine/waiters.h"
#include "tasks/cmo.h"

namespace aclsim {

class Context;
class Engine;
class Stream;

// Guarded by the engine's lock.
class Model final : public Object, public std::enable_shared_from_this<Model> {
  public:
    static constexpr Kind kKind = Kind::Model;
    using Deadline = std::chrono::steady_clock::time_point;
    using Streams = std::vector<std::shared_ptr<Stream>>;

    Model(Engine &engine, Context &owner, std::uint32_t number) : context(owner), id(number), engine_(engine) {}
    ~Model() override;

    // --- building --------------------------------------------------------------------------------------------------
    // A stream that is no head starts when a task of the model activates it.
    void bind(Stream &stream, bool is_head);
    void unbind(Stream &stream);  // its tasks are dropped
    void unbind_all();
    // The model's work is done when the stream has come this far.
    void end_task(const Stream &stream);
    void build();
    // When the first stream comes to this, the second starts if it has not been started.
    void submit_activation(std::unique_lock<std::mutex> &lock, Stream &stream, const Stream &activated);
    // Fails unless the stream, which is bound, takes tasks still.
    void require_open(const Stream &stream) const;
    bool is_executable() const { return is_built_ && end_ != nullptr; }

    // --- executing: one execution after the other ------------------------------------------------------------------
    // As one task of a stream.
    void launch(std::unique_lock<std::mutex> &lock, Stream &stream);
    // Waits for the end; answers the first failure of a task.
    aclError execute(std::unique_lock<std::mutex> &lock, Deadline deadline);
    // Drops what is left of the execution. What runs already ends by itself.
    void stop(aclError reason);
    bool is_busy() const { return launches_ > 0 || run_ != nullptr; }
    // false when the deadline has passed.
    bool wait_until_idle(std::unique_lock<std::mutex> &lock, Deadline deadline);

    Context &context;
    const std::uint32_t id;
    std::string name;
    CmoBarriers barriers;

  private:
    friend class ActivateTask;
    friend class LaunchTask;
    friend class Replay;
    struct Run;
    struct Track {
        std::shared_ptr<Stream> stream;
        bool is_head;
        bool is_started = false;  // in the newest execution
        std::vector<std::unique_ptr<Task>> tasks{};
    };

    Track &track_of(const Stream &stream);
    void discard(Track &track);
    void require_repeatable(const Stream &stream) const;
    std::shared_ptr<Run> begin();
    void play(Track &track);
    void activate(const Stream &stream);
    void end(Run &run);
    Streams streams() const;
    Stream *first_at_work() const;

    Engine &engine_;
    std::vector<Track> tracks_;
    const Stream *end_ = nullptr;  // where the end task is
    bool is_built_ = false;
    bool has_run_ = false;
    std::uint32_t launches_ = 0;  // that are queued, wait or execute
    std::shared_ptr<Run> run_;    // the execution that is under way
    Waiters waiters_;             // streams with launches
    std::condition_variable idle_;
};

// The model becomes one of its context, which destroys it if nobody else does.
std::shared_ptr<Model> create_model(Engine &engine, Context &context);
void destroy_model(Engine &engine, Model &model);

}  // namespace aclsim
