#include "tasks/model.h"

#include <algorithm>
#include <utility>

#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {
namespace {

// A callback waits for a thread of the user that answers once.
constexpr TaskKind kRepeatable[] = {
    TaskKind::Record,     TaskKind::Wait,         TaskKind::Reset,      TaskKind::Copy,       TaskKind::Fill,
    TaskKind::Reduce,     TaskKind::HostFunction, TaskKind::ValueWrite, TaskKind::ValueWait,  TaskKind::NotifyRecord,
    TaskKind::NotifyWait, TaskKind::Trace,        TaskKind::Cmo,        TaskKind::CmoBarrier, TaskKind::Activate,
};

bool is_repeatable(const Task &task) {
    return std::find(std::begin(kRepeatable), std::end(kRepeatable), task.kind()) != std::end(kRepeatable);
}

aclError first_of(aclError earlier, aclError later) { return earlier != ACL_SUCCESS ? earlier : later; }

std::uint32_t g_models = 0;  // so many were created; guarded by the engine's lock

}  // namespace

// One execution.
struct Model::Run {
    explicit Run(std::shared_ptr<Model> executed) : model(std::move(executed)) {}
    bool is_over() const { return left == 0; }
    void leave(aclError failure) {
        result = first_of(result, failure);
        if (--left == 0) {
            const auto keep = std::move(model);
            keep->end(*this);
        }
    }

    std::shared_ptr<Model> model;
    std::uint32_t left = 1;  // replays, and whoever starts them
    aclError result = ACL_SUCCESS;
};

// A task of a model in one execution.
class Replay final : public Task {
  public:
    Replay(std::shared_ptr<Model::Run> run, Task &kept) : run_(std::move(run)), kept_(kept) {
        ++run_->left;
        submitter = kept.submitter;
        injected_failure = kept.injected_failure;
        delay = kept.delay;
    }
    ~Replay() override { run_->leave(first_of(result, abort_reason_)); }

    TaskKind kind() const override { return kept_.kind(); }
    Start start(Stream &stream) override {
        kept_.sequence = sequence;
        kept_.uses.swap(uses);  // what it finds to work on is in use by this execution
        const Start start = kept_.start(stream);
        kept_.uses.swap(uses);
        result = kept_.result;
        return start;
    }
    void run() override {
        kept_.run();
        result = kept_.result;
    }
    void finish() override { kept_.finish(); }
    Executor *executor() override { return kept_.executor(); }
    void cancel(Stream &stream) override {
        abort_reason_ = stream.abort_reason;
        kept_.cancel(stream);
    }
    bool expire() override { return kept_.expire(); }
    Stream *waits_for() override { return kept_.waits_for(); }
    std::string awaited() const override { return kept_.awaited(); }

  private:
    std::shared_ptr<Model::Run> run_;
    Task &kept_;
    aclError abort_reason_ = ACL_SUCCESS;
};

// A task that starts a stream of its model.
class ActivateTask final : public Task {
  public:
    ActivateTask(Model &model, const Stream &stream) : model_(model), stream_(stream) {}
    TaskKind kind() const override { return TaskKind::Activate; }
    Start start(Stream &) override {
        model_.activate(stream_);
        return Start::Done;
    }

  private:
    Model &model_;
    const Stream &stream_;
};

// An execution as a task of another stream.
class LaunchTask final : public Task {
  public:
    explicit LaunchTask(std::shared_ptr<Model> model) : model_(std::move(model)) {}
    TaskKind kind() const override { return TaskKind::Model; }

    Start start(Stream &stream) override {
        model_->waiters_.remove(stream);
        if (run_ == nullptr && model_->run_ == nullptr) {
            run_ = model_->begin();
        }
        if (run_ == nullptr || !run_->is_over()) {
            model_->waiters_.add(stream);
            return Start::Blocked;
        }
        result = run_->result;
        leave();
        return Start::Done;
    }
    void cancel(Stream &stream) override {
        model_->waiters_.remove(stream);
        if (is_executing()) {
            model_->stop(stream.abort_reason);
        }
        leave();
    }
    Stream *waits_for() override { return model_->first_at_work(); }
    std::vector<std::shared_ptr<Stream>> parts() const override {
        return is_executing() ? model_->streams() : Model::Streams();
    }
    std::string awaited() const override { return "model " + std::to_string(model_->id); }

  private:
    bool is_executing() const { return run_ != nullptr && !run_->is_over(); }
    void leave() {
        --model_->launches_;
        model_->idle_.notify_all();
    }

    std::shared_ptr<Model> model_;
    std::shared_ptr<Model::Run> run_;
};

// --- building --------------------------------------------------------------------------------------------------------

Model::~Model() { unbind_all(); }

void Model::unbind_all() {
    for (Track &track : tracks_) {
        discard(track);
    }
    tracks_.clear();
    end_ = nullptr;
}

Model::Track &Model::track_of(const Stream &stream) {
    return *std::find_if(tracks_.begin(), tracks_.end(), [&](const Track &it) { return it.stream.get() == &stream; });
}

void Model::bind(Stream &stream, bool is_head) {
    if (is_built_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is built; it takes no more streams", id);
    }
    if (stream.queue.size() > 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u has tasks from before it was bound", stream.id);
    }
    tracks_.push_back({stream.shared_from_this(), is_head});
    stream.model = this;
}

void Model::unbind(Stream &stream) {
    Track &track = track_of(stream);
    discard(track);
    end_ = end_ == &stream ? nullptr : end_;
    tracks_.erase(tracks_.begin() + (&track - tracks_.data()));
}

void Model::discard(Track &track) {
    Stream &stream = *track.stream;
    if (!has_run_) {
        for (const auto &task : track.tasks) {
            task->cancel(stream);
        }
    }
    engine_.drop_queue(stream, ACL_ERROR_RT_STREAM_ABORT);  // what was submitted and not yet taken over
    stream.model = nullptr;
    stream.plays = false;
}

void Model::end_task(const Stream &stream) {
    if (stream.model != this || is_built_ || end_ != nullptr) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is not bound to model %u, or the model has its end task already",
             stream.id, id);
    }
    end_ = &stream;
}

void Model::require_repeatable(const Stream &stream) const {
    for (const Task *task = stream.queue.front(); task != nullptr; task = task->next.get()) {
        if (!is_repeatable(*task)) {
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "task %llu of stream %u is none that model %u could execute again",
                   static_cast<unsigned long long>(task->sequence), stream.id, id);
        }
    }
}

void Model::build() {
    if (is_built_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is built already", id);
    }
    for (const Track &track : tracks_) {
        require_repeatable(*track.stream);
    }
    for (Track &track : tracks_) {
        Stream &stream = *track.stream;
        while (auto task = stream.queue.pop()) {
            track.tasks.push_back(std::move(task));
        }
        stream.completed = stream.submitted;  // from here on its tasks are replays
        stream.plays = true;
    }
    is_built_ = true;
}

void Model::require_open(const Stream &stream) const {
    if (is_built_ || end_ == &stream) {
        fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u takes no more tasks: model %u is built, or its end task is there",
             stream.id, id);
    }
}

// --- executing -------------------------------------------------------------------------------------------------------

std::shared_ptr<Model::Run> Model::begin() {
    const auto run = run_ = std::make_shared<Run>(shared_from_this());
    for (Track &track : tracks_) {
        track.is_started = false;
        for (const auto &task : track.tasks) {
            if (has_run_) {
                task->rewind();
            }
            task->result = ACL_SUCCESS;
        }
    }
    has_run_ = true;
    for (Track &track : tracks_) {
        if (track.is_head) {
            play(track);
        }
    }
    run->leave(ACL_SUCCESS);
    return run;
}

void Model::play(Track &track) {
    track.is_started = true;
    for (const auto &task : track.tasks) {
        auto replay = std::make_unique<Replay>(run_, *task);
        if (MemoryCheck *check = engine_.memory_check()) {
            check->replayed(*task, *replay);
        }
        engine_.append(*track.stream, std::move(replay));
    }
}

// A run whose end task is in a stream that nobody activated would hang on a device.
void Model::end(Run &run) {
    if (end_ != nullptr && !track_of(*end_).is_started) {
        run.result = first_of(run.result, ACL_ERROR_RT_MODEL_EXECUTE);
    }
    run_.reset();
    waiters_.wake(engine_);
    idle_.notify_all();
}

void Model::submit_activation(Lock &lock, Stream &stream, const Stream &activated) {
    engine_.admit(lock, stream);
    engine_.submit(stream, ActivateTask(*this, activated));
}

// The activated stream may have been unbound since.
void Model::activate(const Stream &stream) {
    for (Track &track : tracks_) {
        if (track.stream.get() == &stream && !track.is_started) {
            play(track);
        }
    }
}

void Model::stop(aclError reason) {
    for (const auto &stream : streams()) {
        engine_.drop_queue(*stream, reason);
    }
}

Model::Streams Model::streams() const {
    Streams streams;
    for (const Track &track : tracks_) {
        streams.push_back(track.stream);
    }
    return streams;
}

Stream *Model::first_at_work() const {
    const auto at_work = [](const Track &track) { return track.stream->queue.front() != nullptr; };
    const auto found = std::find_if(tracks_.begin(), tracks_.end(), at_work);
    return found == tracks_.end() ? nullptr : found->stream.get();
}

void Model::launch(Lock &lock, Stream &stream) {
    const auto keep = shared_from_this();
    ++launches_;  // admit() may let in a thread that destroys the model
    try {
        engine_.admit(lock, stream);
    } catch (...) {
        --launches_;
        idle_.notify_all();
        throw;
    }
    engine_.submit(stream, LaunchTask(keep));
}

aclError Model::execute(Lock &lock, Deadline deadline) {
    struct Launch {
        explicit Launch(std::shared_ptr<Model> launched) : model(std::move(launched)) { ++model->launches_; }
        ~Launch() {
            --model->launches_;
            model->idle_.notify_all();
        }
        Launch(const Launch &) = delete;
        Launch &operator=(const Launch &) = delete;
        const std::shared_ptr<Model> model;
    };
    const Launch launch(shared_from_this());
    std::shared_ptr<Run> own;
    while (own == nullptr || !own->is_over()) {
        if (run_ == nullptr) {
            if (engine_.registry().find<Model>(handle()) != this) {
                return ACL_ERROR_RT_INVALID_HANDLE;  // destroyed with its context, while this waited for its turn
            }
            own = begin();
            engine_.pump();
            continue;
        }
        const auto stream = first_at_work()->shared_from_this();
        switch (engine_.wait_for(lock, stream, stream->submitted, deadline)) {
            case Engine::Waited::TimedOut:
                if (own != nullptr) {
                    stop(ACL_ERROR_RT_MODEL_ABORT_NORMAL);
                    engine_.pump();
                }
                return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            case Engine::Waited::Aborted:
                return own != nullptr ? first_of(own->result, stream->abort_reason) : stream->abort_reason;
            case Engine::Waited::Stopped:
                stop(context.failure);
                engine_.pump();
                return context.failure;
            case Engine::Waited::Done:
                break;
        }
    }
    return own->result;
}

bool Model::wait_until_idle(Lock &lock, Deadline deadline) {
    return idle_.wait_until(lock, deadline, [this] { return !is_busy(); });
}

// --- life ------------------------------------------------------------------------------------------------------------

std::shared_ptr<Model> create_model(Engine &engine, Context &context) {
    auto model = std::make_shared<Model>(engine, context, g_models++);
    engine.registry().add(model);
    context.models.push_back(model);
    return model;
}

void destroy_model(Engine &engine, Model &model) {
    const auto keep = model.shared_from_this();
    auto &models = model.context.models;
    engine.registry().remove(model);
    model.unbind_all();
    models.erase(std::remove(models.begin(), models.end(), keep), models.end());
}

}  // namespace aclsim
