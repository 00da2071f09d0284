// SPDX-License-Identifier: Apache-2.0
// Events. Capabilities depend on the creating function and its flags (events_streams_sync.md section 0.1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/block_store.h"
#include "engine/pending.h"
#include "engine/registry.h"
#include "engine/slot_arena.h"
#include "engine/task.h"
#include "engine/waiters.h"
#include "machine/device.h"
#include "support/config.h"
#include "tasks/ipc_event.h"

namespace aclsim {

struct CapturedEvent;
class Core;

// Shared by the records, waits and resets of all kinds of events.
inline constexpr TaskInfo kEventRecord{"EVENT_RECORD", "a record", 0, Cost::Record};
inline constexpr TaskInfo kUnsignalledRecord{"EVENT_RECORD", "a record", kEndsAtOnce, Cost::Record};
inline constexpr TaskInfo kEventWait{"EVENT_WAIT", "a wait", 0, Cost::Wait};
inline constexpr TaskInfo kEventReset{"EVENT_RESET"};

// Bit that a record sets and waits test, with its hardware id on the device. K2 and K5 have one for life; the other
// kinds take a new one for each record, so an earlier wait stays bound to its record. A record that ends at once needs
// none, because no wait has to test it.
class Signal final : public RefCounted {
  public:
    static void *operator new(std::size_t size, std::uint32_t shard) { return take_object(size, shard); }
    static void operator delete(void *block, std::uint32_t) { give_back_object(block, sizeof(Signal)); }
    static void operator delete(void *block, std::size_t size) { give_back_object(block, size); }
    static Ref<Signal> create(Device &device) REQUIRES(engine_lock) {
        return make_ref_in<Signal>(*device.shard, device);
    }
    explicit Signal(Device &device) : device_(device) {}
    ~Signal() override { give_back_id(); }
    // Fails with ACL_ERROR_RT_NO_EVENT_RESOURCE if the device has no id left.
    static void require_id(const Device &device) REQUIRES(engine_lock) {
        if (device.event_ids.available() == 0) {
            fail_without_id(device);
        }
    }
    void take_id() REQUIRES(engine_lock) {  // no-op if it has an id; fails as require_id() does
        if (!id_) {
            take_new_id();
        }
    }
    void give_back_id() REQUIRES(engine_lock) {
        if (id_) {
            device_.event_ids.release(*id_);
            id_.reset();
        }
    }
    const std::optional<std::uint32_t> &id() const REQUIRES(engine_lock) { return id_; }
    bool is_set() const REQUIRES(engine_lock) { return set_; }
    const Point &set_by() const REQUIRES(engine_lock) { return set_by_; }  // first record since the bit was clear
    void set(Core &core, const Point &record) REQUIRES(engine_lock);
    void clear() REQUIRES(engine_lock) { set_ = false; }

    // First record since the last reset, by their calls: known while an observer wants the order, and no model keeps a
    // use of the event, whose executions have no place among them.
    Point first_called GUARDED_BY(engine_lock);
    bool has_kept_uses GUARDED_BY(engine_lock) = false;
    void note_use(const Stream &stream) REQUIRES(engine_lock) {
        if (!stream.executes_tasks) {
            has_kept_uses = true;
            first_called = {};
        }
    }
    PendingTasks records;                                     // records that will set it
    std::uint64_t newest_record GUARDED_BY(engine_lock) = 0;  // number of the newest record that used it
    Waiters waiters;

  private:
    void take_new_id() REQUIRES(engine_lock);
    [[noreturn]] static void fail_without_id(const Device &device) REQUIRES(engine_lock);

    Device &device_;
    std::optional<std::uint32_t> id_ GUARDED_BY(engine_lock);
    bool set_ GUARDED_BY(engine_lock) = false;
    Point set_by_ GUARDED_BY(engine_lock);
};

inline SlotArena<64, 1U << 22> event_slots;

class alignas(64) Event final : public Object {
  public:
    static void *operator new(std::size_t, std::uint32_t shard) NO_THREAD_SAFETY_ANALYSIS {
        return event_slots.take(shard);
    }
    static void operator delete(void *slot, std::uint32_t) NO_THREAD_SAFETY_ANALYSIS { event_slots.give_back(slot); }
    static void operator delete(void *slot) NO_THREAD_SAFETY_ANALYSIS { event_slots.give_back(slot); }
    static constexpr Kind kKind = Kind::Event;
    static constexpr auto *kSlots = &event_slots;

    // Old mode: aclrtCreateEvent, aclrtCreateEventWithFlag; new mode: aclrtCreateEventExWithFlag.
    enum class Mode : std::uint8_t { Old, New };
    // Returns true if an event of that kind starts with no further objects.
    static bool is_plain(Mode mode, std::uint32_t flags) {
        return mode == Mode::New && (flags & (ACL_EVENT_TIME_LINE | ACL_EVENT_IPC)) == 0;
    }
    Event(Device &owner, Mode creation_mode, std::uint32_t creation_flags)
        : mode(creation_mode), flags(static_cast<std::uint8_t>(creation_flags)), device(owner) {
        if (takes_time()) {
            rare();
        }
    }

    // Kinds K1 to K7 as predicates. K1 is the default event (0xE, old mode), K3 the Ex event with SYNC.
    bool is_external() const { return flags == ACL_EVENT_EXTERNAL; }            // K5
    bool is_device_only() const { return flags == ACL_EVENT_DEVICE_USE_ONLY; }  // K6
    bool is_ipc() const { return flags == ACL_EVENT_IPC; }                      // K7
    bool is_default() const { return mode == Mode::Old && (flags & kOldSync) != 0 && (flags & ACL_EVENT_SYNC) == 0; }
    bool has_fixed_signal() const {  // K2, K5
        return mode == Mode::Old && (flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) != 0;
    }
    bool can_be_waited_for() const {  // all but K4
        return (flags & (ACL_EVENT_SYNC | kOldSync | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC)) != 0;
    }
    bool takes_time() const { return (flags & ACL_EVENT_TIME_LINE) != 0; }

    // --- host side; the caller has checked that the kind allows the operation ----------------------------------------
    void record(Core &core, Lock &lock, Stream &stream) REQUIRES(engine_lock);
    void wait(Core &core, Lock &lock, Stream &stream, std::uint32_t timeout_s) REQUIRES(engine_lock);
    void reset(Core &core, Lock &lock, Stream &stream) REQUIRES(engine_lock);
    // Binds a graph that is the stream's next task. make_record() returns a record that is the newest from now on and
    // completes with the task that the graph executes; the other function returns the signal for a wait in the graph,
    // or nullptr.
    std::unique_ptr<Task> make_record(Core &core, Stream &launching) REQUIRES(engine_lock);
    // Forgets a record that could not be submitted: a wait for it would never end.
    void withdraw_record() REQUIRES(engine_lock) { recorded_ = false; }
    Ref<Signal> awaited_signal() const REQUIRES(engine_lock) {
        return Ref<Signal>(recorded_ && !was_reset_ ? newest_signal() : nullptr);
    }

    // Returns true if a wait in that stream would have nothing to wait for.
    bool is_satisfied_for(const Stream &stream) const REQUIRES(engine_lock);
    // Returns true if everything that the event refers to, and everything that waits for it, belongs to its shard. The
    // shard lock then suffices to record the event and to wait for it in streams of the shard.
    bool stays_in_shard() const REQUIRES(engine_lock);
    // Returns true if only the registry refers to the event, which owns everything that belongs to it.
    bool is_unused() const REQUIRES(engine_lock) { return references() == 1 && rare_ == nullptr; }

    bool was_recorded() const REQUIRES(engine_lock) { return is_ipc() ? ipc()->newest() > 0 : recorded_; }
    bool is_complete() const REQUIRES(engine_lock) {
        return is_ipc() ? ipc()->is_complete(ipc()->newest()) : complete_;
    }
    bool was_seen_complete() const REQUIRES(engine_lock);  // state that aclrtQueryEvent has observed
    void see_complete() REQUIRES(engine_lock) { seen_ = true; }
    std::uint32_t outstanding_waits() const REQUIRES(engine_lock) { return rare_ ? rare_->outstanding_waits : 0; }
    // Ticks of the newest record; 0 without TIME_LINE.
    std::uint64_t ticks() const REQUIRES(engine_lock) { return rare_ ? rare_->ticks : 0; }
    std::optional<std::uint32_t> id() const REQUIRES(engine_lock) {  // for aclrtGetEventId
        return has_signal_ ? rare_->signal->id() : std::nullopt;
    }
    void take_id() REQUIRES(engine_lock) { signal()->take_id(); }
    // K7: shared records, and the number of the newest one made with this handle.
    void set_ipc(std::shared_ptr<IpcRecords> records) REQUIRES(engine_lock) { rare().ipc = std::move(records); }
    const std::shared_ptr<IpcRecords> &ipc() const REQUIRES(engine_lock) { return rare_->ipc; }
    std::uint64_t ipc_record() const REQUIRES(engine_lock) { return rare_->ipc_record; }
    // Newest record, for threads that wait: its stream, or nullptr if the stream is gone; the number of the task in it;
    // and the reason if the record was aborted.
    Stream *record_stream() const REQUIRES(engine_lock);
    std::uint64_t record_sequence() const REQUIRES(engine_lock) { return record_sequence_; }
    Point record_point() const REQUIRES(engine_lock) {  // valid even if the stream is gone
        return record_stream_ ? Point{record_stream_->serial, record_sequence_} : Point{};
    }
    aclError abort_reason() const REQUIRES(engine_lock) { return was_aborted_ ? rare_->abort_reason : ACL_SUCCESS; }

    // State during the capture that has recorded the event, or nullptr.
    CapturedEvent *captured() const REQUIRES(engine_lock) { return is_captured_ ? unless_ended() : nullptr; }
    // Removes the reference to a capture that has ended.
    void forget_captured(const CapturedEvent &captured) REQUIRES(engine_lock) {
        if (is_captured_ && rare_->captured == &captured) {
            set_captured(nullptr);
        }
    }
    void set_captured(CapturedEvent *captured) REQUIRES(engine_lock) {
        rare().captured = captured;
        is_captured_ = captured != nullptr;
    }

    // Fields that change with a record that ends at once, or that a wait reads from a complete event, share a cache
    // line with the fields of Object: programs have thousands of events.
    const Mode mode;
    const std::uint8_t flags;
    // First flag used by a record or a wait, DEFAULT or EXTERNAL, which then stays with the event (section 2).
    std::int8_t record_flag GUARDED_BY(engine_lock) = -1;
    Device &device;
    std::int8_t wait_flag GUARDED_BY(engine_lock) = -1;
    static constexpr std::uint32_t kOldSync = 0x4;  // undocumented: the sync bit of default events

  private:
    friend class RecordTask;
    friend class WaitTask;
    CapturedEvent *unless_ended() const REQUIRES(engine_lock);
    // State allocated on demand. An event does not need it if it is recorded in idle streams only and takes no time.
    struct Rare {
        static void *operator new(std::size_t size, std::uint32_t shard) { return take_object(size, shard); }
        static void operator delete(void *block, std::uint32_t) { give_back_object(block, sizeof(Rare)); }
        static void operator delete(void *block, std::size_t size) { give_back_object(block, size); }
        Ref<Signal> signal;
        std::uint64_t ticks = 0;
        std::uint32_t outstanding_waits = 0;
        aclError abort_reason = ACL_SUCCESS;
        CapturedEvent *captured = nullptr;
        std::shared_ptr<IpcRecords> ipc;
        std::uint64_t ipc_record = 0;
    };
    Rare &rare() REQUIRES(engine_lock) {
        if (rare_ == nullptr) {
            rare_.reset(new (*device.shard) Rare);
        }
        return *rare_;
    }
    void note_record(Stream &stream) REQUIRES(engine_lock);
    void note_record_call(const Stream &stream) REQUIRES(engine_lock);
    SyncObject sync_object() const REQUIRES(engine_lock);
    WaitBinding bind_wait(bool has_task) const REQUIRES(engine_lock);
    // Checks the event and its signal, if any, for a task that may hold the last references to them.
    bool stays_in_shard_with(const Stream &stream, const Signal *signal) const REQUIRES(engine_lock);
    // Returns true if the signal of each record has an id. K4 needs none where the hardware schedules.
    bool needs_id() const { return can_be_waited_for() || !config().product->is_stars; }
    // K1 and K4 keep the id of a record until the next one. K3 takes an id when the record is queued, and returns it
    // when the record and the waits for it are done (section 2, aclrtGetEventId).
    bool keeps_id() const { return mode == Mode::Old && needs_id(); }
    void give_back_id() REQUIRES(engine_lock) {
        if (id() && outstanding_waits() == 0 && (recorded_ ? complete_ && mode == Mode::New : !has_fixed_signal())) {
            rare_->signal->give_back_id();
        }
    }
    Signal *newest_signal() const REQUIRES(engine_lock) { return has_signal_ ? rare_->signal.get() : nullptr; }
    bool has_private_signal() const REQUIRES(engine_lock) { return has_signal_ && rare_->signal->references() == 1; }
    void set_signal(Ref<Signal> signal) REQUIRES(engine_lock) {
        rare().signal = std::move(signal);
        has_signal_ = true;
    }
    void renew_signal() REQUIRES(engine_lock);  // prepares for the next record
    // Kept out of line, so that the frequent paths through renew_signal() need no stack frame.
    [[gnu::noinline]] void add_signal_with_id() REQUIRES(engine_lock);
    [[gnu::noinline]] void drop_signal() REQUIRES(engine_lock);
    const Ref<Signal> &signal() REQUIRES(engine_lock);  // signal of the newest record, created if there is none

    bool recorded_ GUARDED_BY(engine_lock) = false;  // state other than INIT
    bool complete_ GUARDED_BY(engine_lock) = false;  // state RECORDED
    bool seen_ GUARDED_BY(engine_lock) = false;
    bool was_reset_ GUARDED_BY(engine_lock) = false;    // since the newest record
    bool was_aborted_ GUARDED_BY(engine_lock) = false;  // newest record was aborted; see `Rare::abort_reason`
    bool is_captured_ GUARDED_BY(engine_lock) = false;
    bool has_signal_ GUARDED_BY(engine_lock) = false;
    Ref<Stream> record_stream_ GUARDED_BY(engine_lock);
    std::uint64_t record_sequence_ GUARDED_BY(engine_lock) = 0;
    std::unique_ptr<Rare> rare_ GUARDED_BY(engine_lock);
};
static_assert(sizeof(Event) == 64, "one cache line");

Ref<Event> create_event(Core &core, Device &device, Event::Mode mode, std::uint32_t flags) REQUIRES(engine_lock);

}  // namespace aclsim
