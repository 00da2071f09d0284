// SPDX-License-Identifier: Apache-2.0
#include "tasks/captured_event.h"

#include <utility>

#include "engine/condition.h"
#include "support/text.h"
#include "tasks/capture.h"

namespace aclsim {
namespace {

// Event as the program knew it; it may have been destroyed.
struct EventName {
    EventName() = default;
    explicit EventName(const Event *event) {
        if (event != nullptr) {
            handle = event->handle();
            flags = event->flags;
        }
    }
    void *handle = nullptr;
    std::uint32_t flags = 0;
};

class EdgeBeginTask final : public Task, public TaskDetails {
  public:
    EdgeBeginTask(Core &core, Ref<Signal> signal, const EventName &event)
        : core_(core), signal_(std::move(signal)), event_(event) {}
    const TaskInfo &info() const override { return kEventRecord; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        signal_->records.remove(stream, *this);
        signal_->set(core_, stream.point(*this));
        return Start::Done;
    }
    void rewind() override REQUIRES(engine_lock) { signal_->clear(); }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) { signal_->records.add(stream, *this); }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) { signal_->records.remove(stream, *this); }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override {
        if (event_.handle != nullptr) {
            params.type = ACL_MODEL_RI_TASK_EVENT_RECORD;
            params.eventRecordTaskParams = {event_.handle, event_.flags, ACL_EVENT_RECORD_DEFAULT};
        }
    }
    const Signal *edge() const { return signal_.get(); }

  private:
    Core &core_;
    Ref<Signal> signal_;
    EventName event_;
};

class EdgeEndTask final : public ConditionTask, public TaskDetails {
  public:
    EdgeEndTask(Core &core, Ref<Signal> signal, const EventName &event, std::uint32_t timeout_s)
        : ConditionTask(core, timeout_s, /*polls=*/false), signal_(std::move(signal)), event_(event) {}
    const TaskInfo &info() const override { return kEventWait; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) { signal_->records.add_causes(causes); }
    std::string awaited() const override {
        return event_.handle == nullptr ? "the stream before it" : "captured event " + text_of(event_.handle);
    }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override {
        if (event_.handle != nullptr) {
            params.type = ACL_MODEL_RI_TASK_EVENT_WAIT;
            params.eventWaitTaskParams = {event_.handle, event_.flags, ACL_EVENT_WAIT_DEFAULT};
        }
    }
    const Signal *edge() const { return signal_.get(); }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return signal_->is_set(); }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        core_.note_edge({signal_->set_by(), stream.point(*this), Ordering::Event});
    }
    Waiters &waiters() override { return signal_->waiters; }

  private:
    Ref<Signal> signal_;
    EventName event_;
};

// Resets the edge when the next execution begins. On the hardware, the event is reset after each wait
// (graphs_kernels.md section B6 [obs*]).
class EdgeResetTask final : public Task, public TaskDetails {
  public:
    explicit EdgeResetTask(const EventName &event) : event_(event) {}
    const TaskInfo &info() const override { return kEventReset; }
    Start start(Stream &) override { return Start::Done; }
    const TaskDetails &details() const override { return *this; }
    void describe(aclmdlRITaskParams &params) const override {
        params.type = ACL_MODEL_RI_TASK_EVENT_RESET;
        params.eventResetTaskParams = {event_.handle, event_.flags, 0};
    }

  private:
    EventName event_;
};

SyncObject object_of(const Event &event) { return {SyncKind::CapturedEvent, event.handle()}; }

}  // namespace

CapturedEvent *Event::unless_ended() const { return rare_->captured->capture.has_ended() ? nullptr : rare_->captured; }

void submit_edge_begin(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event) {
    if (event != nullptr) {
        core.observers().report<kOrder>(&Observer::records, stream.next(), object_of(*event));
    }
    core.submit(stream, EdgeBeginTask(core, signal, EventName(event)));
}

void submit_edge_end(Core &core, Stream &stream, const Ref<Signal> &signal, const Event *event,
                     std::uint32_t timeout_s) {
    if (event != nullptr) {
        const WaitBinding binding{WaitBinding::State::Any};  // each execution signals an edge
        core.observers().report<kOrder>(&Observer::waits, stream.next(), object_of(*event), binding);
    }
    core.submit(stream, EdgeEndTask(core, signal, EventName(event), timeout_s));
    if (event != nullptr) {
        core.submit(stream, EdgeResetTask(EventName(event)));
    }
}

const Signal *edge_begun_by(const Task &task) {
    const auto *begin = dynamic_cast<const EdgeBeginTask *>(&task);
    return begin == nullptr ? nullptr : begin->edge();
}

const Signal *edge_ended_by(const Task &task) {
    const auto *end = dynamic_cast<const EdgeEndTask *>(&task);
    return end == nullptr ? nullptr : end->edge();
}

}  // namespace aclsim
