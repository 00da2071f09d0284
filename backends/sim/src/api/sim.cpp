// SPDX-License-Identifier: Apache-2.0
// Control of the simulator (abi/aclsim.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/entry.h"
#include "control/faults.h"
#include "control/stall.h"
#include "engine/operands.h"
#include "engine/thread.h"
#include "memory/memory.h"
#include "observe/memory_check.h"
#include "observe/race_check.h"
#include "support/findings.h"
#include "support/standard_error.h"
#include "tasks/declared_accesses.h"
#include "tasks/sleep.h"

using namespace aclsim;

int32_t aclsimHold(int32_t on) {
    return ungated_entry(Function::aclsimHold,
                         [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { sim.core.hold(on != 0); });
}

// Starts nothing, as a count of devices does not.
aclError aclsimGetInfo(aclsimInfo *info) {
    return checked_entry(Function::aclsimGetInfo, [&] {
        require(info, "info");
        *info = {};
        std::strncpy(info->product, config().product->name, sizeof info->product - 1);
        info->deviceCount = config().devices;
        info->workerCount = config().workers;
    });
}

aclError aclsimDeclareAccesses(const aclsimAccess *accesses, uint64_t count) {
    return checked_entry(Function::aclsimDeclareAccesses, [&] {
        if (!Observers::want_accesses()) {
            return;
        }
        declare_accesses(read_accesses(accesses, count));
    });
}

aclError aclsimGetLastTask(uint32_t *taskId, uint32_t *streamId) {
    return checked_entry(Function::aclsimGetLastTask, [&] {
        constexpr std::uint32_t kNoStream = 0xFFFF;
        require(taskId, "taskId");
        require(streamId, "streamId");
        *taskId = last_task_id();
        *streamId = last_task().stream == nullptr ? kNoStream : last_task().stream_id;
    });
}

int32_t aclsimWantsAccesses(void) { return Observers::want_accesses() ? 1 : 0; }

int32_t aclsimIsSimulated(const char *function) { return is_simulated(find_function(function)) ? 1 : 0; }

namespace {

// Rejects a handle that is not a live stream: it would never match a task.
StreamFilter filter_of(Simulator &sim, aclrtStream stream) REQUIRES(engine_lock) {
    if (stream != nullptr) {
        require_handle<ContextStream>(sim, stream, "stream");
    }
    return {stream, -1};
}

}  // namespace

aclError aclsimFailCall(const char *function, uint64_t nth, aclError code) {
    return entry(Function::aclsimFailCall, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(function, "function");
        sim.faults.fail_call(function, nth, code);
    });
}

aclError aclsimFailTask(aclrtStream stream, uint64_t nth, aclError code) {
    return entry(Function::aclsimFailTask, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.faults.fail_task(filter_of(sim, stream), nth, code);
    });
}

aclError aclsimDelayTasks(aclrtStream stream, uint64_t microseconds) {
    return entry(Function::aclsimDelayTasks, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto delay = std::chrono::microseconds(std::min<uint64_t>(microseconds, INT64_MAX));
        sim.faults.delay_tasks(filter_of(sim, stream), delay);
    });
}

aclError aclsimSleep(aclrtStream stream, uint64_t cycles) {
    return entry(Function::aclsimSleep, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        ContextStream &on = require_own_stream(sim, stream);
        sim.core.admit(lock, on);
        sim.core.submit(on, SleepTask(sim.core, cycles));
    });
}

aclError aclsimLoseDevice(int32_t deviceId, aclError code) {
    return entry(Function::aclsimLoseDevice, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        lose_device(sim.machine, require_device(sim, deviceId), code);
    });
}

aclError aclsimPoisonDevice(int32_t deviceId, aclError code) {
    return entry(Function::aclsimPoisonDevice, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        poison_device(require_device(sim, deviceId), code);
    });
}

aclError aclsimTakeDownDevice(int32_t deviceId, uint64_t blockMicroseconds) {
    return entry(Function::aclsimTakeDownDevice, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const auto block = std::chrono::microseconds(std::min<uint64_t>(blockMicroseconds, INT64_MAX));
        take_down_device(sim.machine, require_device(sim, deviceId), block);
    });
}

aclError aclsimLimitResource(int32_t deviceId, aclsimResource resource, uint64_t limit) {
    return entry(Function::aclsimLimitResource, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        limit_resource(sim.memory, require_device(sim, deviceId), resource, limit);
    });
}

aclError aclsimClearFaults() {
    return entry(Function::aclsimClearFaults, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.faults.clear();
        for (const auto &device : sim.machine.devices) {
            device->lost = ACL_SUCCESS;
            device->poisoned = ACL_SUCCESS;
            device->down.reset();
            for (const auto resource :
                 {ACLSIM_RESOURCE_STREAMS, ACLSIM_RESOURCE_EVENTS, ACLSIM_RESOURCE_NOTIFIES, ACLSIM_RESOURCE_MEMORY}) {
                limit_resource(sim.memory, *device, resource, kNoLimit);
            }
        }
    });
}

uint64_t aclsimGetCheckReports(void) {
    uint64_t reports = 0;
    ungated_entry(Function::aclsimGetCheckReports,
                  [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { reports = sim.memory_check.reports(); });
    return reports;
}

aclError aclsimWriteCounts(void) {
    RaceCheck::write_counts();
    return ACL_SUCCESS;
}

aclError aclsimNoteEnd(void) {
    RaceCheck::finish_all();
    end_findings();
    return ACL_SUCCESS;
}

int32_t aclsimIsLive(const void *address, size_t size) {
    int32_t is_live = 0;
    ungated_entry(Function::aclsimIsLive, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        is_live = sim.memory.is_live(address, size) ? 1 : 0;
    });
    return is_live;
}

aclError aclsimSetPlaceProvider(aclsimCaptureFrames capture, aclsimNameFrame name) {
    set_place_provider({capture, name});
    return ACL_SUCCESS;
}

int32_t aclsimGetFrames(aclsimCallFrame *frames, int32_t most) { return std::abs(provided_frames(frames, most)); }

aclError aclsimSetForwardPlace(const aclsimCallFrame *frames, int32_t count) {
    set_forward_place(frames, static_cast<std::size_t>(std::max(count, 0)));
    return ACL_SUCCESS;
}

aclError aclsimSetInterruptCheck(aclsimInterruptCheck check) {
    return ungated_entry(Function::aclsimSetInterruptCheck,
                         [&](Simulator &sim, Lock &) REQUIRES(engine_lock) { sim.core.set_interrupt_check(check); });
}

aclError aclsimSetThreadDescriber(aclsimThreadDescriber describer) {
    return ungated_entry(Function::aclsimSetThreadDescriber, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.stall.set_thread_describer(describer);
    });
}

aclError aclsimSetMessages(int32_t arePrinted) {
    return ungated_entry(Function::aclsimSetMessages, [&](Simulator &, Lock &) { set_messages(arePrinted != 0); });
}

aclError aclsimSetThreadProvider(aclsimThreadProvider provider) {
    return ungated_entry(Function::aclsimSetThreadProvider, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.stall.set_thread_provider(provider);
    });
}

aclError aclsimAskQuietly(int32_t on) {
    t_thread.asks_quietly = on != 0;
    return ACL_SUCCESS;
}

aclError aclsimNoOp(void *, void *) { return ACL_SUCCESS; }
