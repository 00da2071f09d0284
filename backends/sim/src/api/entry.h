// What every C entry point does around its own rules.
#pragma once

#include <mutex>
#include <new>
#include <optional>

#include "engine/core.h"
#include "machine/context.h"
#include "support/config.h"
#include "support/error.h"
#include "tasks/event.h"

namespace aclsim {

// In a process forked after the engine was started there are no threads and the lock may be held by nobody.
bool is_forked_child();

// Throws what fault injection wants the call to answer.
void check_faults(const char *function);

// Runs the body of an entry point and turns what it throws into the return code. The engine is not locked.
template <class Body>
aclError checked_entry(const char *function, Body body) {
    begin_call(function);
    try {
        if (is_forked_child()) {
            reject(ACL_ERROR_RT_INTERNAL_ERROR,
                   "the process was forked after the runtime had been used; "
                   "start child processes before, or with exec");
        }
        if (!config().error.empty()) {
            reject(ACL_ERROR_RT_INTERNAL_ERROR, "%s", config().error.c_str());
        }
        if (config().checks_memory) {
            find_call_place();
        }
        if (Faults::concerns_calls() || !config().faults.empty()) {
            check_faults(function);
        }
        body();
        return ACL_SUCCESS;
    } catch (const Failure &failure) {
        if (failure.remembered) {
            remember(failure.code);
        }
        return failure.code;
    } catch (const std::bad_alloc &) {
        return out_of_memory();
    }
}

// The same with the engine locked, also while a snapshot keeps other calls out: for what answers without the runtime
// layer, and for the calls that end that state.
template <class Body>
aclError ungated_entry(const char *function, Body body) {
    return checked_entry(function, [&] {
        Engine &engine = Engine::get();
        Lock lock = engine.acquire();
        {
            std::optional<MemoryCheck::Call> call;
            if (engine.memory_check() != nullptr) {
                call.emplace();
            }
            body(engine, lock);
        }
        if (engine.exceptions().is_pending()) {
            engine.exceptions().deliver(lock);
        }
    });
}

// What nearly every entry point is: the engine is locked, and the process is not held by a snapshot. Argument checks of
// the ACL layer come first in the body: they need the lock no more than it hurts them.
template <class Body>
aclError entry(const char *function, Body body) {
    return ungated_entry(function, [&](Engine &engine, Lock &lock) {
        engine.gate().pass(lock);
        body(engine, lock);
    });
}

// The check of the chip that the runtime layer makes: after the argument checks of the ACL layer, before its own.
inline void require_supported() {
    if (!is_documented_for(current_function(), *config().product)) {
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s does not have this function", config().product->name);
    }
}

// --- handles; all with the engine lock held --------------------------------------------------------------------------

template <class T>
T &require_handle(Engine &engine, void *handle, const char *what) {
    T *object = engine.registry().find<T>(handle);
    if (object == nullptr) {
        fail(ACL_ERROR_RT_INVALID_HANDLE, "%p is no live %s (destroyed, of another type, or never a handle)", handle,
             what);
    }
    return *object;
}

inline Event &require_event(Engine &engine, aclrtEvent event) {
    require(event, "event");
    return require_handle<Event>(engine, event, "event");
}

// A stream that need not belong to the current context; NULL is the current context's default stream.
inline Stream &require_stream(Engine &engine, aclrtStream stream) {
    if (stream == nullptr) {
        return *require_context(engine).default_stream;
    }
    return require_handle<Stream>(engine, stream, "stream");
}

// Most operations demand that the stream belongs to the current context.
inline Stream &require_own(Engine &engine, Stream &stream) {
    const Context &context = require_context(engine);
    if (&stream.context != &context) {
        fail(ACL_ERROR_RT_STREAM_CONTEXT, "stream %u belongs to another context than the calling thread's", stream.id);
    }
    return stream;
}

inline Stream &require_own_stream(Engine &engine, aclrtStream stream) {
    return require_own(engine, require_stream(engine, stream));
}

inline Device &require_device(Engine &engine, std::int64_t user_id) {
    if (user_id < 0 || user_id >= static_cast<std::int64_t>(engine.devices().size())) {
        fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %lld does not exist; there are %zu%s",
             static_cast<long long>(user_id), engine.devices().size(),
             config().visible_is_set ? " by ASCEND_RT_VISIBLE_DEVICES" : "");
    }
    return *engine.devices()[static_cast<std::size_t>(user_id)];
}

// What a synchronous copy or fill needs: a context, on a device that is neither lost nor being aborted.
inline Context &require_working_context(Engine &engine) {
    require_not_aborting(require_current_device(engine));
    return require_context(engine);
}

// The deadline of a timeout in milliseconds; -1 is none.
inline Clock::time_point deadline_of(std::int32_t timeout_ms) {
    return timeout_ms < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace aclsim
