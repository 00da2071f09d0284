// SPDX-License-Identifier: Apache-2.0
#include "tasks/model.h"

#include <algorithm>
#include <utility>

#include "engine/core.h"
#include "engine/sliced_work.h"
#include "support/error.h"
#include "tasks/label.h"
#include "tasks/leaving_names.h"

namespace aclsim {
namespace {

// Returns false for tasks that execute a model or change one.
bool is_repeatable(const Task &task) { return !task.info().has(kIsUnrepeatable); }

}  // namespace

// Task that starts a stream of its model.
class ActivateTask final : public Task {
  public:
    ActivateTask(Model &model, const Stream &stream) : model_(model), stream_(stream) {}
    static constexpr TaskInfo kInfo{"STREAM_ACTIVE"};
    const TaskInfo &info() const override { return kInfo; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        model_.activate(stream_, stream.point(*this));
        return Start::Done;
    }

  private:
    Model &model_;
    const Stream &stream_;
};

// --- building --------------------------------------------------------------------------------------------------------

Model::~Model() { unbind_all(); }

void Model::unbind_all() {
    LeavingTasks leaving(core_);
    for (Track &track : tracks_) {
        discard(track, leaving);
    }
    tracks_.clear();
    end_ = nullptr;
    do_in_slices(core_, std::move(leaving));
}

Model::Track &Model::track_of(const Stream &stream) {
    return const_cast<Track &>(std::as_const(*this).track_of(stream));
}

const Model::Track &Model::track_of(const Stream &stream) const {
    return *std::find_if(tracks_.begin(), tracks_.end(), [&](const Track &it) { return it.stream.get() == &stream; });
}

void Model::bind(Stream &stream, bool is_head) {
    if (is_built_) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is built; it takes no more streams", id);
    }
    // Tasks kept before become the model's first work (graphs_kernels.md section B4 [obs]).
    tracks_.push_back({Ref<Stream>(stream), is_head, stream.submitted - stream.queue.size()});
    stream.keeper = this;
}

void Model::unbind(Stream &stream) {
    Track &track = track_of(stream);
    LeavingTasks leaving(core_);
    discard(track, leaving);
    end_ = end_ == &stream ? nullptr : end_;
    tracks_.erase(tracks_.begin() + (&track - tracks_.data()));
    do_in_slices(core_, std::move(leaving));
}

void Model::discard(Track &track, LeavingTasks &leaving) {
    Stream &stream = *track.stream;
    for (const auto &[index, named] : track.named) {
        core_.registry().remove(*named);
    }
    leaving.add_kept(stream, std::move(track.list), std::move(track.queue), /*are_cancelled=*/!has_run_);
    // Tasks that were submitted and not yet taken over.
    leaving.add_dropped(stream, core_.take_queue(stream, ACL_ERROR_RT_STREAM_ABORT), ACL_ERROR_RT_STREAM_ABORT);
    stream.keeper = nullptr;
    stream.is_replaying = false;
}

// Has no effect the second time (graphs_kernels.md section B4 [obs]).
void Model::end_task(const Stream &stream) {
    if (stream.keeper != this) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is not bound to model %u", stream.id, id);
    }
    if (!has_end_) {
        end_ = &stream;
        has_end_ = true;
    }
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

// Has no effect the second time (graphs_kernels.md section B4 [obs]). Between slices other threads may bind and unbind
// streams, submit tasks, build the model, or destroy it.
void Model::build(Lock &lock) {
    const Ref<Model> keep(this);
    const auto is_unchecked = [](const Track &track)
                                  REQUIRES(engine_lock) { return track.checked != track.stream->submitted; };
    std::size_t checked = 0;
    while (!is_built_) {
        if (core_.registry().find<Model>(handle()) != this) {
            fail(ACL_ERROR_RT_INVALID_HANDLE, "another thread has destroyed model %u", id);
        }
        if (tracks_.empty()) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "no stream is bound to model %u", id);
        }
        const auto unchecked = std::find_if(tracks_.begin(), tracks_.end(), is_unchecked);
        if (unchecked == tracks_.end()) {
            keep_tasks();
            return;
        }
        require_repeatable(*unchecked->stream);
        unchecked->checked = unchecked->stream->submitted;
        checked += unchecked->stream->queue.size();
        if (core_.are_many(checked)) {
            checked = 0;
            let_others_in(lock);
        }
    }
}

void Model::keep_tasks() {
    for (Track &track : tracks_) {
        track.list.reserve(track.stream->queue.size());
    }
    for (Track &track : tracks_) {
        Stream &stream = *track.stream;
        track.queue = std::move(stream.queue);
        stream.completed = stream.submitted;  // executes only replays from here on
        stream.is_replaying = true;
    }
    is_built_ = true;
}

// Tasks submitted after the model was built do not belong to it, and run independently (graphs_kernels.md section B4
// [obs]).
void Model::require_open(const Stream &stream) const {
    if (!is_built_ && end_ == &stream) {
        fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u takes no more tasks: the end task of model %u is there", stream.id,
             id);
    }
}

void Model::submit_activation(Lock &lock, Stream &stream, const Stream &activated) {
    core_.admit(lock, stream);
    core_.submit(stream, ActivateTask(*this, activated));
}

void Model::submit_label(Lock &lock, Stream &stream, Label &label) {
    const Ref<Label> keep(label);
    core_.admit(lock, stream);
    if (label.stream) {  // set by another thread in the meantime
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "the label is set already");
    }
    const std::size_t index = stream.queue.size();
    core_.submit(stream, LabelTask());
    label.model = id;
    label.stream = Ref<const Stream>(stream);
    label.index = index;
}

// --- inspection ------------------------------------------------------------------------------------------------------

std::size_t Model::count_tasks(const Stream &stream) const {
    return is_built_ ? track_of(stream).count() : stream.queue.size();
}

std::size_t Model::count_tasks() const {
    std::size_t count = 0;
    for (const Track &track : tracks_) {
        count += count_tasks(*track.stream);
    }
    return count;
}

Task &Model::task(const Stream &stream, std::size_t index) const {
    if (is_built_) {
        return *track_of(stream).tasks()[index];
    }
    Task *task = stream.queue.front();
    for (; index > 0; --index) {
        task = task->next.get();
    }
    return *task;
}

ModelTask &Model::named_task(const Stream &stream, std::size_t index) {
    Track &track = track_of(stream);
    const auto known = track.named.find(index);
    if (known != track.named.end()) {
        return *known->second;
    }
    const auto named = make_ref<ModelTask>(*this, *track.stream, index);
    core_.registry().add_with(named, [&]() REQUIRES(engine_lock) { track.named.emplace(index, named); });
    return *named;
}

ModelTask *Model::known_task(const Stream &stream, std::size_t index) const {
    const auto &named = track_of(stream).named;
    const auto found = named.find(index);
    return found == named.end() ? nullptr : found->second.get();
}

std::optional<std::size_t> Model::find_index(const Stream &stream, std::uint64_t submitted_as) const {
    const std::uint64_t before = track_of(stream).submitted_before;
    if (submitted_as <= before || submitted_as - before > count_tasks(stream)) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(submitted_as - before - 1);
}

bool Model::is_at(const Stream &stream, std::size_t index) const {
    const Task *head = stream.queue.front();
    return is_executing() && head != nullptr && head->sequence == track_of(stream).tasks()[index]->sequence;
}

void Model::replace(const Stream &stream, std::size_t index, std::unique_ptr<Task> task) {
    Track &track = track_of(stream);
    std::unique_ptr<Task> &kept = track.tasks()[index];
    task->sequence = kept->sequence;
    task->submitter = kept->submitter;
    if (!has_run_) {
        kept->cancel(*track.stream);
    }
    kept = std::move(task);
    const Task *queued = is_executing() && core_.observers().want(kTasks) ? stream.queue.front() : nullptr;
    for (; queued != nullptr; queued = queued->next.get()) {
        if (queued->sequence == kept->sequence) {
            core_.observers().report<kTasks>(&Observer::replayed, stream, *kept, *queued);
        }
    }
}

void Model::close_handles(LeavingNames &leaving) {
    for (Track &track : tracks_) {
        if (!track.named.empty()) {
            leaving.add(*this, std::exchange(track.named, {}));
        }
    }
}

}  // namespace aclsim
