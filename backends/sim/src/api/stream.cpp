// SPDX-License-Identifier: Apache-2.0
// Streams (events_streams_sync.md section 3).
#include <algorithm>
#include <utility>

#include "api/op_info.h"
#include "api/shard_entry.h"
#include "control/stall.h"
#include "memory/memory.h"
#include "tasks/capture.h"
#include "tasks/model.h"

using namespace aclsim;

namespace {

constexpr std::uint32_t kKnownFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                                      ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

void require_creatable(std::uint32_t flags) {
    const Product &product = *config().product;
    if ((flags & ACL_STREAM_HUGE) != 0 && product.has(kRefusesHugeStreams)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no ACL_STREAM_HUGE", product.name);
    }
    if ((flags & ACL_STREAM_DEVICE_USE_ONLY) != 0 && !product.has(kHasDeviceOnlyObjects)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no ACL_STREAM_DEVICE_USE_ONLY", product.name);
    }
}

aclError create(Function function, aclrtStream *stream, std::uint32_t priority, std::uint32_t flag) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        const std::uint32_t flags = flag & kKnownFlags;  // drop unknown bits silently
        if ((flags & ACL_STREAM_DEVICE_USE_ONLY) != 0 && flags != ACL_STREAM_DEVICE_USE_ONLY) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "ACL_STREAM_DEVICE_USE_ONLY cannot be combined with other flags (%#x)",
                 flag);
        }
        const auto level = std::clamp(static_cast<std::int32_t>(priority), 0, static_cast<int>(kPriorities) - 1);
        require_creatable(flags);
        await_stream_list(sim.machine, lock);
        Context &context = require_context(sim);
        *stream = create_stream(sim.machine, context, flags, static_cast<std::uint32_t>(level))->handle();
        report_stream_state(sim.machine.state_callbacks, lock, *stream, ACL_RT_STREAM_STATE_CREATE_POST);
    });
}

aclError destroy(Function function, aclrtStream stream, bool force) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        await_stream_list(sim.machine, lock);
        ContextStream &found = require_own_stream(sim, stream);
        if (&found == context_of(found).default_stream.get()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream is destroyed with its context only");
        }
        if (found.destroyer != std::thread::id()) {
            fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %u is being destroyed already", found.id);
        }
        if (found.keeper != nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to model %u; unbind it, or destroy the model", found.id,
                 model_of(found)->id);
        }
        require_not_down(sim.machine, lock, device_of(found));
        destroy_stream(sim.machine, lock, Ref<ContextStream>(found), force);
    });
}

void synchronize_stream(Simulator &sim, Lock &lock, Handle<ContextStream> stream, std::int32_t timeout_ms)
    REQUIRES(engine_lock) {
    const Ref<ContextStream> found(require_stream(sim, stream));
    if (found->is_always_complete()) {
        return;
    }
    require_context(sim);                            // any context: the call switches to the stream's own (section 3)
    const Ref<Context> context(context_of(*found));  // other threads may destroy it during the wait
    require_not_aborting(*found);
    require_healthy(*context);
    switch (sim.core.wait_for(lock, found, found->submitted, deadline_of(sim, timeout_ms))) {
        case Core::Waited::TimedOut:
            fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u was not done within %d ms", found->id, timeout_ms);
        case Core::Waited::Aborted:
            fail_aborted(*found);
        case Core::Waited::Stopped:
            require_healthy(*context);
            break;
        case Core::Waited::Done:
            break;
    }
    if (!sim.memory.pools.empty()) {
        sim.core.upgrade_to_global(lock);  // synchronization returns memory of pools, which belong to no shard
    }
    note_synchronized(sim.machine, context->device);
    raise_stream_failure(*found);
}

// Entry point that waits for a stream or queries it.
template <class Body>
[[gnu::always_inline]] inline aclError stream_completion_entry(Function function, Handle<ContextStream> stream,
                                                               Body body) {
    const auto stays = [&](Simulator &) REQUIRES(engine_lock) { return stream_in_shard(stream) != nullptr; };
    return shard_entry(function, stream.value(), stays, body);
}

// Sets the failure mode of one stream; STOP changes its whole context.
void set_failure_mode(ContextStream &stream, std::uint64_t mode) REQUIRES(engine_lock) {
    const bool stop = (mode & 1) == ACL_STOP_ON_FAILURE;  // bit 0 alone counts (section 3)
    if (stream.stops_on_failure && context_of(stream).failure != ACL_SUCCESS) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "stream %u has stopped on a failure", stream.id);
    }
    if (stop == stream.stops_on_failure) {
        return;
    }
    if (!stop || (stream.flags & ACL_STREAM_DEVICE_USE_ONLY) != 0 || stream.keeper != nullptr) {
        fail_unremembered(
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            "stream %u cannot go back from STOP to CONTINUE, is for the device alone, or bound to a model", stream.id);
    }
    stream.stops_on_failure = context_of(stream).stops_on_failure = true;
}

// Finds the stream of a control call. NULL means the default stream only if the chip has a control queue (section 1,
// NULL stream).
ContextStream &require_control_stream(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    if (stream == nullptr && !config().product->has_control_queue) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL, and %s takes no default stream here", config().product->name);
    }
    return require_own_stream(sim, stream);
}

// Checks for an overflow switch per stream. Without it, setting the switch has no effect; without a hardware scheduler,
// the switch is always on.
bool has_overflow_switch() { return is_documented_for(Function::aclrtSetStreamOverflowSwitch, *config().product); }

void set_overflow_switch(ContextStream &stream, std::uint32_t value) REQUIRES(engine_lock) {
    if (has_overflow_switch()) {
        stream.overflow_switch = value;
    }
}

std::uint32_t overflow_switch(const ContextStream &stream) REQUIRES(engine_lock) {
    return config().product->is_stars ? stream.overflow_switch : 1;
}

void set_custom_tag(ContextStream &stream, std::uint32_t tag) REQUIRES(engine_lock) {
    if (config().product->has_control_queue) {  // other chips ignore the tag
        stream.custom_tag = tag;
    }
}

// Rejects a stream of a model, because the execution of a model can only be stopped as a whole.
ContextStream &require_unbound(ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.keeper != nullptr) {
        fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is bound to model %u; see aclmdlRIAbort", stream.id,
             model_of(stream)->id);
    }
    return stream;
}

// Rejects streams whose priority cannot be an attribute: the attribute is a message to the device about a stream
// created by the user.
ContextStream &require_prioritized(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    if (stream == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL: the default stream's priority is fixed");
    }
    ContextStream &found = require_handle<ContextStream>(sim, stream, "stream");
    if ((found.flags & ACL_STREAM_CPU_SCHEDULE) != 0) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "stream %u is scheduled by the AI CPU and has no priority",
                          found.id);
    }
    return found;
}

// Rejects captured streams, for attributes that cannot change during a capture.
ContextStream &require_uncaptured(ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.is_redirected) {
        stream.redirect()->require_usable(stream);
    }
    return stream;
}

// Requests operator information from the next capture that begins in the stream. During a capture, the setting of the
// origin stream applies to all streams of the capture (graphs_kernels.md part C).
void set_cache_op_info(ContextStream &stream, std::uint32_t value) REQUIRES(engine_lock) {
    stream.wants_op_info = value;
    const Capture *capture = capture_of(stream);
    if (capture != nullptr && &capture->origin() == &stream) {
        capture->graph->caches_op_info = value == 1;
    }
}

[[noreturn]] void unknown_attribute(aclrtStreamAttr attribute) {
    fail(ACL_ERROR_RT_PARAM_INVALID, "there is no stream attribute %d", static_cast<int>(attribute));
}

void require_switch(std::uint32_t value) {
    if (value > 1) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%u is neither 0 nor 1", value);
    }
}

}  // namespace

aclError aclrtCreateStream(aclrtStream *stream) { return create(Function::aclrtCreateStream, stream, 0, 0); }

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
    return create(Function::aclrtCreateStreamWithConfig, stream, priority, flag);
}

aclError aclrtDestroyStream(aclrtStream stream) { return destroy(Function::aclrtDestroyStream, stream, false); }

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return destroy(Function::aclrtDestroyStreamForce, stream, true);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    const Handle<ContextStream> named(stream);
    return stream_completion_entry(Function::aclrtSynchronizeStream, named,
                                   [&](Simulator &sim, Lock &lock)
                                       REQUIRES(engine_lock) { synchronize_stream(sim, lock, named, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    const Handle<ContextStream> named(stream);
    const auto body = [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (timeout < -1) {
            fail_unremembered(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is below -1", timeout);
        }
        if (timeout == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "timeout 0 ms would never wait; use aclrtStreamQuery");
        }
        synchronize_stream(sim, lock, named, timeout);
    };
    return stream_completion_entry(Function::aclrtSynchronizeStreamWithTimeout, named, body);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    const Handle<ContextStream> named(stream);
    return stream_completion_entry(
        Function::aclrtStreamQuery, named, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
            require(status, "status");
            const ContextStream &found = require_stream(sim, named);
            require_context(sim);
            require_healthy(context_of(found));
            const bool is_complete =
                found.is_complete() && !(sim.core.has_open_reports() && sim.core.is_reporting(found));
            *status = is_complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
            if (!is_complete) {
                sim.core.note_polled(found.newest());
            } else if (!found.is_always_complete()) {
                sim.core.note_queried(found.newest());
            }
        });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId) {
    return entry(Function::aclrtStreamGetId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(streamId, "streamId");
        *streamId = static_cast<int32_t>(require_stream(sim, stream).id);
    });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority) {
    return entry(Function::aclrtStreamGetPriority, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(priority, "priority");
        const ContextStream &found = require_stream(sim, stream);
        require_context(sim);
        *priority = found.priority;
    });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags) {
    return entry(Function::aclrtStreamGetFlags, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(flags, "flags");
        const ContextStream &found = require_stream(sim, stream);
        require_context(sim);
        *flags = found.flags;
    });
}

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount) {
    return entry(Function::aclrtGetStreamAvailableNum, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(streamCount, "streamCount");
        *streamCount = require_current_device(sim).available_streams();
    });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    return entry(Function::aclrtSetStreamFailureMode, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        set_failure_mode(require_control_stream(sim, stream), mode);
    });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
    return entry(Function::aclrtSetStreamOverflowSwitch, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (flag > 1) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "flag %u is neither 0 nor 1", flag);
        }
        set_overflow_switch(require_own_stream(sim, stream), flag);
    });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag) {
    return entry(Function::aclrtGetStreamOverflowSwitch, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(flag, "flag");
        *flag = overflow_switch(require_own_stream(sim, stream));
    });
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
    return entry(Function::aclrtSetStreamAttribute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        switch (stmAttrType) {
            case ACL_STREAM_ATTR_FAILURE_MODE:
                set_failure_mode(require_control_stream(sim, stream), value->failureMode);
                break;
            case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
                require_switch(value->overflowSwitch);
                set_overflow_switch(require_uncaptured(require_own_stream(sim, stream)), value->overflowSwitch);
                break;
            case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
                set_custom_tag(require_uncaptured(require_own_stream(sim, stream)), value->userCustomTag);
                break;
            case ACL_STREAM_ATTR_CACHE_OP_INFO:  // stream of any context (graphs_kernels.md)
                require_switch(value->cacheOpInfoSwitch);
                set_cache_op_info(require_stream(sim, stream), value->cacheOpInfoSwitch);
                break;
            case ACL_STREAM_ATTR_PRIORITY:
                // Treat the priority as a hint to the device: Get does not return it, and the order of creation stays
                // in force.
                require_prioritized(sim, stream);
                break;
            default:
                unknown_attribute(stmAttrType);
        }
    });
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
    return entry(Function::aclrtGetStreamAttribute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        switch (stmAttrType) {
            case ACL_STREAM_ATTR_FAILURE_MODE:
                value->failureMode = require_own_stream(sim, stream).stops_on_failure ? 1 : 0;
                break;
            case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
                value->overflowSwitch = overflow_switch(require_own_stream(sim, stream));
                break;
            case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
                value->userCustomTag = require_own_stream(sim, stream).custom_tag;
                break;
            case ACL_STREAM_ATTR_CACHE_OP_INFO:
                value->cacheOpInfoSwitch = caches_op_info(require_stream(sim, stream)) ? 1 : 0;
                break;
            case ACL_STREAM_ATTR_PRIORITY:
                require_own(sim, require_prioritized(sim, stream));
                value->streamPriority = 0;  // constant, regardless of the value set (section 3 [obs*])
                break;
            default:
                unknown_attribute(stmAttrType);
        }
    });
}

aclError aclrtStreamAbort(aclrtStream stream) {
    constexpr std::chrono::seconds kLongest(60);
    return entry(Function::aclrtStreamAbort, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_supported();
        const Ref<ContextStream> found(require_unbound(require_own_stream(sim, stream)));
        if (device_of(*found).aborting) {
            return;  // tasks are dropped already
        }
        if (!sim.core.drop_tasks(lock, *found, ACL_ERROR_RT_STREAM_ABORT, sim.clock.now() + kLongest)) {
            fail(ACL_ERROR_RT_WAIT_TIMEOUT, "the task that runs on stream %u did not end", found->id);
        }
    });
}

aclError aclrtStreamStop(aclrtStream stream) {
    return entry(Function::aclrtStreamStop, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (stream == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL");
        }
        require_supported();
        // Wait for the end of the running task to stop it, even if a failure has stopped the context. The queue is
        // kept.
        const Ref<ContextStream> found(require_unbound(require_own_stream(sim, stream)));
        const bool is_running = found->state == Stream::State::Running && found->runner != std::this_thread::get_id();
        const std::uint64_t last = is_running ? found->queue.front()->sequence : 0;
        std::optional<HostWait> wait;
        while (!found->is_done(last)) {
            if (!wait) {
                wait.emplace(sim.core, *found, last, kNever);
            }
            found->wake_when_done(last);
            wait->sleep(lock, found->progress);
        }
    });
}

aclError aclrtPersistentTaskClean(aclrtStream stream) {
    return entry(Function::aclrtPersistentTaskClean, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (stream == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL");
        }
        require_supported();
        const ContextStream &found = require_own_stream(sim, stream);
        const bool is_kept = (found.flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE)) == ACL_STREAM_PERSISTENT;
        if (!is_kept || found.keeper == nullptr || !model_of(found)->is_executable() || model_of(found)->is_busy()) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %u is not a persistent stream of a loaded model that is at rest",
                 found.id);
        }
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "the simulator does not empty the streams of a loaded model");
    });
}

aclError aclrtActiveStream(aclrtStream activeStream, aclrtStream stream) {
    return entry(Function::aclrtActiveStream, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(activeStream, "activeStream");
        require(stream, "stream");
        require_supported();
        const Stream &active = require_handle<ContextStream>(sim, activeStream, "stream");
        ContextStream &on = require_own_stream(sim, stream);
        if (on.keeper == nullptr || active.keeper != on.keeper) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "streams %u and %u are not bound to the same model", active.id, on.id);
        }
        model_of(on)->submit_activation(lock, on, active);
    });
}

aclError aclrtRegStreamStateCallback(const char *regName, aclrtStreamStateCallback callback, void *args) {
    return entry(Function::aclrtRegStreamStateCallback, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(regName, "regName");
        if (!sim.machine.state_callbacks.stream.set(regName, callback, args)) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "a callback is registered as \"%s\" already", regName);
        }
    });
}
