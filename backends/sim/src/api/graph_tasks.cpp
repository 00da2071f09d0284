// SPDX-License-Identifier: Apache-2.0
// Single tasks of graphs: queries and changes (graphs_kernels.md section B6).
#include <algorithm>
#include <optional>

#include "api/kernel.h"
#include "api/model.h"
#include "tasks/declared_accesses.h"
#include "tasks/graph.h"
#include "tasks/kernel_launch.h"
#include "tasks/value.h"

using namespace aclsim;

namespace {

ModelTask &require_task(Simulator &sim, aclmdlRITask task) REQUIRES(engine_lock) {
    ModelTask &found = require_handle<ModelTask>(sim, task, "task of a model");
    require_model(sim, found.model.handle());  // its destruction may be under way
    require_root(found.model);
    return found;
}

aclmdlRITaskParams describe(const ModelTask &task) REQUIRES(engine_lock) {
    aclmdlRITaskParams params{};
    (task.replacement ? *task.replacement : task.task()).details().describe(params);
    return params;
}

// Returns the graph if it may be changed now. Any failure after this check puts the graph into the fault state.
Graph &require_changeable(ModelTask &task) REQUIRES(engine_lock) {
    Graph *const graph = task.model.as_graph();
    if (graph == nullptr) {
        fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is not a captured graph", task.model.id);
    }
    if ((graph->status != Graph::Status::Ready && graph->status != Graph::Status::Updating) || graph->is_busy()) {
        fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "graph %u is executed, captured, or was left by a change that failed",
             graph->id);
    }
    return *graph;
}

template <class Change>
void change(Graph &graph, Change make) REQUIRES(engine_lock) {
    try {
        make();
    } catch (const Failure &) {
        graph.status = Graph::Status::Fault;
        throw;
    }
}

Task &newest(ModelTask &task) REQUIRES(engine_lock) { return task.replacement ? *task.replacement : task.task(); }

// Returns nullptr if the task is not a kernel or is disabled.
KernelTask *kernel_of(ModelTask &task) REQUIRES(engine_lock) { return dynamic_cast<KernelTask *>(&newest(task)); }

KernelArguments read_arguments(Lock &lock, const Device &device, const aclmdlRIKernelTaskParams &params)
    REQUIRES(engine_lock) {
    return params.isHostArgs != 0 ? KernelArguments::copied(lock, device, params.args, params.argsSize, {})
                                  : KernelArguments::in_memory(params.args, params.argsSize);
}

std::unique_ptr<Task> make_kernel(Simulator &sim, Lock &lock, ModelTask &task, const aclmdlRIKernelTaskParams &params)
    REQUIRES(engine_lock) {
    const DeclarationScope scope;
    if (kernel_of(task) == nullptr || params.funcHandle == nullptr || params.args == nullptr || params.argsSize == 0) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the task is not a kernel, or funcHandle, args or argsSize is NULL or 0");
    }
    const Ref<KernelFunction> function(require_function(sim, params.funcHandle));
    const Device &device = task.model.context.device;
    KernelArguments arguments = read_arguments(lock, device, params);
    load_for_launch(lock, *function, device);
    require_changeable(task);  // recheck, also the kernel: copying lets other threads in
    KernelTask *const former = kernel_of(task);
    if (former == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "another thread has replaced the kernel");
    }
    auto attributes = params.cfg == nullptr ? former->launch().attributes : read_launch_config(params.cfg);
    const auto launch = make_ref_in<KernelLaunch>(*device.shard, *function, params.numBlocks, std::move(arguments),
                                                  std::move(attributes), execution_limit_us(sim));
    prepare(sim.kernels, device, *launch);
    note_kernel_accesses(sim.memory);
    return former->changed_to(launch);
}

std::unique_ptr<Task> make_replacement(Simulator &sim, Lock &lock, ModelTask &task, const aclmdlRITaskParams &params)
    REQUIRES(engine_lock) {
    switch (params.type) {
        case ACL_MODEL_RI_TASK_KERNEL:
            return make_kernel(sim, lock, task, params.kernelTaskParams);
        case ACL_MODEL_RI_TASK_VALUE_WRITE:
            note_use(sim.memory, params.valueWriteTaskParams.devAddr, sizeof(std::uint64_t), AccessMode::Write,
                     "devAddr");
            return sim.values.make_write(params.valueWriteTaskParams);
        case ACL_MODEL_RI_TASK_VALUE_WAIT:
            note_use(sim.memory, params.valueWaitTaskParams.devAddr, sizeof(std::uint64_t), AccessMode::Read,
                     "devAddr");
            return sim.values.make_wait(params.valueWaitTaskParams);
        default:
            fail(ACL_ERROR_RT_PARAM_INVALID, "task %zu of stream %u cannot become one of type %d", task.index,
                 task.stream.id, static_cast<int>(params.type));
    }
}

void set_params(Simulator &sim, Lock &lock, Graph &graph, ModelTask &task, const aclmdlRITaskParams &params)
    REQUIRES(engine_lock) {
    if (describe(task).type == ACL_MODEL_RI_TASK_DEFAULT || params.taskGrp != nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the task cannot be changed, or taskGrp is not NULL");
    }
    const bool has_info = params.opInfoPtr != nullptr || params.opInfoSize != 0;
    if (params.type != ACL_MODEL_RI_TASK_KERNEL && has_info) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "operator information belongs to kernels");
    }
    const auto *info = static_cast<const unsigned char *>(params.opInfoPtr);
    std::vector<unsigned char> op_info(info, info == nullptr ? info : info + params.opInfoSize);
    graph.change(task, make_replacement(sim, lock, task, params));
    task.op_info = std::move(op_info);
}

}  // namespace

aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type) {
    return entry(Function::aclmdlRITaskGetType, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(task, "task");
        require_pointer(type, "type");
        require_supported();
        *type = describe(require_task(sim, task)).type;
    });
}

aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id) {
    return entry(Function::aclmdlRITaskGetSeqId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(task, "task");
        require_pointer(id, "id");
        require_supported();
        *id = static_cast<std::uint32_t>(require_task(sim, task).index);
    });
}

aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams *params) {
    return entry(Function::aclmdlRITaskGetParams, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(task, "task");
        require_pointer(params, "params");
        require_supported();
        ModelTask &found = require_task(sim, task);
        require_software_queues();
        aclmdlRITaskParams answer = describe(found);
        if (answer.type == ACL_MODEL_RI_TASK_DEFAULT) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "task %zu of stream %u has no parameters", found.index, found.stream.id);
        }
        answer.taskGrp = found.group == nullptr ? nullptr : found.group->handle();
        answer.opInfoPtr = found.op_info.empty() ? nullptr : found.op_info.data();
        answer.opInfoSize = found.op_info.size();
        *params = answer;
    });
}

aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams *params) {
    return entry(Function::aclmdlRITaskSetParams, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_pointer(task, "task");
        require_pointer(params, "params");
        require_supported();
        ModelTask &found = require_task(sim, task);
        require_software_queues();
        Graph &graph = require_changeable(found);
        const Ref<ModelTask> keep(found);
        const Ref<Graph> keep_graph(graph);
        change(graph, [&]() REQUIRES(engine_lock) { set_params(sim, lock, graph, found, *params); });
    });
}

// Returns the value given at the launch, or else the value in effect; nothing for attributes that no task has
// (graphs_kernels.md section B6).
namespace {

std::optional<aclrtLaunchKernelAttrValue> attribute_of(const KernelLaunch &launch, aclrtLaunchKernelAttrId id) {
    constexpr aclrtLaunchKernelAttrId kKept[] = {
        ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, ACL_RT_LAUNCH_KERNEL_ATTR_LOCAL_MEMORY_SIZE,
        ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP, ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US};
    if (std::find(std::begin(kKept), std::end(kKept), id) == std::end(kKept)) {
        return std::nullopt;
    }
    aclrtLaunchKernelAttrValue value{};
    const std::uint64_t limit_us = read_time_limit(launch.attributes, (launch.limit_us + 999) / 1000 * 1000);
    for (const aclrtLaunchKernelAttr &given : launch.attributes) {
        if (given.id == id) {
            value = given.value;
        }
    }
    if (id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT) {
        value.timeout = static_cast<std::uint16_t>(limit_us / 1000000);
    } else if (id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US) {
        value.timeoutUs = {static_cast<std::uint32_t>(limit_us), static_cast<std::uint32_t>(limit_us >> 32)};
    }
    return value;
}

}  // namespace

aclError aclmdlRIKernelTaskGetAttribute(aclmdlRITask task, aclrtLaunchKernelAttrId attrId,
                                        aclrtLaunchKernelAttrValue *attrValue) {
    return entry(Function::aclmdlRIKernelTaskGetAttribute, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(task, "task");
        require(attrValue, "attrValue");
        require_supported();
        const KernelTask *const kernel = kernel_of(require_task(sim, task));
        const auto value = kernel == nullptr ? std::nullopt : attribute_of(kernel->launch(), attrId);
        if (!value) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the task is not a kernel, or has no attribute %d",
                 static_cast<int>(attrId));
        }
        *attrValue = *value;
    });
}

aclError aclmdlRITaskDisable(aclmdlRITask task) {
    return entry(Function::aclmdlRITaskDisable, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_pointer(task, "task");
        require_supported();
        ModelTask &found = require_task(sim, task);
        require_software_queues();
        Graph &graph = require_changeable(found);
        change(graph, [&]() REQUIRES(engine_lock) {
            if (describe(found).type == ACL_MODEL_RI_TASK_DEFAULT) {
                fail(ACL_ERROR_RT_PARAM_INVALID, "task %zu of stream %u cannot be disabled", found.index,
                     found.stream.id);
            }
            graph.disable(found);
        });
    });
}

aclError aclmdlRIUpdate(aclmdlRI modelRI) {
    return entry(Function::aclmdlRIUpdate, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require_pointer(modelRI, "modelRI");
        require_supported();
        Model &model = require_root(require_model(sim, modelRI));
        require_software_queues();
        Graph *const graph = model.as_graph();
        if (graph == nullptr) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is not a captured graph", model.id);
        }
        if (graph->status == Graph::Status::Ready) {
            return;
        }
        if (graph->status != Graph::Status::Updating) {
            fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "graph %u is captured, or was left by a change that failed",
                 graph->id);
        }
        graph->apply_changes(lock);
    });
}
