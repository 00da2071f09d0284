#include "tasks/event.h"

#include <chrono>

#include "checks/stall.h"
#include "engine/core.h"
#include "machine/context.h"
#include "support/error.h"

namespace aclsim {

void Signal::take_id() {
    std::uint32_t id = 0;
    if (!id_ && !device_.event_ids.acquire(id)) {
        fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "device %u gives out no more events; %u are in use", device_.user_id,
             device_.event_ids.in_use());
    }
    id_ = id_.value_or(id);
}

void Signal::give_back_id() {
    if (id_) {
        device_.event_ids.release(*id_);
        id_.reset();
    }
}

void Signal::set(Engine &engine) {
    set_ = true;
    waiters_.wake(engine);
}

class RecordTask final : public Task {
  public:
    RecordTask(Engine &engine, std::shared_ptr<Event> event, std::shared_ptr<Signal> signal, std::uint64_t record)
        : engine_(engine), event_(std::move(event)), signal_(std::move(signal)), record_(record) {}
    TaskKind kind() const override { return TaskKind::Record; }

    Start start(Stream &) override {
        if (is_newest()) {
            event_->complete_ = true;
            event_->ticks_ = event_->takes_time() ? now() : 0;
            event_->give_back_id();
        }
        signal_->set(engine_);
        return Start::Done;
    }

    void rewind() override {
        if (is_newest()) {
            event_->recorded_ = true;
            event_->abort_reason_ = ACL_SUCCESS;
        }
    }

    // The abort of a device, on some chips also that of a stream, leaves the event as if it had never been recorded
    // (section 0.2). Otherwise its record stays, and is never complete.
    void cancel(Stream &stream) override {
        if (!is_newest() || injected_failure != ACL_SUCCESS) {
            return;
        }
        const bool is_stream_abort = stream.abort_reason != ACL_ERROR_RT_DEVICE_TASK_ABORT;
        if (is_stream_abort && !config().product->has(kStreamAbortResetsEvents)) {
            event_->abort_reason_ = stream.abort_reason;
            return;
        }
        event_->recorded_ = false;
        event_->ticks_ = 0;
        event_->give_back_id();
    }

  private:
    bool is_newest() const { return event_->records_ == record_; }
    static std::uint64_t now() {
        constexpr std::uint64_t kPerMs = 1'000'000;
        const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
        const auto ns = static_cast<std::uint64_t>(since_boot / std::chrono::nanoseconds(1));
        const std::uint64_t ticks = config().product->ticks_per_ms;
        return ns / kPerMs * ticks + ns % kPerMs * ticks / kPerMs;  // in two parts: the product would overflow
    }

    Engine &engine_;
    std::shared_ptr<Event> event_;
    std::shared_ptr<Signal> signal_;
    std::uint64_t record_;
};

class WaitTask final : public Task {
  public:
    WaitTask(Engine &engine, std::shared_ptr<Event> event, std::shared_ptr<Signal> signal, std::uint32_t timeout_s)
        : engine_(engine), event_(std::move(event)), signal_(std::move(signal)), timeout_s_(timeout_s) {
        if (timeout_s_ > 0) {
            engine_.timer().start();
        }
        ++event_->outstanding_waits_;
    }
    TaskKind kind() const override { return TaskKind::Wait; }

    Start start(Stream &stream) override {
        if (!signal_->is_set() && !expired_) {
            signal_->add_waiter(stream);
            if (timeout_s_ > 0 && !armed_) {
                armed_ = true;
                engine_.timer().arm(stream, Clock::now() + std::chrono::seconds(timeout_s_));
            }
            return Start::Blocked;
        }
        if (expired_) {
            result = ACL_ERROR_RT_TASK_TIMEOUT;
        } else {
            event_->tell_observer(engine_, stream);
        }
        cancel(stream);
        return Start::Done;
    }

    void cancel(Stream &stream) override {
        signal_->remove_waiter(stream);
        --event_->outstanding_waits_;
        event_->give_back_id();
    }

    void rewind() override {
        ++event_->outstanding_waits_;
        armed_ = expired_ = false;
    }

    bool expire() override { return expired_ = true; }

    Stream *waits_for() override { return event_->record_stream().get(); }
    std::string awaited() const override {
        return "event " + text_of(event_->handle()) + (event_->recorded_ ? "" : ", which is not recorded");
    }

  private:
    Engine &engine_;
    std::shared_ptr<Event> event_;
    std::shared_ptr<Signal> signal_;
    std::uint32_t timeout_s_;
    bool armed_ = false;
    bool expired_ = false;
};

class ResetTask final : public Task {
  public:
    explicit ResetTask(std::shared_ptr<Signal> signal) : signal_(std::move(signal)) {}
    TaskKind kind() const override { return TaskKind::Reset; }
    Start start(Stream &) override {
        signal_->clear();
        return Start::Done;
    }

  private:
    std::shared_ptr<Signal> signal_;
};

std::shared_ptr<Stream> Event::record_stream() const {
    auto stream = record_stream_.lock();
    return stream && !stream->destroyed ? stream : nullptr;
}

void Event::note_record(Stream &stream) {
    record_stream_ = stream.weak_from_this();
    record_sequence_ = stream.submitted + 1;
    abort_reason_ = ACL_SUCCESS;
}

void Event::renew_signal() {
    // One that nobody else refers to is as good as a new one.
    auto signal = signal_.use_count() == 1 ? signal_ : std::make_shared<Signal>(device);
    if (can_be_waited_for() || !config().product->is_stars) {
        signal->take_id();  // K4 needs none where the hardware schedules
    }
    signal->clear();
    signal_ = std::move(signal);
}

// K3 keeps its id no longer than its record and the waits for it take, K1 until the next record (section 2,
// aclrtGetEventId).
void Event::give_back_id() {
    const bool is_over = recorded_ ? complete_ && mode == Mode::New : !has_fixed_signal();
    if (is_over && outstanding_waits_ == 0) {
        signal_->give_back_id();
    }
}

void Event::record(Engine &engine, Lock &lock, Stream &stream) {
    const auto self = shared_from_this();  // admit() may let other threads in
    engine.admit(lock, stream);
    if (ipc) {
        records_ = ipc->issue();
        note_record(stream);
        submit_ipc_record(engine, stream, ipc, records_);
        return;
    }
    if (!has_fixed_signal()) {
        renew_signal();
    }
    ++records_;
    recorded_ = true;
    complete_ = seen_ = was_reset_ = false;
    note_record(stream);
    engine.submit(stream, RecordTask(engine, self, signal_, records_));
}

bool Event::is_over_for(const Stream &stream) const {
    if (ipc || has_fixed_signal()) {
        return false;  // a fixed signal may still be set by an earlier record
    }
    // K1, K3: a reset K1 event is waited for in vain: the bit of its id was cleared and a new record takes another
    // id [obs].
    const bool is_over = !recorded_ || (complete_ && !was_reset_);
    const bool is_own_record = mode == Mode::New && record_stream().get() == &stream;
    return is_over || is_own_record;
}

void Event::wait(Engine &engine, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    const auto self = shared_from_this();
    const Product &product = *config().product;
    const bool is_foreign = &stream.context.device != &device;
    const bool is_ignored = is_foreign && !ipc && product.has(kIgnoresForeignWaits);
    if (is_ignored || is_over_for(stream)) {  // no task: it needs no place in the queue
        require_not_aborting(stream);
        require_sound(stream.context);
    } else {
        engine.admit(lock, stream);
    }
    if (is_ignored) {
        return;
    }
    const bool is_timed = product.has_wait_timeout && !(is_foreign && product.has(kForeignWaitsAreUntimed));
    const std::uint32_t timeout = is_timed ? timeout_s : 0;
    if (ipc) {
        submit_ipc_wait(engine, stream, ipc, timeout);
        return;
    }
    const auto recorded = recorded_ && !has_fixed_signal() ? record_stream() : nullptr;
    if (recorded) {
        engine.memory_pools().link(engine, stream, recorded->handle(), record_sequence_);
    }
    if (is_over_for(stream)) {
        tell_observer(engine, stream);
        return;
    }
    engine.submit(stream, WaitTask(engine, self, signal_, timeout));
}

void Event::reset(Engine &engine, Lock &lock, Stream &stream) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    was_reset_ = true;
    engine.submit(stream, ResetTask(signal_));
}

void Event::tell_observer(Engine &engine, const Stream &waited) const {
    if (Observer *observer = engine.observer()) {
        if (const auto recorded = record_stream()) {
            observer->edge(*recorded, waited, *this);
        }
    }
}

bool Event::was_seen_complete() const {
    // With CAPTURE_STREAM_PROGRESS alone nothing tells the host of the completion until someone looks at the queue
    // [obs, section 0.2].
    const bool is_told = (flags & ~static_cast<std::uint32_t>(ACL_EVENT_CAPTURE_STREAM_PROGRESS)) != 0;
    return complete_ && (seen_ || is_told);
}

std::shared_ptr<Event> create_event(Engine &engine, Device &device, Event::Mode mode, std::uint32_t flags) {
    auto event = std::make_shared<Event>(device, mode, flags);
    if (event->has_fixed_signal()) {
        event->take_id();
    }
    if (event->is_ipc()) {
        event->ipc = IpcRecords::create();
    }
    engine.registry().add(event);
    return event;
}

}  // namespace aclsim
