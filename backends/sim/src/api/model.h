// How entry points find models and graphs.
#pragma once

#include "api/entry.h"
#include "tasks/graph.h"

namespace aclsim {

inline Model &require_model(Simulator &sim, aclmdlRI model) REQUIRES(engine_lock) {
    return require_handle<Model>(sim, model, "model");
}

inline Model &require_own(Simulator &sim, Model &model) REQUIRES(engine_lock) {
    const Context &current = require_context(sim);
    if (&model.context != &current) {
        fail_of_other_context(ACL_ERROR_RT_MODEL_CONTEXT, "model " + std::to_string(model.id), model.context, &current);
    }
    return model;
}

inline Model &require_own_model(Simulator &sim, aclmdlRI model) REQUIRES(engine_lock) {
    return require_own(sim, require_model(sim, model));
}

// A sub graph is executed, looked at and destroyed with its root alone.
inline Model &require_root(Model &model) REQUIRES(engine_lock) {
    const Graph *graph = model.as_graph();
    if (graph != nullptr && graph->is_sub_graph) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "graph %u is a sub graph of another one", graph->id);
    }
    return model;
}

// What the driver does with software queues alone (graphs_kernels.md).
inline void require_software_queues() {
    if (!config().has_software_queues) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "the simulated driver has no software queues; set ASCEND_RT_SIM_SOFTWARE_QUEUES=1");
    }
}

// NULL where the runtime layer finds it, not the ACL layer (graphs_kernels.md section B6).
inline void require_pointer(const void *argument, const char *name) {
    if (argument == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is NULL", name);
    }
}

}  // namespace aclsim
