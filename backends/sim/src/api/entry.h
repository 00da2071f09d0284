// SPDX-License-Identifier: Apache-2.0
// Common frame of all C entry points: environment checks, locking, and return codes.
#pragma once

#include <atomic>
#include <exception>
#include <new>

#include "api/simulator.h"
#include "control/faults.h"
#include "support/config.h"
#include "support/error.h"
#include "support/expect.h"

namespace aclsim {

// Makes calls check the environment. Set for the first call, and kept set if the environment affects calls.
inline std::atomic<bool> g_looks_at_environment{true};

// Throws the failure that the environment or fault injection prescribes for the call.
void check_environment(Function function);

// Records the place of the call in the program, if places of such calls are wanted.
void find_place_of(CurrentCall &call, const void *return_address);

// Runs the body of an entry point without locking the engine. Translates exceptions into return codes: no C++ exception
// leaves the library.
template <class Body>
[[gnu::always_inline]] inline aclError checked_entry(Function function, Body body) {
    CurrentCall call(function);
    if (unlikely(g_wanted_places.load(std::memory_order_relaxed) != WantedPlaces::None)) {
        find_place_of(call, __builtin_return_address(0));
    }
    try {
        if (unlikely(g_looks_at_environment.load(std::memory_order_relaxed) || Faults::concerns_calls())) {
            check_environment(function);
        }
        body();
        return ACL_SUCCESS;
    } catch (const Failure &failure) {
        const aclError code = failure.is_final ? failure.code : answer_of(function, failure.code);
        if (failure.remembered) {
            remember(code);
        }
        return code;
    } catch (const std::bad_alloc &) {
        return out_of_memory();
    } catch (const std::exception &error) {
        return unexpected_exception(error.what());
    }
}

// Work that a call leaves for its end, after success or failure: callbacks for the tasks it made fail, and work that
// must not be done under the lock.
class CallEnd {
  public:
    CallEnd(Simulator &sim, Lock &lock) : sim_(sim), lock_(lock) {}
    ~CallEnd() REQUIRES(engine_lock) {
        if (unlikely(sim_.core.has_deferred())) {
            sim_.core.do_deferred(lock_);
        }
        if (unlikely(sim_.machine.exceptions.has_reports())) {
            const KeptText text;
            sim_.machine.exceptions.deliver_own(lock_);
        }
    }
    CallEnd(const CallEnd &) = delete;
    CallEnd &operator=(const CallEnd &) = delete;

  private:
    Simulator &sim_;
    Lock &lock_;
};

// Runs the body between the beginning and the end of a call.
template <class Body>
[[gnu::always_inline]] inline void ungated_call(Simulator &sim, Lock &lock, Body body) REQUIRES(engine_lock) {
    const CallEnd end(sim, lock);
    const Core::Call call(sim.core);
    body(sim, lock);
}

// Runs the same after waiting until no snapshot holds the process.
template <class Body>
[[gnu::always_inline]] inline void gated_call(Simulator &sim, Lock &lock, Body body) REQUIRES(engine_lock) {
    ungated_call(sim, lock, [&](Simulator &, Lock &) REQUIRES(engine_lock) {
        sim.machine.snapshot_gate.pass(lock);
        body(sim, lock);
    });
}

// Entry point that locks the engine even while a snapshot keeps other calls out. Used by functions that answer without
// the runtime layer, and by calls that end the snapshot state.
template <class Body>
[[gnu::always_inline]] inline aclError ungated_entry(Function function, Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        Lock lock = sim.core.acquire();
        ungated_call(sim, lock, body);
    });
}

// Form of nearly all entry points. Argument checks of the ACL layer come first in the body; they are so short that
// running them under the lock does not matter.
template <class Body>
[[gnu::always_inline]] inline aclError entry(Function function, Body body) {
    return checked_entry(function, [&] {
        Simulator &sim = Simulator::get();
        Lock lock = sim.core.acquire();
        gated_call(sim, lock, body);
    });
}

// Checks that the chip has the function. The runtime layer checks this after the argument checks of the ACL layer and
// before its own.
inline void require_supported(Function function) {
    if (!is_documented_for(function, *config().product)) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s does not have this function", config().product->name);
    }
}
inline void require_supported() { require_supported(current_call()->function); }

// --- handles; all functions require the engine lock ------------------------------------------------------------------

// Fails a call that names no live object of that kind.
[[noreturn]] void fail_of_handle(const void *handle, Kind kind, const char *what) REQUIRES(engine_lock);

template <class T>
T &require_found(T *object, const void *handle, const char *what) REQUIRES(engine_lock) {
    if (object == nullptr) {
        fail_of_handle(handle, T::kKind, what);
    }
    return *object;
}

// Rejects NULL and a pointer that is not such an object as an invalid argument, for functions that the ACL layer
// answers: the runtime follows any pointer.
template <class T>
T &require_object(Simulator &sim, const void *handle, const char *name) REQUIRES(engine_lock) {
    require(handle, name);
    T *const found = sim.core.registry().find<T>(const_cast<void *>(handle));
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%s, %p, is not alive or of another type", name, handle);
    }
    return *found;
}

template <class T>
T &require_handle(Simulator &sim, void *handle, const char *what) REQUIRES(engine_lock) {
    return require_found(sim.core.registry().find<T>(handle), handle, what);
}

template <class T>
T &require_handle(Simulator &, Handle<T> handle, const char *what) REQUIRES(engine_lock) {
    return require_found(handle.find(), handle.value(), what);
}

inline Context &require_context(Simulator &sim) REQUIRES(engine_lock) { return require_context(sim.machine); }
inline Context *current_context(Simulator &sim) REQUIRES(engine_lock) { return current_context(sim.machine); }
inline Device &require_device(Simulator &sim, std::int64_t user_id) REQUIRES(engine_lock) {
    return require_device(sim.machine, user_id);
}
inline Device &require_current_device(Simulator &sim) REQUIRES(engine_lock) {
    return require_current_device(sim.machine);
}

// Returns the stream on which the current call works if it names a stream whose tasks are redirected; see the table in
// task_redirect.cpp.
ContextStream &redirect(ContextStream &stream) REQUIRES(engine_lock);

// Finds a stream, which may belong to any context. NULL means the default stream of the current context.
inline ContextStream &require_stream(Simulator &sim, Handle<ContextStream> stream) REQUIRES(engine_lock) {
    if (stream.value() == nullptr) {
        return *require_context(sim).default_stream;
    }
    ContextStream &found = require_handle(sim, stream, "stream");
    return found.is_redirected ? redirect(found) : found;
}

// Checks that the stream belongs to the current context, as most operations demand.
inline ContextStream &require_own(Simulator &sim, ContextStream &stream) REQUIRES(engine_lock) {
    if (context_of(stream).handle() == thread_context().current()) {
        return stream;  // live streams have live contexts
    }
    const Context &context = require_context(sim);
    if (&context_of(stream) != &context) {
        fail_of_other_context(stream, &context);
    }
    return stream;
}

inline ContextStream &require_own_stream(Simulator &sim, Handle<ContextStream> stream) REQUIRES(engine_lock) {
    return require_own(sim, require_stream(sim, stream));
}

// Checks the requirements of a synchronous copy or fill: a context, on a device that is neither lost nor being aborted.
inline Context &require_working_context(Simulator &sim) REQUIRES(engine_lock) {
    require_not_aborting(require_current_device(sim));
    return require_context(sim);
}

// Limits for the execution time of an operator, set by the chip and by the program: 1 to 254 intervals.
inline std::uint64_t longest_execution_us() { return 254 * config().product->timeout_interval_us; }
inline std::uint64_t execution_limit_us(const Simulator &sim) {
    return sim.op_execute_timeout_us == 0 ? longest_execution_us() : sim.op_execute_timeout_us;
}

// Converts a timeout in milliseconds to a deadline; -1 means none.
inline Time deadline_of(Simulator &sim, std::int32_t timeout_ms) {
    return timeout_ms < 0 ? kNever : sim.clock.now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace aclsim
