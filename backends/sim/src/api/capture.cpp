// SPDX-License-Identifier: Apache-2.0
// Capturing graphs (graphs_kernels.md section B3). Each function keeps the order of checks given there.
#include "tasks/capture.h"

#include "api/model.h"
#include "tasks/conditional.h"
#include "tasks/model.h"

using namespace aclsim;

namespace {

void require_mode(aclmdlRICaptureMode mode) {
    if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no capture mode %d", static_cast<int>(mode));
    }
}

// Finds the stream itself, regardless of where its tasks go.
ContextStream &require_named_stream(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    return require_handle<ContextStream>(sim, stream, "stream");
}

// Rejects streams of models and default streams.
ContextStream &require_free_stream(ContextStream &stream) REQUIRES(engine_lock) {
    if (stream.keeper != nullptr) {
        fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to model %u", stream.id, model_of(stream)->id);
    }
    if (&stream == context_of(stream).default_stream.get()) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the default stream is not captured; create a stream");
    }
    return stream;
}

// Begins a capture with the checks shared by both entry points. Creates a new graph if graph is nullptr.
void begin(Simulator &sim, aclrtStream stream, aclmdlRICaptureMode mode, Graph *graph) REQUIRES(engine_lock) {
    ContextStream &origin = require_named_stream(sim, stream);
    require_mode(mode);
    require_capturable_flags(origin);
    require_free_stream(require_own(sim, origin));
    if (origin.is_redirected) {
        fail(ACL_ERROR_RT_STREAM_CAPTURED, "stream %u is being captured already, or updates a task group", origin.id);
    }
    require_not_lost(device_of(origin));
    const Ref<Graph> into = graph != nullptr ? Ref<Graph>(graph) : sim.models.create_graph(context_of(origin));
    Ref<Capture> capture;
    try {
        capture = make_ref<Capture>(sim.machine, into, mode);
        capture->add(origin);
    } catch (...) {  // no more streams on the device, or no memory on the host
        if (capture) {
            capture->end();
        }
        into->status = graph != nullptr ? Graph::Status::New : Graph::Status::Fault;
        if (graph == nullptr) {
            sim.models.forget(*into);
        }
        throw;
    }
    into->caches_op_info = origin.wants_op_info == 1;
}

Capture &require_capture(const ContextStream &stream) REQUIRES(engine_lock) {
    Capture *capture = capture_of(stream);
    if (capture == nullptr) {
        fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %u is not being captured", stream.id);
    }
    return *capture;
}

// Ends the capture in any case and destroys the graph of a failed capture. Exception: a graph whose capture another
// thread was to end stays, although no caller has its handle.
Ref<Graph> end(Simulator &sim, Lock &lock, Capture &capture) REQUIRES(engine_lock) {
    const Ref<Capture> keep(capture);
    const Ref<Graph> graph = capture.graph;
    const auto give_up = [&](aclError code) REQUIRES(engine_lock) {
        const KeptText text;
        if (graph->capture != nullptr) {
            capture.end();
        }
        if (code != ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD && !graph->is_sub_graph) {
            sim.models.destroy(lock, *graph);
        }
    };
    try {
        capture.require_complete();
        capture.end();
        graph->complete();
    } catch (const Failure &failure) {
        give_up(failure.code);
        throw;
    } catch (const std::bad_alloc &) {
        give_up(ACL_ERROR_RT_MEMORY_ALLOCATION);
        throw;
    }
    return graph;
}

ContextStream &require_updatable(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    ContextStream &found = require_named_stream(sim, stream);
    if (const Capture *capture = capture_of(found)) {
        capture->require_usable(found);
    }
    if (found.keeper != nullptr) {
        fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u is bound to model %u", found.id, model_of(found)->id);
    }
    return found;
}

// Rejects a graph that is being captured: its tasks are not in their places yet, but collect in its streams. A capture
// that another thread has ended leaves its graph in the same state (section B3: 107038).
void require_captured(const Graph &graph) REQUIRES(engine_lock) {
    if (graph.status == Graph::Status::Capturing) {
        fail(ACL_ERROR_RT_MODEL_CAPTURED, "graph %u is still being captured", graph.id);
    }
    if (graph.status == Graph::Status::Fault) {
        fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "graph %u was left by a capture, or a change, that failed", graph.id);
    }
}

}  // namespace

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    return entry(Function::aclmdlRICaptureBegin, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        await_stream_list(sim.machine, lock);  // a capture adds hidden streams to the list
        begin(sim, stream, mode, nullptr);
    });
}

aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode) {
    return entry(Function::aclmdlRICaptureToModelRIBegin, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        require(modelRI, "modelRI");
        require_supported();
        await_stream_list(sim.machine, lock);
        require_named_stream(sim, stream);
        Graph *const graph = require_model(sim, modelRI).as_graph();
        if (graph == nullptr || !graph->is_sub_graph) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "modelRI is not a sub graph of aclmdlRIAddCondTask");
        }
        require_mode(mode);
        if (graph->status != Graph::Status::New) {
            fail(ACL_ERROR_RT_MODEL_CAPTURED, "sub graph %u is being captured, or has been", graph->id);
        }
        begin(sim, stream, mode, graph);
    });
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI) {
    return entry(Function::aclmdlRICaptureGetInfo, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        if (status == nullptr && modelRI == nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "status and modelRI are NULL");
        }
        require_supported();
        // Report an invalid capture as active for its streams; only its end reports the failure (section B3 [obs]).
        const Capture *capture = capture_of(require_named_stream(sim, stream));
        if (status != nullptr) {
            *status = capture != nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
        }
        if (modelRI != nullptr) {
            *modelRI = capture != nullptr ? capture->graph->handle() : nullptr;
        }
    });
}

aclError aclsimGetGraph(aclrtStream stream, aclmdlRI *graph) {
    return entry(Function::aclsimGetGraph, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        require(graph, "graph");
        *graph = nullptr;
        if (!is_documented_for(Function::aclmdlRICaptureGetInfo, *config().product)) {
            return;
        }
        const ContextStream &found = require_named_stream(sim, stream);
        if (const Capture *const capture = capture_of(found)) {
            *graph = capture->graph->handle();
        } else if (const GroupUpdate *const update = update_of(found)) {
            *graph = update->graph().handle();
        }
    });
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
    return entry(Function::aclmdlRICaptureThreadExchangeMode, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(mode, "mode");
        require_supported();
        require_mode(*mode);
        require_context(sim);
        *mode = CaptureModes::exchange(*mode);
    });
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI) {
    return entry(Function::aclmdlRICaptureEnd, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        ContextStream &named = require_named_stream(sim, stream);
        require_capturable_flags(named);
        const Capture *known = capture_of(named);
        if (known != nullptr && !known->graph->is_sub_graph && modelRI == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "modelRI is NULL");
        }
        Capture &capture = require_capture(require_free_stream(require_own(sim, named)));
        if (&capture.origin() != &named) {
            fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture was begun on stream %u, not on %u",
                 capture.origin().id, named.id);
        }
        if (modelRI != nullptr) {
            *modelRI = nullptr;
        }
        const Ref<Graph> graph = end(sim, lock, capture);
        if (modelRI != nullptr) {
            *modelRI = graph->handle();
        }
    });
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
    return entry(Function::aclmdlRICaptureTaskGrpBegin, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        ContextStream &found = require_named_stream(sim, stream);
        Capture &capture = require_capture(found);
        capture.begin_group(require_own(sim, found));
    });
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle) {
    return entry(Function::aclmdlRICaptureTaskGrpEnd, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        require(handle, "handle");
        require_supported();
        *handle = nullptr;
        ContextStream &found = require_named_stream(sim, stream);
        Capture &capture = require_capture(found);
        *handle = capture.end_group(require_own(sim, found))->handle();
    });
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
    return entry(Function::aclmdlRICaptureTaskUpdateBegin, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(stream, "stream");
        require(handle, "handle");
        require_supported();
        ContextStream &found = require_updatable(sim, stream);
        const Ref<TaskGroup> group(require_handle<TaskGroup>(sim, handle, "task group"));
        if (found.is_redirected || group->is_updating) {
            fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %u updates a group already, or another stream this one",
                 found.id);
        }
        require_own(sim, found);
        require_own(sim, group->graph);
        require_captured(group->graph);
        found.set_redirect(make_ref<GroupUpdate>(found, group));
    });
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
    return entry(Function::aclmdlRICaptureTaskUpdateEnd, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        ContextStream &found = require_updatable(sim, stream);
        GroupUpdate *const update = update_of(found);
        if (update == nullptr) {
            fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %u updates no task group", found.id);
        }
        require_own(sim, found);
        update->end(sim.core, lock, found);
    });
}

aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                  aclmdlRICondHandle *handle) {
    return entry(Function::aclmdlRICondHandleCreate, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(modelRI, "modelRI");
        require(handle, "handle");
        require_supported();
        Model &model = require_model(sim, modelRI);
        const auto assigns = static_cast<std::uint32_t>(flag);
        if (assigns > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no flag %u of a condition", assigns);
        }
        Graph *const graph = model.as_graph();
        if (graph == nullptr) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is not a captured graph", model.id);
        }
        if (graph->capture == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "graph %u is not being captured", graph->id);
        }
        require_own(sim, model);
        require_software_queues();
        const auto value = assigns != 0 ? std::optional<std::uint32_t>(defaultLaunchValue) : std::nullopt;
        const auto condition =
            Ref<Condition>(new Condition(sim.memory, *graph, value));  // needs the lock, which make_ref() does not have
        sim.core.registry().add_with(condition,
                                     [&]() REQUIRES(engine_lock) { graph->conditions.push_back(condition); });
        *handle = condition->handle();
    });
}

aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t **ptr) {
    return entry(Function::aclmdlRICondHandleGetCondPtr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(handle, "handle");
        require(ptr, "ptr");
        require_supported();
        *ptr = require_handle<Condition>(sim, handle, "condition").cell();
    });
}

namespace {

bool has_size(const aclmdlRICondTaskParams &params) {
    constexpr std::uint32_t kLargest[] = {2, 1, UINT32_MAX};  // sizes for IF, WHILE and SWITCH
    return params.size >= 1 && params.size <= kLargest[params.type];
}

}  // namespace

aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags) {
    return entry(Function::aclmdlRIAddCondTask, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(stream, "stream");
        require_supported();
        const bool is_type = params.type >= ACL_MODEL_RI_COND_TYPE_IF && params.type <= ACL_MODEL_RI_COND_TYPE_SWITCH;
        if (flags != 0 || !is_type || params.handle == nullptr || params.modelRIArray == nullptr || !has_size(params)) {
            fail(ACL_ERROR_RT_PARAM_INVALID,
                 "flags must be 0, the type IF with 1 or 2 graphs, WHILE with 1 or SWITCH, with a handle and an array");
        }
        std::fill_n(params.modelRIArray, params.size, nullptr);
        ContextStream &found = require_named_stream(sim, stream);
        Capture &capture = require_capture(found);
        const Ref<Condition> condition(require_handle<Condition>(sim, params.handle, "condition"));
        if (condition->is_used || &condition->graph != capture.graph.get()) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the condition is used already, or was created for another graph");
        }
        require_own(sim, found);
        ContextStream &hidden = capture.take(found, /*is_kernel=*/false);
        sim.core.admit(lock, hidden);
        const std::size_t first = capture.graph->sub_graphs.size();
        try {
            std::vector<Ref<Graph>> graphs;
            for (std::uint32_t i = 0; i < params.size; ++i) {
                graphs.push_back(sim.models.create_sub_graph(*capture.graph));
            }
            submit_conditional(sim.core, hidden, condition, params.type, std::move(graphs));
        } catch (...) {
            sim.models.forget_sub_graphs(*capture.graph, first);
            throw;
        }
        condition->is_used = true;
        for (std::uint32_t i = 0; i < params.size; ++i) {
            params.modelRIArray[i] = capture.graph->sub_graphs[first + i]->handle();
        }
    });
}
