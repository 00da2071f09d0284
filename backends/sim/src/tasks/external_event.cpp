// SPDX-License-Identifier: Apache-2.0
#include "tasks/external_event.h"

#include <string>
#include <utility>

#include "engine/condition.h"
#include "engine/core.h"
#include "support/text.h"

namespace aclsim {
namespace {

class ExternalRecordTask final : public Task {
  public:
    explicit ExternalRecordTask(std::shared_ptr<ExternalEvent> external) : external_(std::move(external)) {}
    const TaskInfo &info() const override { return kEventRecord; }
    Start start(Stream &stream) override REQUIRES(engine_lock) {
        const auto record = std::exchange(external_->record, nullptr);
        record->sequence = sequence;
        return record->start(stream);
    }
    void note_queued(const Stream &stream) override REQUIRES(engine_lock) {
        external_->record->sequence = sequence;
        external_->record->note_queued(stream);
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        if (const auto record = std::exchange(external_->record, nullptr)) {
            record->cancel(stream);
        }
    }

  private:
    std::shared_ptr<ExternalEvent> external_;
};

class ExternalWaitTask final : public ConditionTask {
  public:
    ExternalWaitTask(Core &core, std::shared_ptr<ExternalEvent> external)
        : ConditionTask(core, /*timeout_s=*/0, /*polls=*/false), external_(std::move(external)) {}
    const TaskInfo &info() const override { return kEventWait; }
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        external_->awaited->records.add_causes(causes);
        if (external_->awaited->records.empty()) {  // graph that is launched and has not begun
            causes.list.push_back({nullptr, 0, Outside::Anybody});
        }
    }
    std::string awaited() const override REQUIRES(engine_lock) {
        return "external event " + text_of(external_->event->handle());
    }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return !external_->awaited || external_->awaited->is_set(); }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        if (external_->awaited) {
            core_.note_edge({external_->awaited->set_by(), stream.point(*this), Ordering::Event});
        }
    }
    void leave(Stream &stream) override REQUIRES(engine_lock) {
        if (external_->awaited) {
            ConditionTask::leave(stream);
        }
    }
    Waiters &waiters() override REQUIRES(engine_lock) { return external_->awaited->waiters; }

  private:
    std::shared_ptr<ExternalEvent> external_;
};

class ExternalBinding final : public LaunchBinding {
  public:
    ExternalBinding(Core &core, Stream &launching, const ExternalEvents &events) REQUIRES(engine_lock) {
        bound_.reserve(events.size());
        try {
            for (const auto &event : events) {
                bound_.push_back({event, nullptr, nullptr});
                if (event->use == ExternalEvent::Use::Record) {
                    bound_.back().record = event->event->make_record(core, launching);
                } else {
                    bound_.back().awaited = event->event->awaited_signal();
                }
            }
        } catch (...) {
            for (const Bound &bound : bound_) {
                if (bound.record) {
                    bound.event->event->withdraw_record();
                }
            }
            throw;
        }
    }
    void apply() override REQUIRES(engine_lock) {
        for (Bound &bound : std::exchange(bound_, {})) {
            bound.event->record = std::move(bound.record);
            bound.event->awaited = std::move(bound.awaited);
        }
    }
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        for (const Bound &bound : std::exchange(bound_, {})) {
            if (bound.record) {
                bound.record->cancel(stream);
            }
        }
    }

  private:
    struct Bound {
        std::shared_ptr<ExternalEvent> event;
        std::unique_ptr<Task> record;
        Ref<Signal> awaited;
    };
    std::vector<Bound> bound_;
};

}  // namespace

void submit_external(Core &core, Stream &stream, const std::shared_ptr<ExternalEvent> &event) {
    if (event->use == ExternalEvent::Use::Record) {
        core.submit(stream, ExternalRecordTask(event));
    } else {
        core.submit(stream, ExternalWaitTask(core, event));
    }
}

std::unique_ptr<LaunchBinding> bind_external(Core &core, Stream &launching, const ExternalEvents &events) {
    return events.empty() ? nullptr : std::make_unique<ExternalBinding>(core, launching, events);
}

}  // namespace aclsim
