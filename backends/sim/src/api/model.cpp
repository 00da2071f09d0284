// SPDX-License-Identifier: Apache-2.0
// Construction of models; execution and destruction of models and captured graphs (graphs_kernels.md sections B4 and
// B5).
#include "api/model.h"

#include <cstring>

#include "tasks/model.h"

using namespace aclsim;

namespace {

// ACL_MODEL_STREAM_FLAG_HEAD and _DEFAULT: the stream starts with the model, or when it is activated.
constexpr std::uint32_t kHead = 0;
constexpr std::uint32_t kActivated = 0x7FFFFFFF;
constexpr std::chrono::seconds kLongestDestroy(10);  // longest wait for a model that executes

// Rejects captured graphs.
Model &require_built(Model &model) {
    if (model.as_graph() != nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "graph %u was captured; the call is for models that are built", model.id);
    }
    return model;
}

// Checks the handle. NULL is the default stream, which belongs to no model.
void require_stream_handle(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    if (stream != nullptr) {
        require_handle<ContextStream>(sim, stream, "stream");
    }
}

void require_executable(const Model &model) REQUIRES(engine_lock) {
    if (!model.is_executable()) {
        fail(ACL_ERROR_RT_MODEL_EXECUTE, "model %u cannot be executed before aclmdlRIEndTask and aclmdlRIBuildEnd",
             model.id);
    }
}

void require_not_capturing(Model &model) REQUIRES(engine_lock) {
    const Graph *graph = model.as_graph();
    if (graph != nullptr && graph->capture != nullptr) {
        fail(ACL_ERROR_RT_MODEL_CAPTURED, "graph %u is still being captured", graph->id);
    }
}

// Rejects streams from which the model cannot be launched. A persistent stream keeps the launch of a captured graph,
// and also that of a built model where the host code does not check (section B5 [obs]); in the simulator, such a model
// would wait forever for its execution.
void require_launchable_from(const ContextStream &stream, Model &model) REQUIRES(engine_lock) {
    const bool takes_persistent = model.as_graph() != nullptr && !config().product->has(kLaunchesFromPlainStreams);
    if (stream.keeper != nullptr || (!stream.executes_tasks && !takes_persistent)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u is persistent or bound to a model; use another", stream.id);
    }
}

// Returns false for a graph without software queues: its destruction does not wait and ends its executions (section B5
// [obs*]).
bool waits_for_execution(Model &model) { return model.as_graph() == nullptr || config().has_software_queues; }

void require_not_busy(const Model &model) REQUIRES(engine_lock) {
    if (model.is_busy()) {
        fail(ACL_ERROR_RT_MODEL_RUNNING, "model %u executes, or is to be executed by a stream", model.id);
    }
}

}  // namespace

aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag) {
    return entry(Function::aclmdlRIBuildBegin, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        if (flag != 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "flag must be 0");
        }
        require_current_device(sim);
        *modelRI = sim.models.create(require_context(sim))->handle();
    });
}

aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream, uint32_t flag) {
    return entry(Function::aclmdlRIBindStream, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        await_stream_list(sim.machine, lock);
        Model &model = require_model(sim, modelRI);
        require_stream_handle(sim, stream);
        if (flag != kHead && flag != kActivated) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no bind flag %#x", flag);
        }
        if (stream == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL; the default stream belongs to no model");
        }
        ContextStream &bound = require_handle<ContextStream>(sim, stream, "stream");
        if (bound.executes_tasks) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "stream %u was not created with ACL_STREAM_PERSISTENT", bound.id);
        }
        if (bound.keeper != nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to model %u", bound.id, model_of(bound)->id);
        }
        require_built(model);
        if (bound.is_redirected) {
            bound.redirect()->require_usable(bound);
        }
        if (bound.stops_on_failure || bound.aborting > 0 || (bound.flags & ACL_STREAM_FAST_LAUNCH) != 0) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                              "stream %u stops on failure, is being aborted, or launches fast", bound.id);
        }
        require_own(sim, bound);
        require_own(sim, model).bind(bound, flag == kHead);
    });
}

aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream) {
    return entry(Function::aclmdlRIEndTask, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        Model &model = require_built(require_model(sim, modelRI));
        const ContextStream &on = require_own_stream(sim, stream);
        require_own(sim, model).end_task(on);
    });
}

aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve) {
    return entry(Function::aclmdlRIBuildEnd, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        if (reserve != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "reserve must be NULL");
        }
        require_own(sim, require_built(require_model(sim, modelRI))).build(lock);
    });
}

aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream) {
    return entry(Function::aclmdlRIUnbindStream, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        await_stream_list(sim.machine, lock);
        Model &model = require_built(require_model(sim, modelRI));
        ContextStream &bound = require_own_stream(sim, stream);
        require_own(sim, model);
        if (model_of(bound) != &model) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is not bound to model %u", bound.id, model.id);
        }
        require_not_busy(model);
        model.unbind(bound);
    });
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
    return entry(Function::aclmdlRIExecute, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        Model &model = require_model(sim, modelRI);
        if (timeout == 0 || timeout < -1) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is neither -1 nor positive", timeout);
        }
        require_executable(require_built(model));
        const Ref<Context> context(require_own(sim, model).context);  // other threads may destroy it during the wait
        require_not_aborting(*context->default_stream);
        require_healthy(*context);
        const std::uint32_t id = model.id;
        const aclError failure = model.execute(lock, deadline_of(sim, timeout));
        if (failure != ACL_SUCCESS) {
            fail(failure, "model %u was not done within %d ms, was aborted or destroyed, or a task of it failed", id,
                 timeout);
        }
    });
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    return entry(Function::aclmdlRIExecuteAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require_supported();
        Model &model = require_model(sim, modelRI);
        ContextStream &on = require_stream(sim, stream);
        require_launchable_from(on, model);
        require_root(model);
        require_not_capturing(model);
        require_executable(model);
        require_own(sim, model).launch(lock, require_own(sim, on));
    });
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    return entry(Function::aclmdlRIDestroy, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        await_stream_list(sim.machine, lock);
        require_not_capturing(require_root(require_model(sim, modelRI)));
        const Ref<Model> model(require_own_model(sim, modelRI));
        if (waits_for_execution(*model)) {
            model->wait_until_idle(lock, sim.clock.now() + kLongestDestroy);
            require_not_busy(require_model(sim, modelRI));  // recheck: another thread may have destroyed it
        }
        sim.models.destroy(lock, *model);
    });
}

aclError aclmdlRIAbort(aclmdlRI modelRI) {
    return entry(Function::aclmdlRIAbort, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (modelRI == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "modelRI is NULL");
        }
        require_root(require_model(sim, modelRI));
        Model &model = require_own_model(sim, modelRI);
        if (model.as_graph() == nullptr) {  // does nothing for a graph
            model.stop(ACL_ERROR_RT_MODEL_ABORT_NORMAL);
            sim.core.pump();
        }
    });
}

aclError aclmdlRISetName(aclmdlRI modelRI, const char *name) {
    return entry(Function::aclmdlRISetName, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require(name, "name");
        require_own_model(sim, modelRI).name = name;
    });
}

aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name) {
    return entry(Function::aclmdlRIGetName, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require(name, "name");
        const Model &model = require_model(sim, modelRI);
        if (maxLen == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "maxLen is 0");
        }
        const std::string &found = require_own_model(sim, modelRI).name;
        if (maxLen <= found.size()) {
            fail(ACL_ERROR_RT_INTERNAL_ERROR, "the name of model %u needs %zu bytes, and there are %u", model.id,
                 found.size() + 1, maxLen);
        }
        std::memcpy(name, found.c_str(), found.size() + 1);
    });
}

aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId) {
    return entry(Function::aclmdlRIGetId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require(modelRIId, "modelRIId");
        require_supported();
        *modelRIId = require_model(sim, modelRI).id;
    });
}
