// SPDX-License-Identifier: Apache-2.0
// Lookups of models and graphs for the entry points.
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

// Rejects sub graphs: they are executed, inspected and destroyed only together with their root.
inline Model &require_root(Model &model) REQUIRES(engine_lock) {
    const Graph *graph = model.as_graph();
    if (graph != nullptr && graph->is_sub_graph) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "graph %u is a sub graph of another one", graph->id);
    }
    return model;
}

// Rejects operations for which the driver needs software queues (graphs_kernels.md), unless it has them.
inline void require_software_queues() {
    if (!config().has_software_queues) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                          "the simulated driver has no software queues; set ASCEND_RT_SIM_SOFTWARE_QUEUES=1");
    }
}

// Rejects a NULL argument that the runtime layer checks, not the ACL layer (graphs_kernels.md section B6).
inline void require_pointer(const void *argument, const char *name) {
    if (argument == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is NULL", name);
    }
}

}  // namespace aclsim
