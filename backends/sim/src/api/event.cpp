// SPDX-License-Identifier: Apache-2.0
// Events and the host (events_streams_sync.md section 2). Each function keeps the order of checks given there.
#include "api/event.h"

#include <atomic>
#include <cstring>
#include <optional>

#include "api/shard_entry.h"
#include "tasks/capture.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kDefaultEvent = 0xE;  // aclrtCreateEvent: 0x2 | 0x4 | 0x8
constexpr std::uint32_t kOldFlags = 0x3F;     // flags known to aclrtCreateEventWithFlag
constexpr std::uint32_t kNewFlags = 0x4F;     // flags known to aclrtCreateEventExWithFlag
constexpr std::uint32_t kAloneFlags = ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

// Returns advice for flags that aclrtCreateEventWithFlag or aclrtCreateEventExWithFlag refuses; the known flags
// identify the function.
const char *cure_for_flags(std::uint32_t flag, std::uint32_t known) {
    if (flag == ACL_EVENT_IPC) {
        return "aclrtCreateEventExWithFlag creates IPC events";
    }
    if (known == kNewFlags && (flag == ACL_EVENT_DEVICE_USE_ONLY || flag == ACL_EVENT_EXTERNAL)) {
        return "aclrtCreateEventWithFlag creates such events";
    }
    if ((flag & kAloneFlags) != 0) {
        return "0x10, 0x20 and 0x40 stand alone; leave the other flags out";
    }
    return "pass a combination of 0x1, 0x2 and 0x8, or one of 0x10, 0x20 and 0x40 alone";
}

// Checks that the context of the thread is live and that its device has a vacant slot for the event.
bool can_create_in_shard(Simulator &sim, void *context, Event::Mode mode, std::uint32_t flag) REQUIRES(engine_lock) {
    return Event::is_plain(mode, flag) && sim.core.registry().find<Context>(context) != nullptr &&
           event_slots.has_vacant(Registry::shard_of(context));
}

aclError create(Function function, aclrtEvent *event, Event::Mode mode, std::uint32_t flag, std::uint32_t known) {
    void *const context = thread_context().current();
    const auto stays = [&](Simulator &sim)
                           REQUIRES(engine_lock) { return can_create_in_shard(sim, context, mode, flag); };
    return shard_entry(function, context, stays, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        const bool is_alone = (flag & (flag - 1)) == 0;
        if ((flag & known) == 0 || flag > known || ((flag & kAloneFlags) != 0 && !is_alone)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "event flags %#x: %s", flag, cure_for_flags(flag, known));
        }
        if (flag == ACL_EVENT_IPC && !config().product->has_ipc_events) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no IPC events", config().product->name);
        }
        if (flag == ACL_EVENT_DEVICE_USE_ONLY && !config().product->has(kHasDeviceOnlyObjects)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no device-only events", config().product->name);
        }
        *event = create_event(sim.core, require_current_device(sim), mode, flag)->handle();
    });
}

// Rejects captured events, for calls that query an event or wait for it (graphs_kernels.md section B1).
Event &require_uncaptured(Event &event) REQUIRES(engine_lock) {
    if (event.captured() != nullptr) {
        fail(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in the capture of graph %u, which is under way",
             event.captured()->capture.graph->id);
    }
    return event;
}

// Finds an event for the calls that take neither Ex nor external events. Such an event is never in a capture.
Event &require_old_event(Simulator &sim, Handle<Event> event) REQUIRES(engine_lock) {
    Event &found = require_event(sim, event);
    if (found.mode == Event::Mode::New || found.is_external()) {
        refuse_event_kind("an Ex or external");
    }
    return found;
}

// Reports a persistent failure (STOP mode, a lost device) in the context of the newest record, as queries do.
void require_healthy_record(const Event &event) REQUIRES(engine_lock) {
    if (const Stream *stream = event.record_stream()) {
        require_healthy(context_of(*stream));
    }
}

// Flags of the events that a library queries for its own purposes; 0: of none.
std::atomic<std::uint32_t> quiet_flags{0};

bool is_asked_quietly(const Event &event) {
    return event.mode == Event::Mode::New && event.flags != 0 && event.flags == quiet_flags.load();
}

// Notes that the calling thread knows a record of an IPC event to be complete.
void report_ipc_record(Simulator &sim, const IpcRecords &records, std::uint64_t record, HostSync how)
    REQUIRES(engine_lock) {
    const IpcRecords::Maker maker = records.maker_of(record);
    if (maker.is_own()) {
        sim.core.note_learned(maker.task, how);
    } else if (maker.process != 0) {
        sim.core.note_learned_of(maker.task, maker.process);
    }
}

// Notes that the calling thread has learned the state of the newest record.
[[gnu::noinline]] void report_queried(Simulator &sim, const Event &event, bool is_complete) REQUIRES(engine_lock) {
    if (is_complete && event.is_ipc()) {
        report_ipc_record(sim, *event.ipc(), event.ipc()->newest(), HostSync::Queried);
    } else if (is_complete) {
        sim.core.note_queried(event.record_point(), is_asked_quietly(event));
    } else {
        sim.core.note_polled(event.record_point());
    }
}

// Entry point that waits for an event or queries it.
template <class Body>
[[gnu::always_inline]] inline aclError event_completion_entry(Function function, Handle<Event> event, Body body) {
    const auto stays = [&](Simulator &) REQUIRES(engine_lock) { return event_in_shard(event) != nullptr; };
    return shard_entry(function, event.value(), stays, body);
}

[[gnu::noinline]] bool is_reporting(const Simulator &sim, const Event &event) REQUIRES(engine_lock) {
    const Stream *const stream = event.record_stream();
    return stream != nullptr && sim.core.is_reporting(*stream);
}

// Returns true if a query may show that the newest record is complete.
inline bool shows_completion(const Simulator &sim, const Event &event) REQUIRES(engine_lock) {
    return event.is_complete() && !(sim.core.has_open_reports() && is_reporting(sim, event));
}

[[noreturn]] void fail_in_time(std::int32_t timeout_ms) {
    fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event was not complete within %d ms", timeout_ms);
}

// Waits for an IPC event. If another process made the newest record, its completion must be polled.
void synchronize_ipc(Simulator &sim, Lock &lock, const Event &event, std::int32_t timeout_ms) REQUIRES(engine_lock) {
    constexpr std::chrono::microseconds kInterval{50};
    const auto records = event.ipc();
    const std::uint64_t newest = records->newest();
    const Time deadline = deadline_of(sim, timeout_ms);
    const Ref<Stream> stream(event.ipc_record() == newest ? event.record_stream() : nullptr);
    if (stream && !records->is_complete(newest)) {  // own record: this thread may help to run it
        const std::uint64_t own = event.record_sequence();
        if (sim.core.wait_for(lock, stream, own, deadline) == Core::Waited::TimedOut) {
            fail_in_time(timeout_ms);
        }
    }
    const std::string awaited = "record " + std::to_string(newest) + " of an IPC event, which another process makes";
    std::optional<HostWait> wait;
    std::condition_variable_any never;
    while (!records->is_complete(newest)) {
        if (!wait) {
            wait.emplace(sim.core, Outside::OtherProcess, awaited.c_str(), deadline);
        }
        if (!wait->sleep(lock, never, sim.clock.now() + kInterval)) {
            fail_in_time(timeout_ms);
        }
    }
    report_ipc_record(sim, *records, newest, HostSync::Synchronized);
}

void synchronize_event(Simulator &sim, Lock &lock, Handle<Event> event, std::int32_t timeout_ms) REQUIRES(engine_lock) {
    Event &found = require_uncaptured(require_event(sim, event));
    if (found.is_external()) {
        refuse_event_kind("an external");
    }
    if (found.is_ipc()) {
        synchronize_ipc(sim, lock, found, timeout_ms);
        return;
    }
    require_healthy_record(found);
    const Ref<Stream> stream(found.record_stream());
    if (stream && found.was_recorded() && !stream->executes_tasks) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the event was recorded on a persistent stream, which executes nothing");
    }
    if (found.abort_reason() != ACL_SUCCESS) {
        fail(found.abort_reason(), "the event's newest record was aborted; record it again");
    }
    if (!found.was_recorded() || !stream) {  // a destroyed stream has finished its work
        return;
    }
    const Ref<Context> context(context_of(*stream));  // other threads may destroy it during the wait
    const std::uint64_t record = found.record_sequence();
    switch (sim.core.wait_for(lock, stream, record, deadline_of(sim, timeout_ms))) {
        case Core::Waited::TimedOut:
            fail_in_time(timeout_ms);
        case Core::Waited::Aborted:
            fail_aborted(*stream);
        case Core::Waited::Stopped:
        case Core::Waited::Done:
            break;
    }
    require_healthy(*context);
}

// Checks the requirements of elapsed times and time stamps.
void require_record(const Event &event) REQUIRES(engine_lock) {
    if (event.is_external() || event.is_ipc()) {
        refuse_event_kind("an external or IPC");
    }
    if (!event.was_recorded()) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "event %p was never recorded; call aclrtRecordEvent first", event.handle());
    }
}

void require_time(const Simulator &sim, const Event &event) REQUIRES(engine_lock) {
    if (!event.is_complete()) {
        fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the record of event %p is not complete; synchronize it first",
             event.handle());
    }
    sim.core.note_queried(event.record_point());
}

}  // namespace

aclError aclrtCreateEvent(aclrtEvent *event) {
    return create(Function::aclrtCreateEvent, event, Event::Mode::Old, kDefaultEvent, kOldFlags);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
    return create(Function::aclrtCreateEventWithFlag, event, Event::Mode::Old, flag, kOldFlags);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    return create(Function::aclrtCreateEventExWithFlag, event, Event::Mode::New, flag, kNewFlags);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    const Handle<Event> named(event);
    const auto stays = [&](Simulator &) REQUIRES(engine_lock) {
        const Event *const found = event_in_shard(named);
        return found != nullptr && found->is_unused();
    };
    return shard_entry(Function::aclrtDestroyEvent, event, stays, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_event(sim, named));
    });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
    const Handle<Event> named(event);
    return event_completion_entry(Function::aclrtQueryEvent, named, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require(status, "status");
        Event &found = require_old_event(sim, named);
        require_healthy_record(found);
        const bool complete = !found.was_recorded() || found.was_seen_complete();
        if (shows_completion(sim, found)) {
            found.see_complete();  // the next query says so: a program that polls comes to an end
        }
        *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
        if (sim.core.hears_of_queries() && found.was_recorded()) {
            report_queried(sim, found, complete);
        }
    });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
    const Handle<Event> named(event);
    return event_completion_entry(
        Function::aclrtQueryEventStatus, named, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
            require(event, "event");
            require(status, "status");
            Event &found = require_uncaptured(require_event(sim, named));
            if (found.is_external()) {
                refuse_event_kind("an external");
            }
            require_healthy_record(found);
            const bool shows = shows_completion(sim, found);
            if (shows) {
                found.see_complete();
            }
            if (sim.core.hears_of_queries() && found.was_recorded()) {
                report_queried(sim, found, shows);
            }
            // Report an event without a record as complete in the new mode, but not in the old one (section 0.2).
            const bool complete = found.was_recorded() ? shows : found.mode == Event::Mode::New;
            *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status) {
    return entry(Function::aclrtQueryEventWaitStatus, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require(status, "status");
        const Event &found = require_old_event(sim, event);
        require_healthy_record(found);
        if (const Context *context = current_context(sim)) {
            require_healthy(*context);  // the context of the calling thread counts too
        }
        *status = found.outstanding_waits() == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    const Handle<Event> named(event);
    return event_completion_entry(Function::aclrtSynchronizeEvent, named,
                                  [&](Simulator &sim, Lock &lock)
                                      REQUIRES(engine_lock) { synchronize_event(sim, lock, named, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    const Handle<Event> named(event);
    return event_completion_entry(
        Function::aclrtSynchronizeEventWithTimeout, named, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
            if (timeout < -1) {
                fail_unremembered(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is below -1", timeout);
            }
            require_event(sim, named);
            if (timeout == 0) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "timeout 0 ms would never wait; use aclrtQueryEventStatus");
            }
            synchronize_event(sim, lock, named, timeout);
        });
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return entry(Function::aclrtEventElapsedTime, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(ms, "ms");
        require(startEvent, "startEvent");
        require(endEvent, "endEvent");
        const Event &start = require_uncaptured(require_event(sim, startEvent));
        const Event &end = require_uncaptured(require_event(sim, endEvent));
        const Product &product = *config().product;
        const bool is_unsigned = product.has(kComputesWithoutStamps);
        require_record(start);
        require_record(end);
        if (!is_unsigned) {
            require_time(sim, start);
            require_time(sim, end);
        }
        const std::uint64_t ticks = end.ticks() - start.ticks();
        const double difference = is_unsigned ? static_cast<double>(ticks) : static_cast<double>(std::int64_t(ticks));
        *ms = static_cast<float>(difference / product.ticks_per_ms);
    });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp) {
    return entry(Function::aclrtEventGetTimestamp, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require(timestamp, "timestamp");
        const Event &found = require_uncaptured(require_event(sim, event));
        require_record(found);
        require_time(sim, found);
        *timestamp = found.ticks() / (config().product->ticks_per_ms / 1000);
    });
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId) {
    return entry(Function::aclrtGetEventId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require(eventId, "eventId");
        const Event &found = require_event(sim, event);
        if (found.is_ipc()) {
            refuse_event_kind("an IPC");
        }
        if (!found.id()) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "the event has no id at present");
        }
        *eventId = *found.id();
    });
}

aclError aclrtGetEventAvailNum(uint32_t *eventCount) {
    return entry(Function::aclrtGetEventAvailNum, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(eventCount, "eventCount");
        *eventCount = require_current_device(sim).event_ids.available();
    });
}

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle) {
    return entry(Function::aclrtIpcGetEventHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require(handle, "handle");
        require_supported();
        const Event &found = require_event(sim, event);
        if (!found.is_ipc()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the event was not created with ACL_EVENT_IPC");
        }
        *handle = {};
        std::memcpy(handle->reserved, found.ipc()->name().c_str(), found.ipc()->name().size());
    });
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event) {
    return entry(Function::aclrtIpcOpenEventHandle, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(event, "event");
        require_supported();
        Device &device = require_current_device(sim);
        const std::string name(handle.reserved, strnlen(handle.reserved, sizeof handle.reserved));
        const auto records = IpcRecords::open(name);
        if (records == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "no process has a live IPC event with this handle");
        }
        const Ref<Event> opened(new (*device.shard) Event(device, Event::Mode::New, ACL_EVENT_IPC));
        opened->set_ipc(records);
        sim.core.registry().add(opened, *device.shard);
        *event = opened->handle();
    });
}

aclError aclsimAskQuietlyAbout(uint32_t eventFlags) {
    quiet_flags.store(eventFlags);
    return ACL_SUCCESS;
}
