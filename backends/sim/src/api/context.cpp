// SPDX-License-Identifier: Apache-2.0
// Contexts (device_context_init_errors.md section 6).
#include "api/entry.h"
#include "control/strict.h"

using namespace aclsim;

namespace {

// Returns true if the context has left the registry while the thread that destroys it still waits for its work.
bool is_being_destroyed(Simulator &sim, aclrtContext handle) REQUIRES(engine_lock) {
    for (const auto &device : sim.machine.devices) {
        for (const Context *context : device->contexts) {
            if (context->handle() == handle && !context->is_primary) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    return entry(Function::aclrtCreateContext, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(context, "context");
        Device &device = require_device(sim, deviceId);
        require_not_lost(device);
        const auto created = create_context(sim.machine, device, /*primary=*/false);
        *context = created->handle();
        thread_context() = {created->handle(), nullptr};
        report_stream_state(sim.machine.state_callbacks, lock, created->default_stream->handle(),
                            ACL_RT_STREAM_STATE_CREATE_POST);
    });
}

aclError aclrtDestroyContext(aclrtContext context) {
    return entry(Function::aclrtDestroyContext, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(context, "context");
        auto found = Ref<Context>(sim.core.registry().find<Context>(context));
        if (!found && is_being_destroyed(sim, context)) {
            fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "another thread is destroying the context %p", context);
        }
        if (!found) {
            sim.strict.refuse(context, Kind::Context, "context");
        }
        if (!found || found->is_primary) {
            fail(ACL_ERROR_RT_CONTEXT_NULL, "%p is not a live explicit context", context);
        }
        require_not_tearing_down(*found);
        require_not_down(sim.machine, lock, found->device);
        destroy_context(sim.machine, lock, std::move(found), /*force=*/false);
    });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    return entry(Function::aclrtSetCurrentContext, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(context, "context");
        if (sim.core.registry().find<Context>(context) == nullptr) {
            sim.strict.refuse(context, Kind::Context, "context");
            fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not a live context", context);
        }
        thread_context().explicit_context = context;
    });
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
    return entry(Function::aclrtGetCurrentContext, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(context, "context");
        const Context *current = current_context(sim);
        if (current == nullptr) {
            fail_unremembered(ACL_ERROR_RT_CONTEXT_NULL,
                              "the calling thread has no current context; call aclrtSetDevice in it");
        }
        *context = current->handle();
    });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream) {
    return entry(Function::aclrtCtxGetCurrentDefaultStream, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        *stream = require_context(sim).default_stream->handle();
    });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active) {
    return entry(Function::aclrtGetPrimaryCtxState, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(active, "active");
        if (flags != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "flags must be NULL");
        }
        *active = require_device(sim, deviceId).set_count > 0 ? 1 : 0;
    });
}
