// SPDX-License-Identifier: Apache-2.0
#include "tasks/event.h"

#include <chrono>
#include <new>
#include <utility>

#include "engine/condition.h"
#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"
#include "support/text.h"

namespace aclsim {

void Signal::take_new_id() {
    std::uint32_t id = 0;
    if (!device_.event_ids.acquire(id)) {
        fail_without_id(device_);
    }
    id_ = id;
}

void Signal::fail_without_id(const Device &device) {
    fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "device %u gives out no more events; %u are in use", device.user_id,
         device.event_ids.in_use());
}

void Signal::set(Core &core, const Point &record) {
    if (!set_) {  // recording a bit that is already set has no effect
        set_ = true;
        set_by_ = record;
    }
    waiters.wake(core);
}

class RecordTask final : public Task {
  public:
    RecordTask(Core &core, Ref<Event> event, Ref<Signal> signal) REQUIRES(engine_lock)
        : core_(core),
          event_(std::move(event)),
          signal_(std::move(signal)),
          record_(signal_ ? ++signal_->newest_record : 0) {}
    const TaskInfo &info() const override { return signal_ ? kEventRecord : kUnsignalledRecord; }
    bool stays_in_shard(const Stream &stream) const override REQUIRES(engine_lock) {
        return event_->stays_in_shard_with(stream, signal_.get());
    }

    Start start(Stream &stream) override REQUIRES(engine_lock) {
        leave(stream);
        if (is_newest()) {
            event_->complete_ = true;
            if (event_->takes_time()) {
                event_->rare_->ticks = ticks_at(stamp(stream));
            }
            event_->give_back_id();
        }
        if (signal_) {
            signal_->set(core_, stream.point(*this));
        }
        return Start::Done;
    }

    void note_queued(const Stream &stream) override REQUIRES(engine_lock) {
        signal_->records.add(stream, *this);
        is_pending_ = true;
        if (event_->needs_id()) {
            signal_->take_id();
        }
    }

    void rewind() override REQUIRES(engine_lock) {
        if (is_newest()) {
            event_->recorded_ = true;
            event_->was_aborted_ = false;
        }
    }

    // Resets the event to its state before the record on an abort of the device and, on some chips, on an abort of the
    // stream (events_streams_sync.md section 0.2). Otherwise the record remains, and never completes.
    void cancel(Stream &stream) noexcept override REQUIRES(engine_lock) {
        leave(stream);
        if (signal_ && signal_->first_called == stream.point(*this)) {
            signal_->first_called = {};
        }
        if (!is_newest()) {
            return;
        }
        const bool is_stream_abort = stream.abort_reason != ACL_ERROR_RT_DEVICE_TASK_ABORT;
        if (is_stream_abort && !config().product->has(kStreamAbortResetsEvents)) {
            event_->rare_->abort_reason = stream.abort_reason;
            event_->was_aborted_ = true;
            return;
        }
        event_->recorded_ = false;
        event_->rare_->ticks = 0;
        event_->give_back_id();
    }

    // Leaves the record incomplete forever.
    void fail(Stream &stream) noexcept override REQUIRES(engine_lock) { leave(stream); }

  private:
    void leave(const Stream &stream) REQUIRES(engine_lock) {
        if (is_pending_) {
            signal_->records.remove(stream, *this);
            is_pending_ = false;
        }
    }
    // Returns true if the event has no newer record. A newer one has another signal or none, unless it could reuse this
    // one.
    bool is_newest() const REQUIRES(engine_lock) {
        return !signal_ || (signal_ == event_->newest_signal() && signal_->newest_record == record_);
    }
    Time stamp(Stream &stream) const REQUIRES(engine_lock) {
        return core_.timing().is_on() ? core_.timing().stamp(stream) : core_.clock().now();
    }
    static std::uint64_t ticks_at(Time time) {
        constexpr std::uint64_t kPerMs = 1'000'000;
        const auto ns = static_cast<std::uint64_t>(time.time_since_epoch() / std::chrono::nanoseconds(1));
        const std::uint64_t ticks = config().product->ticks_per_ms;
        return ns / kPerMs * ticks + ns % kPerMs * ticks / kPerMs;  // split to avoid overflow of the product
    }

    Core &core_;
    Ref<Event> event_;
    Ref<Signal> signal_;       // nullptr: the task ends at once
    std::uint64_t record_;     // number among the records that used the signal
    bool is_pending_ = false;  // registered as a record that will set the signal
};

class WaitTask final : public ConditionTask {
  public:
    WaitTask(Core &core, Ref<Event> event, Ref<Signal> signal, std::uint32_t timeout_s) REQUIRES(engine_lock)
        : ConditionTask(core, timeout_s, /*polls=*/false),
          event_(std::move(event)),
          signal_(std::move(signal)),
          first_called_(signal_->first_called) {
        ++event_->rare_->outstanding_waits;
    }
    const TaskInfo &info() const override { return kEventWait; }
    bool stays_in_shard(const Stream &stream) const override REQUIRES(engine_lock) {
        return !is_timed() && event_->stays_in_shard_with(stream, signal_.get());
    }

    void rewind() override REQUIRES(engine_lock) {
        ConditionTask::rewind();
        ++event_->rare_->outstanding_waits;
    }

    // Without a pending record, only a thread of the program can record the event, if it can. A bit that an event has
    // for life may also be set by any later record.
    void add_causes(Causes &causes) const override REQUIRES(engine_lock) {
        causes.any = true;
        signal_->records.add_causes(causes);
        if (signal_->records.empty() || event_->has_fixed_signal()) {
            causes.list.push_back({nullptr, 0, Outside::Host});
        }
    }
    std::string awaited() const override REQUIRES(engine_lock) {
        return "event " + text_of(event_->handle()) + (signal_->records.empty() ? ", which is not recorded" : "");
    }

  protected:
    bool try_pass() override REQUIRES(engine_lock) { return signal_->is_set(); }
    void note_passed(const Stream &stream) override REQUIRES(engine_lock) {
        const Point &first = first_called_ == Point() ? signal_->first_called : first_called_;
        core_.note_edges(first == Point() ? std::vector<Share>() : std::vector<Share>{{first, 1}}, {signal_->set_by()},
                         {{}, stream.point(*this), Ordering::Event});
    }
    void leave(Stream &stream) override REQUIRES(engine_lock) {
        ConditionTask::leave(stream);
        --event_->rare_->outstanding_waits;
        event_->give_back_id();
    }
    Waiters &waiters() override { return signal_->waiters; }

  private:
    Ref<Event> event_;
    Ref<Signal> signal_;
    Point first_called_;
};

class ResetTask final : public Task {
  public:
    explicit ResetTask(Ref<Signal> signal) : signal_(std::move(signal)) {}
    const TaskInfo &info() const override { return kEventReset; }
    Start start(Stream &) override REQUIRES(engine_lock) {
        signal_->clear();
        return Start::Done;
    }

  private:
    Ref<Signal> signal_;
};

Stream *Event::record_stream() const {
    return record_stream_ && !record_stream_->is_destroyed ? record_stream_.get() : nullptr;
}

void Event::note_record(Stream &stream) {
    if (record_stream_ != &stream) {
        record_stream_ = Ref<Stream>(stream);
    }
    record_sequence_ = stream.submitted + 1;
    was_aborted_ = false;
}

void Event::renew_signal() {
    if (has_private_signal()) {
        Signal &own = *rare_->signal;
        if (keeps_id()) {
            own.take_id();
        } else if (needs_id() && !own.id()) {
            Signal::require_id(device);
        }
        own.clear();
    } else if (keeps_id()) {
        add_signal_with_id();
    } else {
        if (needs_id()) {
            Signal::require_id(device);
        }
        if (has_signal_) {  // an earlier wait refers to it
            drop_signal();
        }
    }
}

void Event::add_signal_with_id() {
    auto next = Signal::create(device);
    next->take_id();
    set_signal(std::move(next));
}

void Event::drop_signal() {
    has_signal_ = false;
    rare_->signal.reset();
}

const Ref<Signal> &Event::signal() {
    if (!has_signal_) {
        set_signal(Signal::create(device));
    }
    return rare_->signal;
}

void Event::record(Core &core, Lock &lock, Stream &stream) {
    Ref<Event> self(this);  // admit() may let other threads take the lock
    core.admit(lock, stream);
    if (core.observers().want(kOrder)) {
        core.observers().report<kOrder>(&Observer::records, stream.next(), sync_object());
    }
    if (is_ipc()) {
        rare_->ipc_record = ipc()->issue(stream.next());
        note_record(stream);
        submit_ipc_record(core, stream, ipc(), ipc_record());
        return;
    }
    if (!has_fixed_signal()) {
        renew_signal();
    }
    recorded_ = true;
    complete_ = seen_ = was_reset_ = false;
    note_record(stream);
    if (has_fixed_signal() && core.observers().want(kOrder)) {
        note_record_call(stream);
    }
    const bool needs_signal = has_signal_ || !core.starts_at_once(stream);
    try {
        core.submit(stream, RecordTask(core, std::move(self), needs_signal ? signal() : nullptr));
    } catch (const std::bad_alloc &) {
        withdraw_record();
        throw;
    }
}

// The first record in the order of calls sets the bit. Another one may run before it, but only by chance.
void Event::note_record_call(const Stream &stream) {
    Signal &own = *signal();
    own.note_use(stream);
    if (!own.has_kept_uses && own.first_called == Point()) {
        own.first_called = stream.next();
    }
}

std::unique_ptr<Task> Event::make_record(Core &core, Stream &launching) {
    renew_signal();
    recorded_ = true;
    complete_ = seen_ = was_reset_ = false;
    note_record(launching);
    core.observers().report<kOrder>(&Observer::records, launching.next(), sync_object());
    try {
        return std::make_unique<RecordTask>(core, Ref<Event>(this), signal());
    } catch (const std::bad_alloc &) {
        withdraw_record();
        throw;
    }
}

bool Event::is_satisfied_for(const Stream &stream) const {
    if (is_ipc() || has_fixed_signal()) {
        return false;  // an earlier record may still set a fixed signal
    }
    // K1, K3: a wait for a K1 event that was reset never ends, because the bit of its id was cleared, and a new record
    // takes another id (section 2, aclrtCreateEvent).
    const bool is_satisfied = !recorded_ || (complete_ && !was_reset_);
    return is_satisfied || (mode == Mode::New && record_stream_ == &stream && !stream.is_destroyed);
}

bool Event::stays_in_shard() const {
    const std::uint32_t shard = Registry::shard_of(handle());
    const bool is_simple = !is_ipc() && !is_captured_ && !is_external();
    return is_simple && (!record_stream_ || Core::shard_of(*record_stream_) == shard) &&
           (!has_signal_ || rare_->signal->waiters.stay_in(shard));
}

bool Event::stays_in_shard_with(const Stream &stream, const Signal *signal) const {
    const std::uint32_t shard = Core::shard_of(stream);
    return Registry::shard_of(handle()) == shard && (!record_stream_ || Core::shard_of(*record_stream_) == shard) &&
           (signal == nullptr || signal->waiters.stay_in(shard));
}

void Event::wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    const Ref<Event> self(this);
    const Product &product = *config().product;
    const bool is_foreign = &device_of(stream) != &device;
    const bool is_ignored = is_foreign && !is_ipc() && product.has(kIgnoresForeignWaits);
    if (is_ignored || is_satisfied_for(stream)) {  // completes without a task, so it needs no place in the queue
        require_not_aborting(stream);
        require_healthy(context_of(stream));
    } else {
        core.admit(lock, stream);
    }
    const auto report = [&](const WaitBinding &binding) REQUIRES(engine_lock) {
        core.observers().report<kOrder>(&Observer::waits, stream.next(), sync_object(), binding);
    };
    if (is_ignored) {
        report({WaitBinding::State::Ignored, {}, /*has_task=*/false});
        return;
    }
    const bool is_timed = product.has_wait_timeout && !(is_foreign && product.has(kForeignWaitsAreUntimed));
    const std::uint32_t timeout = is_timed ? timeout_s : 0;
    if (core.stream_order().is_noting() && recorded_ && !has_fixed_signal() && record_stream() != nullptr) {
        core.stream_order().add(stream, record_point());
    }
    const bool is_satisfied = is_satisfied_for(stream);
    if (core.observers().want(kOrder)) {
        const WaitBinding binding = bind_wait(!is_satisfied);
        report(binding);
        if (is_satisfied && binding.state == WaitBinding::State::Record) {
            // Later tasks of the stream are ordered after the record without a task.
            core.note_edge({binding.record, stream.next(), Ordering::Event});
        } else if (binding.state == WaitBinding::State::Record) {
            core.call_order().add_wait_for(binding.record, stream.next());
        }
    }
    if (is_ipc()) {
        submit_ipc_wait(core, stream, ipc(), timeout);
        return;
    }
    if (is_satisfied) {
        return;
    }
    signal()->note_use(stream);
    core.submit(stream, WaitTask(core, self, signal(), timeout));
}

WaitBinding Event::bind_wait(bool has_task) const {
    using State = WaitBinding::State;
    if (!was_recorded() && !has_fixed_signal()) {
        return {State::NeverRecorded, {}, has_task};
    }
    if (is_ipc()) {
        const IpcRecords::Maker maker = ipc()->maker_of(ipc()->newest());
        return maker.is_own() ? WaitBinding{State::Record, maker.task, has_task}
                              : WaitBinding{State::OtherProcess, {}, has_task};
    }
    return has_fixed_signal() ? WaitBinding{State::Any, {}, has_task}
                              : WaitBinding{State::Record, record_point(), has_task};
}

SyncObject Event::sync_object() const { return {is_ipc() ? SyncKind::IpcEvent : SyncKind::Event, handle()}; }

void Event::reset(Core &core, Lock &lock, Stream &stream) {
    const Ref<Event> self(this);
    core.admit(lock, stream);
    signal()->note_use(stream);
    signal()->first_called = {};
    core.submit(stream, ResetTask(signal()));
    was_reset_ = true;
}

bool Event::was_seen_complete() const {
    // With CAPTURE_STREAM_PROGRESS alone the host learns of the completion only when a call checks the queue (section
    // 0.2 [obs]).
    const bool is_told = (flags & ~static_cast<std::uint32_t>(ACL_EVENT_CAPTURE_STREAM_PROGRESS)) != 0;
    return complete_ && (seen_ || is_told);
}

Ref<Event> create_event(Core &core, Device &device, Event::Mode mode, std::uint32_t flags) {
    const Ref<Event> event(new (*device.shard) Event(device, mode, flags));
    if (event->has_fixed_signal()) {
        event->take_id();
    }
    if (event->is_ipc()) {
        event->set_ipc(IpcRecords::create());
    }
    core.registry().add(event, *device.shard);
    return event;
}

}  // namespace aclsim
