// SPDX-License-Identifier: Apache-2.0
#include "tasks/capture.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/sliced_work.h"
#include "engine/thread.h"
#include "support/config.h"
#include "support/error.h"

namespace aclsim {
namespace {

// Most tasks that one call submits: a wait, and two tasks of the runtime around it.
constexpr std::uint32_t kTasksPerCall = 3;

}  // namespace

Capture::Capture(Machine &machine, Ref<Graph> captured_graph, aclmdlRICaptureMode capture_mode)
    : graph(std::move(captured_graph)), mode(capture_mode), thread(thread_number()), machine_(machine) {
    machine_.capture_modes.enter(*this, graph->context, mode);
    graph->capture = this;
    graph->status = Graph::Status::Capturing;
}

void Capture::add(ContextStream &stream) {
    branches_.push_back({&stream, nullptr});
    try {
        branches_.back().hidden = &graph->add_stream(stream.priority);
    } catch (...) {
        branches_.pop_back();
        throw;
    }
    branches_.back().hidden->stands_for = &stream;
    stream.set_redirect(Ref<TaskRedirect>(this));
}

Capture::Branch &Capture::branch_of(const ContextStream &stream) {
    return *std::find_if(branches_.begin(), branches_.end(), [&](const Branch &it) { return it.stream == &stream; });
}

// Continues in another hidden stream when the queue is full (graphs_kernels.md section B1).
void Capture::make_room(Branch &branch) {
    if (branch.hidden->queue.size() + kTasksPerCall <= config().product->queue_depth) {
        return;
    }
    if (group_) {
        group_->ranges.reserve(group_->ranges.size() + 1);
    }
    const auto link = Signal::create(graph->context.device);
    ContextStream &next = graph->add_stream(branch.hidden->priority);
    const std::uint64_t last = branch.hidden->submitted;
    try {
        submit_edge_end(machine_.core, next, link, nullptr, /*timeout_s=*/0);
        submit_edge_begin(machine_.core, *branch.hidden, link, nullptr);
    } catch (...) {
        graph->drop_stream(next);
        throw;
    }
    branch.hidden->stands_for = nullptr;
    next.stands_for = branch.stream;
    branch.hidden = &next;
    if (group_) {
        group_->ranges.back().last = last;
        group_->ranges.push_back({&next, next.submitted, next.submitted});
    }
}

ContextStream &Capture::take(ContextStream &stream, bool is_kernel) {
    if (group_ && group_->stream != &stream) {
        interrupt_group(ACL_ERROR_STREAM_TASK_GROUP_INTR);
    }
    if (group_ && !is_kernel) {
        interrupt_group(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT);
    }
    Branch &branch = branch_of(stream);
    make_room(branch);
    return *branch.hidden;
}

void Capture::require_usable(const ContextStream &stream) const {
    fail(ACL_ERROR_RT_STREAM_CAPTURED, "stream %u is being captured, into graph %u", stream.id, graph->id);
}

// --- events ----------------------------------------------------------------------------------------------------------

CapturedEvent &Capture::captured(Event &event) {
    const auto known = events_.find(&event);
    return known != events_.end() ? known->second
                                  : events_.emplace(&event, CapturedEvent{*this, Ref<Event>(event)}).first->second;
}

void Capture::record(Lock &lock, ContextStream &stream, Event &event) {
    try {
        ContextStream &hidden = take(stream, /*is_kernel=*/false);
        machine_.core.admit(lock, hidden);
        CapturedEvent &now = captured(event);
        now.signal = Signal::create(event.device);
        now.recorder = &stream;
        now.stream = &hidden;
        now.sequence = hidden.submitted + 1;
        event.set_captured(&now);  // takes precedence over an earlier capture of the event
        submit_edge_begin(machine_.core, hidden, now.signal, &event);
    } catch (...) {
        invalidate();
        throw;
    }
}

void Capture::wait(Lock &lock, ContextStream &stream, Event &event, std::uint32_t timeout_s) {
    try {
        ContextStream &hidden = take(stream, /*is_kernel=*/false);
        machine_.core.admit(lock, hidden);
        CapturedEvent &source = *event.captured();
        source.is_awaited = true;
        has_origin_joined_ = has_origin_joined_ || (&stream == &origin() && source.recorder != &stream);
        submit_edge_end(machine_.core, hidden, source.signal, &event, timeout_s);
    } catch (...) {
        invalidate();
        throw;
    }
}

void Capture::exchange(Lock &lock, ContextStream &stream, Event &event, ExternalEvent::Use use) {
    for (const auto &external : graph->external_events) {
        if (external->event == &event) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "graph %u records or waits for this event externally already", graph->id);
        }
    }
    ContextStream &hidden = take(stream, /*is_kernel=*/false);
    machine_.core.admit(lock, hidden);
    graph->external_events.push_back(std::make_shared<ExternalEvent>(ExternalEvent{Ref<Event>(event), use}));
    try {
        submit_external(machine_.core, hidden, graph->external_events.back());
    } catch (...) {
        graph->external_events.pop_back();
        throw;
    }
}

// --- task groups -----------------------------------------------------------------------------------------------------

void Capture::interrupt_group(aclError reason) {
    group_->failure = reason;
    invalidate();
    fail(reason, "a task group of graph %u is open on stream %u, which takes kernels of that stream alone", graph->id,
         group_->stream->id);
}

void Capture::begin_group(ContextStream &stream) {
    if (group_ && group_->stream == &stream) {
        fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "a task group is open on stream %u already", stream.id);
    }
    if (group_) {
        interrupt_group(ACL_ERROR_STREAM_TASK_GROUP_INTR);
    }
    const Branch &branch = branch_of(stream);
    const TaskGroup::Range open{branch.hidden, branch.hidden->submitted, branch.hidden->submitted};
    group_ = std::make_unique<OpenGroup>(OpenGroup{&stream, {open}});
}

Ref<TaskGroup> Capture::end_group(ContextStream &stream) {
    if (!group_ || group_->stream != &stream) {
        fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "no task group is open on stream %u", stream.id);
    }
    if (const aclError failure = group_->failure) {
        group_.reset();
        fail(failure, "the task group was interrupted, or was given a task that is not a kernel");
    }
    if (broken_by_ != nullptr) {
        group_.reset();
        fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture is invalid since %s", broken_by_);
    }
    group_->ranges.back().last = branch_of(stream).hidden->submitted;
    auto group = make_ref<TaskGroup>(*graph, group_->ranges);
    machine_.core.registry().add_with(group, [&]() REQUIRES(engine_lock) { graph->groups.push_back(group); });
    group->mark_tasks();
    group_.reset();
    return group;
}

// --- the end ---------------------------------------------------------------------------------------------------------

void Capture::invalidate() {
    if (broken_by_ == nullptr) {
        broken_by_ = current_function();
    }
}

// Requires the last task of each stream to be a record that some stream waits for.
void Capture::require_joined() const {
    std::set<const Stream *> joined;
    for (const auto &[event, it] : events_) {
        if (it.is_awaited && it.sequence == it.stream->submitted) {
            joined.insert(it.stream);
        }
    }
    std::string unjoined;
    for (std::size_t i = 1; i < branches_.size(); ++i) {
        if (joined.count(branches_[i].hidden) == 0) {
            unjoined += (unjoined.empty() ? "" : ", ") + std::to_string(branches_[i].stream->id);
        }
    }
    if (!unjoined.empty()) {
        fail(ACL_ERROR_RT_STREAM_UNJOINED,
             "not joined: stream %s, whose last task is not a record of an event that another stream waits for",
             unjoined.c_str());
    }
    if (branches_.size() > 1 && !has_origin_joined_) {
        fail(ACL_ERROR_RT_STREAM_UNJOINED, "stream %u, where the capture was begun, waits for none of the others",
             origin().id);
    }
}

void Capture::require_complete() const {
    if (mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && thread != thread_number()) {
        fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "thread %u has begun the capture", thread);
    }
    if (broken_by_ != nullptr) {
        fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture is invalid since %s", broken_by_);
    }
    for (const auto &stream : graph->streams()) {
        if (stream->aborts > 0) {
            fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the device was aborted during the capture");
        }
    }
    for (const auto &sub : graph->sub_graphs) {
        if (sub->status != Graph::Status::Ready) {
            fail(ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, "sub graph %u has not been captured", sub->id);
        }
    }
    if (group_) {
        fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "a task group is open on stream %u", group_->stream->id);
    }
    require_joined();
}

// Events of a capture that has ended.
class Capture::LeavingEvents final : public SlicedWork {
  public:
    LeavingEvents(Core &core, Capture &capture) : SlicedWork(core), capture_(capture) {}
    bool do_slice() override REQUIRES(engine_lock) {
        auto &events = capture_->events_;
        for (std::size_t done = 0; !events.empty() && !is_enough(done); ++done) {
            const CapturedEvent &first = events.begin()->second;
            first.event->forget_captured(first);
            events.erase(events.begin());
        }
        return !events.empty();
    }

  private:
    Ref<Capture> capture_;
};

void Capture::end() {
    const Ref<Capture> keep(this);
    machine_.capture_modes.leave(*this);
    has_ended_ = true;
    for (const Branch &branch : branches_) {
        branch.hidden->stands_for = nullptr;
        branch.stream->set_redirect(nullptr);
    }
    graph->capture = nullptr;
    graph->caches_op_info = false;
    graph->status = Graph::Status::Fault;  // until complete() succeeds
    do_in_slices(machine_.core, LeavingEvents(machine_.core, *this));
}

void require_capturable_flags(const ContextStream &stream) {
    if ((stream.flags & (ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is scheduled by the AI CPU, or for the device alone", stream.id);
    }
}

}  // namespace aclsim
