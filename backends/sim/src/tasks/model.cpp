#include "tasks/model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/core.h"
#include "support/error.h"
#include "tasks/label.h"

namespace aclsim {
namespace {

// Not callbacks: the subscribed thread processes each one once.
constexpr TaskKind kRepeatable[] = {
    TaskKind::Record,     TaskKind::Wait,         TaskKind::Reset,      TaskKind::Copy,       TaskKind::Fill,
    TaskKind::Reduce,     TaskKind::HostFunction, TaskKind::ValueWrite, TaskKind::ValueWait,  TaskKind::NotifyRecord,
    TaskKind::NotifyWait, TaskKind::Trace,        TaskKind::Cmo,        TaskKind::CmoBarrier, TaskKind::Activate,
    TaskKind::Random,     TaskKind::Label,        TaskKind::Branch,
};

bool is_repeatable(const Task &task) {
    return std::find(std::begin(kRepeatable), std::end(kRepeatable), task.kind()) != std::end(kRepeatable);
}

aclError first_of(aclError earlier, aclError later) { return earlier != ACL_SUCCESS ? earlier : later; }

}  // namespace

// One execution.
struct Model::Run {
    explicit Run(Ref<Model> executed) : model(std::move(executed)) {}
    bool has_ended() const { return left == 0; }
    void leave(aclError failure) REQUIRES(engine_lock) {
        result = first_of(result, failure);
        if (--left == 0) {
            const auto keep = std::move(model);
            keep->end(*this);
        }
    }

    Ref<Model> model;
    std::uint32_t left = 1;     // replays that have not ended; 1 for the caller that is starting them
    std::vector<Point> ends{};  // the last replay of each stream; only while there are observers
    aclError result = ACL_SUCCESS;
};

// A task of a model in one execution.
class Replay final : public Task {
  public:
    Replay(std::shared_ptr<Model::Run> run, Task &kept) : run_(std::move(run)), kept_(kept) {
        ++run_->left;
        submitter = kept.submitter;
    }
    ~Replay() override { run_->leave(first_of(result, abort_reason_)); }

    TaskKind kind() const override { return kept_.kind(); }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        stream_ = &stream;
        const Start start = kept_.start(stream);
        result = kept_.result;
        return start;
    }
    void run() override { kept_.run(); }
    void finish() override REQUIRES(engine_lock) {
        kept_.finish();
        result = kept_.result;
        was_cut_short = kept_.was_cut_short;
        if (was_cut_short) {
            abort_reason_ = stream_->abort_reason;
        }
    }
    Executor *executor() override { return kept_.executor(); }
    void cancel(Stream &stream) override REQUIRES(engine_lock) {
        abort_reason_ = stream.abort_reason;
        kept_.cancel(stream);
    }
    bool expire() override REQUIRES(engine_lock) { return kept_.expire(); }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) { kept_.add_causes(causes); }
    std::string awaited() const override REQUIRES(engine_lock) { return kept_.awaited(); }

  private:
    std::shared_ptr<Model::Run> run_;
    Task &kept_;
    const Stream *stream_ = nullptr;
    aclError abort_reason_ = ACL_SUCCESS;
};

// A task that starts a stream of its model.
class ActivateTask final : public Task {
  public:
    ActivateTask(Model &model, const Stream &stream) : model_(model), stream_(stream) {}
    TaskKind kind() const override { return TaskKind::Activate; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        model_.activate(stream_, stream.point(*this));
        return Start::Done;
    }

  private:
    Model &model_;
    const Stream &stream_;
};

// An execution as a task of another stream.
class LaunchTask final : public Task {
  public:
    explicit LaunchTask(Ref<Model> model) : model_(std::move(model)) {}
    TaskKind kind() const override { return TaskKind::Model; }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        model_->waiters_.remove(stream);
        if (run_ == nullptr && model_->run_ == nullptr) {
            run_ = model_->begin({stream.serial, sequence - 1});
        }
        if (run_ == nullptr || !run_->has_ended()) {
            model_->waiters_.add(stream);
            return Start::Blocked;
        }
        result = run_->result;
        for (const Point &end : run_->ends) {
            model_->core_.observers().tell(&Observer::ordered, end, stream.point(*this), Ordering::Model);
        }
        leave();
        return Start::Done;
    }
    void cancel(Stream &stream) override REQUIRES(engine_lock) {
        model_->waiters_.remove(stream);
        if (is_executing()) {
            model_->stop(stream.abort_reason);
        }
        leave();
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        for (const auto &stream : model_->streams()) {
            if (stream->queue.front() != nullptr) {
                causes.list.push_back({stream.get(), stream->submitted});
            }
        }
    }
    std::vector<Ref<Stream>> parts() const override REQUIRES(engine_lock) {
        return is_executing() ? model_->streams() : Model::Streams();
    }
    std::string awaited() const override { return "model " + std::to_string(model_->id); }

  private:
    bool is_executing() const { return run_ != nullptr && !run_->has_ended(); }
    void leave() REQUIRES(engine_lock) {
        --model_->launches_;
        model_->idle_.notify_all();
    }

    Ref<Model> model_;
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
    tracks_.push_back({Ref<Stream>(stream), is_head});
    stream.keeper = this;
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
    core_.drop_queue(stream, ACL_ERROR_RT_STREAM_ABORT);  // what was submitted and not yet taken over
    stream.keeper = nullptr;
    stream.is_replaying = false;
}

void Model::end_task(const Stream &stream) {
    if (stream.keeper != this || is_built_ || end_ != nullptr) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is not bound to model %u, or the model has its end task already",
             stream.id, id);
    }
    end_ = &stream;
}

void Model::require_repeatable(const Stream &stream) const {
    for (const Task *task = stream.queue.front(); task != nullptr; task = task->next.get()) {
        if (!is_repeatable(*task)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              "task %llu of stream %u is none that model %u could execute again",
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
        stream.is_replaying = true;
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

std::shared_ptr<Model::Run> Model::begin(const Point &before) {
    const auto run = run_ = std::make_shared<Run>(Ref<Model>(this));
    for (Track &track : tracks_) {
        track.is_started = false;
        track.reached = 0;
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
            play(track, 0, before);
        }
    }
    run->leave(ACL_SUCCESS);
    return run;
}

void Model::play(Track &track, std::size_t begin, const Point &before) {
    track.is_started = true;
    if (before.sequence > 0 && begin < track.tasks.size()) {
        const Point first{track.stream->serial, track.stream->submitted + 1};
        core_.observers().tell(&Observer::ordered, before, first, Ordering::Model);
    }
    for (track.next = begin; track.next < track.tasks.size();) {
        Task &task = *track.tasks[track.next];
        if (track.next < track.reached) {  // a loop
            task.rewind();
            task.result = ACL_SUCCESS;
        }
        auto replay = std::make_unique<Replay>(run_, task);
        const Replay &queued = *replay;
        core_.append(*track.stream, std::move(replay));
        task.sequence = queued.sequence;
        task.note_queued(*track.stream);
        core_.observers().tell(&Observer::replayed, task, queued);
        track.reached = std::max(track.reached, ++track.next);
        if (task.kind() == TaskKind::Branch) {
            break;
        }
    }
}

void Model::go_on(const Stream &stream) {
    Track &track = track_of(stream);
    play(track, track.next, Point{});
}

bool Model::jump(const Stream &stream, const Point &branch, const Label &label) {
    Track &track = track_of(stream);
    const auto target = std::find_if(tracks_.begin(), tracks_.end(), [&](const Track &it) REQUIRES(engine_lock) {
        return label.model == id && it.stream.get() == label.stream.get();
    });
    if (target == tracks_.end() || label.index >= target->tasks.size()) {
        return false;
    }
    track.is_started = false;
    if (!target->is_started) {
        play(*target, label.index, &*target == &track ? Point{} : branch);
    }
    return true;
}

void Model::switch_to(const Stream &stream, const Point &branch, const Stream &other) {
    track_of(stream).is_started = false;
    activate(other, branch);
}

// On a device, a run would hang if the stream with its end task was never activated, or was left before it.
void Model::end(Run &run) {
    if (end_ != nullptr && !track_of(*end_).is_started) {
        run.result = first_of(run.result, ACL_ERROR_RT_MODEL_EXECUTE);
    }
    for (const Track &track : tracks_) {
        if (core_.observers().any() && track.reached > 0) {
            run.ends.push_back(track.stream->newest());
        }
    }
    run_.reset();
    waiters_.wake(core_);
    idle_.notify_all();
}

void Model::submit_activation(Lock &lock, Stream &stream, const Stream &activated) {
    core_.admit(lock, stream);
    core_.submit(stream, ActivateTask(*this, activated));
}

void Model::submit_label(Lock &lock, Stream &stream, Label &label) {
    const Ref<Label> keep(label);
    core_.admit(lock, stream);
    if (label.stream) {  // another thread was faster
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "the label is set already");
    }
    label.model = id;
    label.stream = Ref<const Stream>(stream);
    label.index = stream.queue.size();
    core_.submit(stream, LabelTask());
}

// The activated stream may have been unbound since.
void Model::activate(const Stream &stream, const Point &before) {
    for (Track &track : tracks_) {
        if (track.stream.get() == &stream && !track.is_started) {
            play(track, 0, before);
        }
    }
}

void Model::stop(aclError reason) {
    for (const auto &stream : streams()) {
        core_.drop_queue(*stream, reason);
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
    const auto at_work = [](const Track &track)
                             REQUIRES(engine_lock) { return track.stream->queue.front() != nullptr; };
    const auto found = std::find_if(tracks_.begin(), tracks_.end(), at_work);
    return found == tracks_.end() ? nullptr : found->stream.get();
}

void Model::launch(Lock &lock, Stream &stream) {
    const Ref<Model> keep(this);
    ++launches_;  // admit() may let in a thread that destroys the model
    try {
        core_.admit(lock, stream);
    } catch (...) {
        --launches_;
        idle_.notify_all();
        throw;
    }
    core_.submit(stream, LaunchTask(keep));
}

aclError Model::execute(Lock &lock, Time deadline) {
    struct Launch {
        explicit Launch(Ref<Model> launched) : model(std::move(launched)) { ++model->launches_; }
        ~Launch() {
            --model->launches_;
            model->idle_.notify_all();
        }
        Launch(const Launch &) = delete;
        Launch &operator=(const Launch &) = delete;
        const Ref<Model> model;
    };
    const Launch launch{Ref<Model>(this)};
    std::shared_ptr<Run> own;
    while (own == nullptr || !own->has_ended()) {
        if (run_ == nullptr) {
            if (core_.registry().find<Model>(handle()) != this) {
                return ACL_ERROR_RT_INVALID_HANDLE;  // destroyed with its context, while this waited for its turn
            }
            own = begin(Point{});
            core_.pump();
            continue;
        }
        const Ref<Stream> stream(first_at_work());
        switch (core_.wait_for(lock, stream, stream->submitted, deadline)) {
            case Core::Waited::TimedOut:
                if (own != nullptr) {
                    stop(ACL_ERROR_RT_MODEL_ABORT_NORMAL);
                    core_.pump();
                }
                return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            case Core::Waited::Aborted:
                return own != nullptr ? first_of(own->result, stream->abort_reason) : stream->abort_reason;
            case Core::Waited::Stopped:
                stop(context.failure);
                core_.pump();
                return context.failure;
            case Core::Waited::Done:
                break;
        }
    }
    return own->result;
}

bool Model::wait_until_idle(Lock &lock, Time deadline) {
    std::optional<HostWait> wait;
    while (is_busy()) {
        if (!wait) {
            wait.emplace(core_, Outside::Anybody, "the end of a model's executions", deadline);
        }
        if (!wait->sleep(lock, idle_)) {
            return !is_busy();
        }
    }
    return true;
}

// --- life ------------------------------------------------------------------------------------------------------------

Models::Models(Machine &machine) : core_(machine.core) { machine.add(*this); }

Ref<Model> Models::create(Context &context) {
    auto model = make_ref<Model>(core_, context, created_++);
    core_.registry().add(model);
    models_[&context].push_back(model);
    return model;
}

void Models::destroy(Model &model) {
    const Ref<Model> keep(model);
    auto &models = models_[&model.context];
    core_.registry().remove(model);
    model.unbind_all();
    models.erase(std::remove(models.begin(), models.end(), keep), models.end());
}

void Models::context_closes(Context &context) {
    for (const auto &model : models_[&context]) {
        core_.registry().remove(*model);
    }
}

}  // namespace aclsim
