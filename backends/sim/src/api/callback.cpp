// SPDX-License-Identifier: Apache-2.0
// User code in a stream (events_streams_sync.md section 9).
#include "machine/callback.h"

#include <pthread.h>

#include "api/shard_entry.h"

using namespace aclsim;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args) {
    const Handle<ContextStream> named(stream);
    const auto stays = [&](Simulator &) REQUIRES(engine_lock) {
        const ContextStream *const found = stream_in_shard(named);
        return found != nullptr && context_of(*found).host_functions != nullptr;
    };
    return shard_entry(Function::aclrtLaunchHostFunc, stream, stays,
                       [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
                           if (fn == nullptr) {
                               fail(ACL_ERROR_RT_PARAM_INVALID, "fn is NULL");
                           }
                           ContextStream &on = require_stream(sim, named);
                           if (user_stream(on).callback_owner == ContextStream::CallbackOwner::User) {
                               fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                                    "stream %u has a subscribed callback thread; it takes no host functions", on.id);
                           }
                           launch_host_function(sim.machine, lock, require_own(sim, on), fn, args);
                       });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return entry(Function::aclrtSubscribeReport, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        ContextStream &on = require_stream(sim, stream);
        Reports::require_free(on);
        if (config().product->is_stars) {
            require_context(sim);  // the subscription creates an internal event in it
        }
        sim.machine.reports.subscribe(threadId, on);
    });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return entry(Function::aclrtUnSubscribeReport, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.machine.reports.unsubscribe(threadId, require_stream(sim, stream));
    });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
    return entry(Function::aclrtLaunchCallback, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no block type %d", static_cast<int>(blockType));
        }
        if (fn == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "fn is NULL");
        }
        ContextStream &on = require_stream(sim, stream);
        if (user_stream(on).callback_owner == ContextStream::CallbackOwner::Runtime) {
            fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %u takes host functions; it takes no callbacks", on.id);
        }
        sim.machine.reports.launch(lock, require_own(sim, on), fn, userData, blockType == ACL_CALLBACK_BLOCK);
    });
}

aclError aclrtProcessReport(int32_t timeout) {
    return entry(Function::aclrtProcessReport, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        if (timeout == 0 || timeout < -1) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "timeout %d ms is neither -1 nor positive", timeout);
        }
        sim.machine.reports.process(lock, thread_identifier(), deadline_of(sim, timeout));
    });
}
