// SPDX-License-Identifier: Apache-2.0
// Tasks of events: records, resets and waits of streams (events_streams_sync.md section 2). Each function keeps the
// order of checks given there.
#include "api/event.h"
#include "api/model.h"
#include "api/shard_entry.h"
#include "support/text.h"
#include "tasks/capture.h"

using namespace aclsim;

namespace {

bool have_one_shard(Handle<Event> event, Handle<ContextStream> stream) {
    return Registry::shard_of(event.value()) == Registry::shard_of(stream.value());
}

// Finds the stream that a call names; nullptr means the default stream. An invalid handle is reported before errors
// about the kind of the event, a missing context after them.
ContextStream *find_named_stream(Simulator &sim, Handle<ContextStream> stream) REQUIRES(engine_lock) {
    return stream.value() == nullptr ? nullptr : &require_handle(sim, stream, "stream");
}

ContextStream &require_own(Simulator &sim, ContextStream *named) REQUIRES(engine_lock) {
    return named == nullptr ? *require_context(sim).default_stream : require_own(sim, *named);
}

void refuse_device_only(const Event &event) {
    if (event.is_device_only()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "a device-only event cannot be used from the host");
    }
}

// Binds the event to the first flag that a record or a wait used, even if that call failed later.
void associate(std::int8_t &first, std::uint32_t flag) {
    if (first < 0) {
        first = static_cast<std::int8_t>(flag);
    }
    if (first != static_cast<std::int8_t>(flag)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the event was first used with flag %d, now with %u", first, flag);
    }
}

// Performs an EXTERNAL record or wait. Both exist only in the capture of a graph, for events created by
// aclrtCreateEventExWithFlag with ACL_EVENT_SYNC alone.
void exchange_external(Simulator &sim, Lock &lock, Event &event, ContextStream *named, ExternalEvent::Use use)
    REQUIRES(engine_lock) {
    if (event.mode != Event::Mode::New || event.flags != ACL_EVENT_SYNC) {
        refuse_event_kind("this kind of");
    }
    associate(use == ExternalEvent::Use::Record ? event.record_flag : event.wait_flag, ACL_EVENT_RECORD_EXTERNAL);
    Capture *const capture = named == nullptr ? nullptr : capture_of(*named);
    if (capture == nullptr) {
        fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
             "the stream of an external event is not being captured; call aclmdlRICaptureBegin first");
    }
    require_software_queues();
    require_root(*capture->graph);
    capture->exchange(lock, require_own(sim, *named), event, use);
}

// Rejects events that a model cannot record. A model repeats its records and waits, so the event must keep its bit (K2)
// or have none (K4).
ContextStream &require_recordable(const Event &event, ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.is_bound() && (event.is_default() || event.is_ipc() || event.mode == Event::Mode::New)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "stream %u is bound to a model; use an event of aclrtCreateEventWithFlag with ACL_EVENT_SYNC",
                          stream.id);
    }
    return stream;
}

// Rejects events that a capturing stream does not accept. Among the accepted ones, only events of the new mode become
// edges of the graph; an external event keeps its bit, and its tasks are like any others (graphs_kernels.md section
// B2).
void require_capturable(const Event &event) {
    if (!event.is_external() && (event.mode != Event::Mode::New || event.is_ipc())) {
        refuse_event_kind("in a capture this kind of");
    }
}

void record_captured(Simulator &sim, Lock &lock, ContextStream &stream, Event &event) REQUIRES(engine_lock) {
    const Ref<TaskRedirect> redirect = stream.redirect();
    require_capturable(event);
    if (event.is_external()) {
        event.record(sim.core, lock, redirect->take(stream, /*is_kernel=*/false));
    } else if (Capture *capture = redirect->as_capture(); capture == nullptr) {
        redirect->take(stream, /*is_kernel=*/false);  // throws: updates accept only kernels
    } else if (event.can_be_waited_for()) {
        capture->record(lock, stream, event);
    }
}

bool can_record_in_shard(Handle<Event> event, Handle<ContextStream> stream) REQUIRES(engine_lock) {
    return have_one_shard(event, stream) && stream_in_shard(stream) != nullptr && event_in_shard(event) != nullptr;
}

// Template on the function, so that the compiler can resolve the many decisions of a record that depend on it.
template <Function kFunction>
aclError record(aclrtEvent event, aclrtStream stream, std::uint32_t flag) {
    const Handle<Event> recorded(event);
    const Handle<ContextStream> in(stream);
    const auto stays = [&](Simulator &) REQUIRES(engine_lock) { return can_record_in_shard(recorded, in); };
    return shard_entry(kFunction, stream, stays, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (flag > ACL_EVENT_RECORD_EXTERNAL) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no record flag %u", flag);
        }
        require(event, "event");
        require_supported(kFunction);
        Event &found = require_event(sim, recorded);
        ContextStream *const named = find_named_stream(sim, in);
        refuse_device_only(found);
        if (flag == ACL_EVENT_RECORD_EXTERNAL) {
            exchange_external(sim, lock, found, named, ExternalEvent::Use::Record);
            return;
        }
        associate(found.record_flag, flag);
        ContextStream &on = require_own(sim, named);
        if (on.is_redirected) {
            record_captured(sim, lock, on, found);
        } else {
            found.record(sim.core, lock, require_recordable(found, on));
        }
    });
}

void wait_in_capture(Simulator &sim, Lock &lock, ContextStream &stream, Event &event, std::uint32_t timeout_s)
    REQUIRES(engine_lock) {
    const Ref<TaskRedirect> redirect = stream.redirect();
    require_capturable(event);
    Capture *const capture = redirect->as_capture();
    if (event.is_external()) {
        event.wait(sim.core, lock, redirect->take(stream, /*is_kernel=*/false), timeout_s);
    } else if (capture == nullptr) {
        redirect->take(stream, /*is_kernel=*/false);  // throws: updates accept only kernels
    } else if (event.captured() == nullptr) {
        if (event.was_recorded()) {
            fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY, "the event was recorded outside the capture of graph %u",
                 capture->graph->id);
        }
    } else if (&event.captured()->capture != capture) {
        capture->invalidate();
        event.captured()->capture.invalidate();
        fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "the event was recorded in the capture of graph %u, not of graph %u",
             event.captured()->capture.graph->id, capture->graph->id);
    } else {
        capture->wait(lock, stream, event, timeout_s);
    }
}

// Adds the stream to the capture of the event.
void join_capture(Lock &lock, ContextStream &stream, Event &event, std::uint32_t timeout_s) REQUIRES(engine_lock) {
    Capture &capture = event.captured()->capture;
    if (&stream == context_of(stream).default_stream.get()) {
        fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "the default stream cannot take part in the capture of graph %u",
             capture.graph->id);
    }
    require_capturable_flags(stream);
    if (&context_of(stream) != &capture.graph->context) {
        fail(ACL_ERROR_RT_STREAM_CONTEXT, "stream %u belongs to %s, but graph %u, which the event is of, to %s",
             stream.id, text_of(context_of(stream)).c_str(), capture.graph->id,
             text_of(capture.graph->context).c_str());
    }
    capture.add(stream);
    capture.wait(lock, stream, event, timeout_s);
}

// Inlined by force because the call is so short and used by three entry points.
[[gnu::always_inline]] inline void wait(Simulator &sim, Lock &lock, Handle<ContextStream> stream, Event &event,
                                        std::uint32_t timeout_s) REQUIRES(engine_lock) {
    ContextStream *const named = find_named_stream(sim, stream);
    refuse_device_only(event);
    if (!event.can_be_waited_for()) {
        refuse_event_kind("an unsynchronized");
    }
    associate(event.wait_flag, ACL_EVENT_WAIT_DEFAULT);
    ContextStream &own = require_own(sim, named);
    if (own.is_redirected) {
        wait_in_capture(sim, lock, own, event, timeout_s);
        return;
    }
    ContextStream &on = require_recordable(event, own);
    if (event.captured() != nullptr) {
        join_capture(lock, on, event, timeout_s);
        return;
    }
    if (event.is_default() && !event.was_recorded()) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "event %p was never recorded; call aclrtRecordEvent first", event.handle());
    }
    event.wait(sim.core, lock, on, timeout_s);
}

// Checks that the wait stays in one shard. Waits with a time limit need the timer, which all devices share.
// The order of calls concerns all devices.
bool can_wait_in_shard(Simulator &sim, Handle<ContextStream> stream, Handle<Event> event, std::uint32_t timeout_s)
    REQUIRES(engine_lock) {
    const Stream *const waiting = have_one_shard(event, stream) ? stream_in_shard(stream) : nullptr;
    const Event *const awaited = waiting == nullptr ? nullptr : event.find();
    if (awaited == nullptr || awaited->captured() != nullptr) {
        return false;
    }
    return awaited->is_satisfied_for(*waiting) ||
           (timeout_s == 0 && awaited->stays_in_shard() && sim.core.call_order().is_empty());
}

std::uint32_t limit_of(const Simulator &sim, std::uint32_t timeout_s) {
    return timeout_s == Simulator::kUseOpWaitTimeout ? sim.op_wait_timeout_s : timeout_s;
}

// Entry point that makes a stream wait for an event.
template <class Body>
[[gnu::always_inline]] inline aclError wait_entry(Function function, Handle<ContextStream> stream, Handle<Event> event,
                                                  std::uint32_t timeout_s, Body body) {
    const auto stays = [&](Simulator &sim) REQUIRES(engine_lock) {
        return can_wait_in_shard(sim, stream, event, limit_of(sim, timeout_s));
    };
    return shard_entry(function, stream.value(), stays, body);
}

}  // namespace

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return record<Function::aclrtRecordEvent>(event, stream, ACL_EVENT_RECORD_DEFAULT);
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
    return record<Function::aclrtRecordEventWithFlag>(event, stream, flag);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return entry(Function::aclrtResetEvent, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        Event &found = require_event(sim, event);
        ContextStream *const named = find_named_stream(sim, stream);
        refuse_device_only(found);
        if (!found.can_be_waited_for() || found.is_ipc() || found.mode == Event::Mode::New) {
            refuse_event_kind("an unsynchronized, IPC or Ex");
        }
        if (found.is_default() && config().product->has(kIgnoresDefaultReset)) {
            require_context(sim);
            return;
        }
        ContextStream &on = require_own(sim, named);
        if (on.is_redirected) {
            require_capturable(found);
            found.reset(sim.core, lock, on.redirect()->take(on, /*is_kernel=*/false));
            return;
        }
        found.reset(sim.core, lock, require_recordable(found, on));
    });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    const Handle<ContextStream> on(stream);
    const Handle<Event> awaited(event);
    return wait_entry(Function::aclrtStreamWaitEvent, on, awaited, Simulator::kUseOpWaitTimeout,
                      [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                          wait(sim, lock, on, require_event(sim, awaited), sim.op_wait_timeout_s);
                      });
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
    const Handle<ContextStream> on(stream);
    const Handle<Event> awaited(event);
    return wait_entry(Function::aclrtStreamWaitEventWithTimeout, on, awaited, static_cast<std::uint32_t>(timeout),
                      [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                          if (timeout < 0) {
                              fail_unremembered(ACL_ERROR_RT_PARAM_INVALID, "timeout %d s is negative", timeout);
                          }
                          if (event == nullptr) {
                              fail(ACL_ERROR_RT_PARAM_INVALID,
                                   "event is NULL");  // returns 107000, unlike its siblings (section 1)
                          }
                          wait(sim, lock, on, require_event(sim, awaited), static_cast<uint32_t>(timeout));
                      });
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag) {
    const Handle<ContextStream> on(stream);
    const Handle<Event> awaited(event);
    return wait_entry(Function::aclrtStreamWaitEventWithFlag, on, awaited, timeout,
                      [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                          if (flag > ACL_EVENT_WAIT_EXTERNAL || (flag == ACL_EVENT_WAIT_EXTERNAL && timeout != 0)) {
                              fail_unremembered(ACL_ERROR_INVALID_PARAM, "wait flag %u with timeout %u s", flag,
                                                timeout);
                          }
                          require(event, "event");
                          require_supported();
                          Event &found = require_event(sim, awaited);
                          if (flag == ACL_EVENT_WAIT_EXTERNAL) {
                              ContextStream *const named = find_named_stream(sim, on);
                              exchange_external(sim, lock, found, named, ExternalEvent::Use::Wait);
                              return;
                          }
                          wait(sim, lock, on, found, limit_of(sim, timeout));
                      });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
    return entry(Function::aclrtSetOpWaitTimeout, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (!is_documented_for(current_call()->function, *config().product)) {
            require_context(sim);  // chips without the function check the context before they fail (section 2)
        }
        require_supported();
        sim.op_wait_timeout_s = timeout;
    });
}
