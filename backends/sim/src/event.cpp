#include "event.h"

#include <chrono>

#include "context.h"
#include "engine.h"
#include "error.h"
#include "stall.h"

namespace aclsim {

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
        }
        signal_->set(engine_);
        return Start::Done;
    }

    void rewind() override { event_->recorded_ = event_->recorded_ || is_newest(); }

    // An aborted record leaves the event as if it had never been recorded (section 0.2).
    void cancel(Stream &) override {
        if (is_newest()) {
            event_->recorded_ = false;
            event_->ticks_ = 0;
        }
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
            signal_->remove_waiter(stream);
            result = ACL_ERROR_RT_TASK_TIMEOUT;
        } else {
            event_->tell_observer(engine_, stream);
        }
        --event_->outstanding_waits_;
        return Start::Done;
    }

    void cancel(Stream &stream) override {
        signal_->remove_waiter(stream);
        --event_->outstanding_waits_;
    }

    void rewind() override {
        ++event_->outstanding_waits_;
        armed_ = expired_ = false;
    }

    bool expire() override { return expired_ = true; }

    Stream *waits_for() override { return engine_.registry().find<Stream>(event_->record_stream_); }
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

Event::~Event() {
    if (has_id_) {
        device.event_ids.release(id_);
    }
}

void Event::take_id() {
    if (!has_id_) {
        if (!device.event_ids.acquire(id_)) {
            fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "device %u gives out no more events; %u are in use", device.user_id,
                 device.event_ids.in_use());
        }
        has_id_ = true;
    }
}

void Event::use_new_signal() {
    if (signal_.use_count() == 1) {
        signal_->clear();  // nobody else refers to it: as good as a new one
    } else {
        signal_ = std::make_shared<Signal>();
    }
}

void Event::record(Engine &engine, Lock &lock, Stream &stream) {
    const auto self = shared_from_this();  // admit() may let other threads in
    engine.admit(lock, stream);
    if (ipc) {
        record_stream_ = stream.handle();
        record_sequence_ = stream.submitted + 1;
        submit_ipc_record(engine, stream, ipc, ipc->issue());
        return;
    }
    if (can_be_waited_for() || !config().product->is_stars) {
        take_id();  // K4 needs none where the hardware schedules
    }
    if (!has_fixed_signal()) {
        use_new_signal();
    }
    ++records_;
    recorded_ = true;
    complete_ = seen_ = was_reset_ = false;
    record_stream_ = stream.handle();
    record_sequence_ = stream.submitted + 1;
    engine.submit(stream, RecordTask(engine, self, signal_, records_));
}

void Event::wait(Engine &engine, Lock &lock, Stream &stream, std::uint32_t timeout_s) {
    const auto self = shared_from_this();
    engine.admit(lock, stream);
    const Product &product = *config().product;
    const bool is_foreign = &stream.context.device != &device;
    const bool is_timed = product.has_wait_timeout && !(is_foreign && product.has(kForeignWaitsAreUntimed));
    const std::uint32_t timeout = is_timed ? timeout_s : 0;
    if (ipc) {
        submit_ipc_wait(engine, stream, ipc, timeout);
        return;
    }
    if (is_foreign && product.has(kIgnoresForeignWaits)) {
        return;
    }
    if (recorded_ && !has_fixed_signal()) {  // a fixed signal may still be set by an earlier record
        engine.memory_pools().link(engine, stream, record_stream_, record_sequence_);
    }
    if (!has_fixed_signal()) {
        // K1, K3, K7: nothing to wait for once the record is complete. A reset K1 event is waited for in vain: the bit
        // of its id was cleared and a new record takes another id [obs].
        const bool is_over = !recorded_ || (complete_ && !was_reset_);
        const bool is_own_record = mode == Mode::New && record_stream_ == stream.handle();
        if (is_over || is_own_record) {
            tell_observer(engine, stream);
            return;
        }
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
        if (const Stream *recorded = engine.registry().find<Stream>(record_stream_)) {
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

bool Event::find_id(std::uint32_t &id) const {
    const bool gave_it_back = mode == Mode::New && complete_ && outstanding_waits_ == 0;  // K3
    if (!has_id_ || gave_it_back) {
        return false;
    }
    id = id_;
    return true;
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
