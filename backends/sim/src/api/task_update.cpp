// SPDX-License-Identifier: Apache-2.0
// aclrtTaskUpdateAsync (events_streams_sync.md section 10). Checks follow the order of the public source.
#include "tasks/task_update.h"

#include "api/entry.h"
#include "memory/extent.h"
#include "memory/memory.h"
#include "tasks/random.h"

using namespace aclsim;

namespace {

ContextStream &require_given(Simulator &sim, aclrtStream stream, const char *name) REQUIRES(engine_lock) {
    if (stream == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is NULL", name);
    }
    return require_handle<ContextStream>(sim, stream, name);
}

// Submits the update to an ordinary stream, between executions of the model or during one.
void update_random(Simulator &sim, Lock &lock, aclrtStream task_stream, std::uint32_t id,
                   const aclrtRandomTaskUpdateAttr &update, aclrtStream stream) REQUIRES(engine_lock) {
    ContextStream &target = require_given(sim, task_stream, "taskStream");
    require_supported(Function::aclrtRandomNumAsync);
    if (update.srcAddr == nullptr || update.size != sizeof(aclrtRandomNumTaskInfo)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "srcAddr is NULL, or size is %zu and not that of an aclrtRandomNumTaskInfo",
             update.size);
    }
    ContextStream &on = require_stream(sim, stream);
    require_context(sim);
    if (on.keeper != nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "execStream %u is bound to a model", on.id);
    }
    require_own(sim, on);
    const TaskName name{Ref<Stream>(target), id};
    if (const Task *task = name.find(); task == nullptr || &task->info() != &RandomTask::kInfo) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "task %u of stream %u does not generate random numbers in a model", id,
             target.id);
    }
    require_live_on_device(sim.memory, update.srcAddr, update.size, AccessMode::Read, "srcAddr");
    sim.core.admit(lock, on);
    sim.core.submit(on, RandomUpdateTask(sim.memory, name, update.srcAddr));
}

// Submits the update as a task of a model. The task to be updated is found when the update runs.
void update_kernel(Simulator &sim, Lock &lock, aclrtStream task_stream, std::uint32_t id,
                   const aclrtAicAivTaskUpdateAttr &update, aclrtStream stream) REQUIRES(engine_lock) {
    const auto require_bound = [&]() REQUIRES(engine_lock) -> ContextStream & {
        const ContextStream &target = require_handle<ContextStream>(sim, task_stream, "taskStream");
        ContextStream &on = require_handle<ContextStream>(sim, stream, "execStream");
        if (target.keeper == nullptr || on.keeper == nullptr) {
            fail(ACL_ERROR_RT_STREAM_MODEL, "stream %u or %u is not bound to a model", target.id, on.id);
        }
        return on;
    };
    require_given(sim, task_stream, "taskStream");
    require_given(sim, stream, "execStream");
    if (update.binHandle == nullptr || update.funcEntryAddr == nullptr || update.blockDimAddr == nullptr) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "binHandle, funcEntryAddr or blockDimAddr is NULL");
    }
    const Device &device = device_of(require_bound());
    require_context(sim);
    const Ref<Binary> binary(require_handle<Binary>(sim, update.binHandle, "kernel binary"));
    require_live_on_device(sim.memory, update.funcEntryAddr, sizeof(std::uint64_t), AccessMode::Read, "funcEntryAddr");
    require_live_on_device(sim.memory, update.blockDimAddr, sizeof(std::uint64_t), AccessMode::Read, "blockDimAddr");
    binary->load_on(lock, device);
    ContextStream &on = require_bound();  // recheck: copying lets other threads in
    const TaskName name{Ref<Stream>(require_given(sim, task_stream, "taskStream")), id};
    sim.core.admit(lock, on);
    sim.core.submit(on, KernelUpdateTask(sim.kernels, name, binary, update.funcEntryAddr, update.blockDimAddr));
}

}  // namespace

aclError aclrtTaskUpdateAsync(aclrtStream taskStream, uint32_t taskId, aclrtTaskUpdateInfo *info,
                              aclrtStream execStream) {
    return entry(Function::aclrtTaskUpdateAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(info, "info");
        require_supported();
        switch (info->id) {
            case ACL_RT_UPDATE_RANDOM_TASK:
                return update_random(sim, lock, taskStream, taskId, info->val.randomTaskAttr, execStream);
            case ACL_RT_UPDATE_AIC_AIV_TASK:
                return update_kernel(sim, lock, taskStream, taskId, info->val.aicAivTaskAttr, execStream);
            default:
                fail(ACL_ERROR_RT_PARAM_INVALID, "there is no attribute %d of tasks to update",
                     static_cast<int>(info->id));
        }
    });
}
