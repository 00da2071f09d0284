// SPDX-License-Identifier: Apache-2.0
// Execution of models.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "engine/core.h"
#include "engine/sliced_work.h"
#include "support/error.h"
#include "support/text.h"
#include "tasks/label.h"
#include "tasks/model.h"

namespace aclsim {
namespace {

aclError first_of(aclError earlier, aclError later) { return earlier != ACL_SUCCESS ? earlier : later; }

// Returns the code of an execution in which a task failed. The task's own code is for the exception callback alone
// (hardware_seen.md sections 1.2, 1.4 and 1.33).
aclError code_of_execution(aclError failure) {
    constexpr aclError kKept[] = {ACL_SUCCESS, ACL_ERROR_RT_END_OF_SEQUENCE, ACL_ERROR_RT_MODEL_ABORT_NORMAL,
                                  ACL_ERROR_RT_AICPU_TIMEOUT};
    const bool is_kept = std::find(std::begin(kKept), std::end(kKept), failure) != std::end(kKept);
    return is_kept ? failure : ACL_ERROR_RT_MODEL_EXECUTE;
}

}  // namespace

// State of one execution.
struct Model::Run {
    Run(Ref<Model> executed, const Point &launch, const Origin &launching, bool repeated)
        : model(std::move(executed)), before(launch), origin(launching), is_repeated(repeated) {}
    bool has_ended() const { return left == 0; }
    void leave(aclError failure) REQUIRES(engine_lock) {
        result = first_of(result, failure);
        if (--left == 0) {
            const auto keep = std::move(model);
            keep->end(*this);
        }
    }

    Ref<Model> model;
    const Point before;  // comes before the execution and all that it plays; none if the host executes the model
    Origin origin;
    const bool is_repeated;               // tasks have run before
    std::uint32_t left = 1;               // replays that have not ended, plus 1 for the caller that starts them
    std::size_t begun = 0;                // tracks whose replays have been queued
    aclError abort_reason = ACL_SUCCESS;  // set if it was stopped or replays were dropped
    std::vector<Point> ends{};            // last replay of each stream; only with observers
    aclError result = ACL_SUCCESS;
    std::string failure_reason{};  // given by the first task that has one
};

// Task of a model in one execution.
class Replay final : public Task, public TaskDetails {
  public:
    Replay(std::shared_ptr<Model::Run> run, const std::unique_ptr<Task> &kept, std::size_t index)
        : run_(std::move(run)), kept_(kept), index_(index) {
        ++run_->left;
        submitter = kept->submitter;
    }
    ~Replay() override { run_->leave(first_of(result, abort_reason_)); }

    const TaskInfo &info() const override { return kept_->info(); }
    Work work() const override { return kept_->work(); }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        stream_ = &stream;
        const Start start = kept_->start(stream);
        take_result();
        return start;
    }
    bool run_at_once() override REQUIRES(engine_lock) { return kept_->run_at_once(); }
    void run() override { kept_->run(); }
    void finish() override REQUIRES(engine_lock) {
        kept_->finish();
        take_result();
        was_cut_short = kept_->was_cut_short;
        if (was_cut_short) {
            abort_reason_ = stream_->abort_reason;
        }
    }
    bool is_brief() const override { return kept_->is_brief(); }
    Executor *executor() override { return kept_->executor(); }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        run_->abort_reason = abort_reason_ = stream.abort_reason;
        kept_->cancel(stream);
    }
    BlockingTask *as_blocking() override REQUIRES(engine_lock) { return kept_->as_blocking(); }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override REQUIRES(engine_lock) {
        kept_->details().describe(params);
    }
    void label(const Stream &stream, TaskLabel &label) const override REQUIRES(engine_lock) {
        kept_->details().label(stream, label);
        label.model = run_->model->id;
        if (const ModelTask *named = run_->model->known_task(stream, index_)) {
            label.op_info.assign(named->op_info.begin(), named->op_info.end());
            label.extend_info = named->extend_info;
        }
    }
    std::string failure_reason() const override REQUIRES(engine_lock) { return kept_->details().failure_reason(); }
    FailedKernel failed_kernel() const override REQUIRES(engine_lock) { return kept_->details().failed_kernel(); }

  private:
    void take_result() REQUIRES(engine_lock) {
        result = kept_->result;
        if (result != ACL_SUCCESS) {
            keep_reason();
        }
    }
    [[gnu::noinline, gnu::cold]] void keep_reason() REQUIRES(engine_lock) {
        if (run_->failure_reason.empty()) {
            run_->failure_reason = text_if_memory([&]() REQUIRES(engine_lock) { return failure_reason(); });
        }
    }

    std::shared_ptr<Model::Run> run_;
    const std::unique_ptr<Task> &kept_;  // owned by the model, which may replace it before its turn
    const std::size_t index_;            // in its stream of the model
    const Stream *stream_ = nullptr;
    aclError abort_reason_ = ACL_SUCCESS;
};

// Beginning of an execution.
class Beginning final : public SlicedWork {
  public:
    Beginning(Core &core, std::shared_ptr<Model::Run> run)
        : SlicedWork(core), context_(run->model->context), run_(std::move(run)) {}
    bool do_slice() override REQUIRES(engine_lock) { return run_->model->go_on_beginning(*run_); }

  private:
    Ref<Context> context_;
    std::shared_ptr<Model::Run> run_;
};

// --- executions as work of a task ------------------------------------------------------------------------------------

Start Execution::proceed(Stream &stream, const Task &task) {
    model_->waiters_.remove(stream);
    if (run_ == nullptr && model_->run_ == nullptr) {
        origin_.launch = stream.point(task);
        run_ = model_->begin({stream.serial, task.sequence - 1}, origin_, binding_.get());
        binding_.reset();
    }
    if (run_ == nullptr || !run_->has_ended()) {
        model_->waiters_.add(stream);
        return Start::Blocked;
    }
    for (const Point &end : run_->ends) {
        model_->core_.note_edge({end, stream.point(task), Ordering::Model});
    }
    return Start::Done;
}

void Execution::cancel(Stream &stream) noexcept {
    model_->waiters_.remove(stream);
    if (is_under_way()) {
        model_->stop(stream.abort_reason);
    } else if (binding_) {
        binding_->cancel(stream);
    }
}

bool Execution::is_under_way() const { return run_ != nullptr && !run_->has_ended(); }

aclError Execution::result() const { return run_->result; }

std::string Execution::failure_reason() const { return run_ == nullptr ? "" : run_->failure_reason; }

std::vector<Ref<Stream>> Execution::parts() const { return is_under_way() ? model_->streams() : Model::Streams(); }

// Never starts in a stream that executes nothing, and is then not counted as a launch.
class LaunchTask final : public BlockingTask, public TaskDetails {
  public:
    LaunchTask(Ref<Model> model, std::unique_ptr<LaunchBinding> binding, bool counts)
        : execution_(std::move(model), launching(), std::move(binding)), counts_(counts) {}
    static constexpr TaskInfo kInfo{"MODEL_EXECUTE", "an execution of a model", kIsUnrepeatable};
    const TaskInfo &info() const override { return kInfo; }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        if (execution_.proceed(stream, *this) == Start::Blocked) {
            return Start::Blocked;
        }
        result = execution_.result();
        leave();
        return Start::Done;
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        execution_.cancel(stream);
        leave();
    }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) { execution_.model().add_causes(causes); }
    std::vector<Ref<Stream>> parts() const override REQUIRES(engine_lock) { return execution_.parts(); }
    const Model &model() const { return execution_.model(); }
    std::string awaited() const override { return "model " + std::to_string(execution_.model().id); }
    const TaskDetails &details() const override { return *this; }
    std::string failure_reason() const override REQUIRES(engine_lock) { return execution_.failure_reason(); }

  private:
    static Origin launching() {
        Origin origin = Core::present_call();
        origin.is_calling = false;
        return origin;
    }
    void leave() REQUIRES(engine_lock) {
        execution_.model().launches_ -= counts_ ? 1 : 0;
        execution_.model().idle_.notify_all();
    }

    Execution execution_;
    bool counts_;
};

// --- executing -------------------------------------------------------------------------------------------------------

std::shared_ptr<Model::Run> Model::begin(const Point &before, const Origin &origin, LaunchBinding *binding) {
    const auto run = run_ = std::make_shared<Run>(Ref<Model>(this), before, origin, has_run_);
    has_run_ = true;
    for (Track &track : tracks_) {
        track.is_started = false;
    }
    prepare();
    if (binding != nullptr) {
        binding->apply();
    }
    if (go_on_beginning(*run)) {  // makes no object for a small model
        defer_rest(core_, Beginning(core_, run));
    }
    return run;
}

// Starts no stream before all are ready, because they wait for each other's tasks.
bool Model::go_on_beginning(Run &run) {
    try {
        for (std::size_t queued = 0; run.begun < tracks_.size();) {
            if (core_.are_many(queued)) {
                return true;
            }
            Track &track = tracks_[run.begun++];
            rewind(track, run);
            if (track.is_head) {
                Core::suspend(*track.stream);
                queue(track, 0, run.before);
            }
            queued += track.list.size();
        }
    } catch (const std::bad_alloc &) {  // ends the execution before it has begun
        run.abort_reason = ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
    if (run.abort_reason != ACL_SUCCESS) {  // before all were queued
        drop_replays(run.abort_reason);
    } else {
        start_heads();
    }
    run.origin.is_calling = false;
    run.leave(ACL_SUCCESS);
    return false;
}

void Model::start_heads() {
    for (const Track &track : tracks_) {
        if (track.is_head) {
            core_.resume(*track.stream);
            if (track.stream->queue.front() != nullptr) {
                core_.make_runnable(*track.stream);  // in any state that the previous execution has left
            }
        }
    }
}

void Model::drop_replays(aclError reason) {
    LeavingTasks leaving(core_);
    for (const Track &track : tracks_) {
        leaving.add_dropped(*track.stream, core_.take_queue(*track.stream, reason), reason);
    }
    do_in_slices(core_, std::move(leaving));
}

void Model::rewind(Track &track, const Run &run) {
    track.reached = 0;
    for (const auto &task : track.tasks()) {
        if (run.is_repeated) {
            task->rewind();
        }
        task->result = ACL_SUCCESS;
    }
}

void Model::play(Track &track, std::size_t begin, const Point &before) {
    Stream &stream = *track.stream;
    const bool was_empty = stream.queue.front() == nullptr;
    queue(track, begin, before);
    if (was_empty && stream.queue.front() != nullptr) {
        core_.make_runnable(stream);
    }
}

void Model::queue(Track &track, std::size_t begin, const Point &before) {
    track.is_started = true;
    if (before.sequence > 0 && begin < track.list.size()) {
        const Point first{track.stream->serial, track.stream->submitted + 1};
        core_.note_edge({before, first, Ordering::Model});
    }
    for (track.next = begin; track.next < track.list.size();) {
        Task &task = *track.list[track.next];
        if (track.next < track.reached) {  // repetition in a loop
            task.rewind();
            task.result = ACL_SUCCESS;
        }
        auto replay = std::make_unique<Replay>(run_, track.list[track.next], track.next);
        const Replay &queued = *replay;
        core_.append(*track.stream, std::move(replay), run_->origin);
        task.sequence = queued.sequence;
        task.note_queued(*track.stream);
        core_.observers().report<kTasks>(&Observer::replayed, *track.stream, task, queued);
        track.reached = std::max(track.reached, ++track.next);
        if (task.info().has(kIsBranch)) {
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
    if (target == tracks_.end() || label.index >= target->list.size()) {
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

// Fails the run if the stream of the end task was never activated, or was left before it. On a device such a run would
// hang.
void Model::end(Run &run) {
    if (end_ != nullptr && !track_of(*end_).is_started) {
        run.result = first_of(run.result, ACL_ERROR_RT_MODEL_EXECUTE);
    }
    if (run.abort_reason == ACL_SUCCESS) {
        run.result = code_of_execution(run.result);
    }
    note_ends(run);
    run_.reset();
    waiters_.wake(core_);
    idle_.notify_all();
}

void Model::note_ends(Run &run) const {
    if (!core_.observers().want(kOrder)) {
        return;
    }
    try {
        for (const Track &track : tracks_) {
            if (track.reached > 0) {
                run.ends.push_back(track.stream->newest());
            }
        }
    } catch (const std::bad_alloc &) {  // the end of a replay, cancelled or not, cannot fail
        core_.observers().report<kOrder>(&Observer::fact_lost);
    }
}

// Does nothing if the stream was unbound in the meantime.
void Model::activate(const Stream &stream, const Point &before) {
    for (Track &track : tracks_) {
        if (track.stream.get() == &stream && !track.is_started) {
            play(track, 0, before);
        }
    }
}

void Model::stop(aclError reason) {
    if (run_ != nullptr) {
        run_->abort_reason = reason;
    }
    drop_replays(reason);
}

const Origin &Model::origin() const { return run_->origin; }

Model::Streams Model::streams() const {
    Streams streams;
    for (const Track &track : tracks_) {
        streams.push_back(track.stream);
    }
    return streams;
}

void Model::add_causes(Causes &causes) const {
    for (const auto &stream : streams()) {
        if (stream->queue.front() != nullptr) {
            causes.list.push_back({stream.get(), stream->submitted});
        }
    }
}

Stream *Model::first_at_work() const {
    const auto at_work = [](const Track &track)
                             REQUIRES(engine_lock) { return track.stream->queue.front() != nullptr; };
    const auto found = std::find_if(tracks_.begin(), tracks_.end(), at_work);
    return found == tracks_.end() ? nullptr : found->stream.get();
}

void Model::launch(Lock &lock, Stream &stream) {
    const Ref<Model> keep(this);
    const bool counts = stream.executes_tasks;
    launches_ += counts ? 1 : 0;  // counted first, because admit() may let in a thread that destroys the model
    std::unique_ptr<LaunchBinding> binding;
    try {
        core_.admit(lock, stream);
        binding = bind_launch(stream);
    } catch (...) {
        launches_ -= counts ? 1 : 0;
        idle_.notify_all();
        throw;
    }
    core_.submit(stream, LaunchTask(keep, std::move(binding), counts));
    if (counts && core_.observers().want(kHostAccess)) {
        report_launched(stream.newest());
    }
}

void Model::report_launched(const Point &launch) const {
    for (const Track &track : tracks_) {
        for (const auto &task : track.tasks()) {
            if (const auto *const inner = dynamic_cast<const LaunchTask *>(task.get())) {
                inner->model().report_launched(launch);
            } else {
                core_.observers().report<kHostAccess>(&Observer::launched, launch, *task);
            }
        }
    }
}

// Lets another thread go on that drops replays.
void Model::await_drop(Lock &lock) {
    if (!core_.deferred().await(lock)) {
        let_others_in(lock);
    }
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
                return ACL_ERROR_RT_INVALID_HANDLE;  // destroyed with its context while this call waited
            }
            own = begin(Point{}, Core::present_call());
            core_.pump();
            continue;
        }
        Stream *const at_work = first_at_work();
        if (at_work == nullptr) {
            await_drop(lock);
            continue;
        }
        const Ref<Stream> stream(*at_work);
        switch (core_.wait_for(lock, stream, stream->submitted, deadline)) {
            case Core::Waited::TimedOut:
                if (own != nullptr) {
                    stop(ACL_ERROR_RT_MODEL_ABORT_NORMAL);
                    core_.pump();
                }
                return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            case Core::Waited::Aborted:
                if (own != nullptr && !own->has_ended() && own->abort_reason == ACL_SUCCESS) {
                    await_drop(lock);  // an earlier execution was aborted, not this one
                    break;
                }
                return own != nullptr ? first_of(own->result, stream->abort_reason) : stream->abort_reason;
            case Core::Waited::Stopped:
                stop(context.failure);
                core_.pump();
                return context.failure;
            case Core::Waited::Done:
                break;
        }
    }
    for (const Point &end : own->ends) {
        core_.note_learned(end, HostSync::Synchronized);
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

}  // namespace aclsim
