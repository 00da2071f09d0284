// SPDX-License-Identifier: Apache-2.0
// Time limits, task ids and operations that the runtime carries out itself (events_streams_sync.md section 10).
#include <algorithm>

#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/copy.h"
#include "tasks/reduce.h"
#include "tasks/trace.h"

using namespace aclsim;

namespace {

constexpr std::uint64_t kLongestMs = 1000000;
constexpr std::int32_t kLongestTrace = 18;

// Rounds up to a whole number of intervals.
std::uint64_t rounded(std::uint64_t us) {
    const std::uint64_t interval = config().product->timeout_interval_us;
    if (us == 0 || us >= longest_execution_us()) {
        return longest_execution_us();
    }
    return (us + interval - 1) / interval * interval;
}

void set_timeout(Simulator &sim, std::uint64_t us) { sim.op_execute_timeout_us = rounded(us); }

// Rejects other memory: it cannot be checked, and a reduction of unmapped memory would end the process.
void require_runtime_memory(Simulator &sim, const void *address, std::size_t size, AccessMode mode, const char *name)
    REQUIRES(engine_lock) {
    if (sim.memory.space().locate(address).place == Place::Unregistered) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "%s is not memory of a device", name);
    }
    require_live(sim.memory, address, size, mode, name);
}

}  // namespace

aclError aclrtGetThreadLastTaskId(uint32_t *taskId) {
    return entry(Function::aclrtGetThreadLastTaskId, [&](Simulator &, Lock &) {
        require(taskId, "taskId");
        *taskId = last_task_id();
    });
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval) {
    return entry(Function::aclrtGetOpTimeOutInterval, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(interval, "interval");
        require_context(sim);
        *interval = config().product->timeout_interval_us;
    });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
    return entry(Function::aclrtSetOpExecuteTimeOut,
                 [&](Simulator &sim, Lock &) { set_timeout(sim, timeout * 1000000ULL); });
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {  // undocumented for all products (section 10 [obs])
    return entry(Function::aclrtSetOpExecuteTimeOutWithMs, [&](Simulator &sim, Lock &) {
        set_timeout(sim, std::min<std::uint64_t>(timeout, kLongestMs) * 1000);
    });
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout) {
    return entry(Function::aclrtSetOpExecuteTimeOutV2, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(actualTimeout, "actualTimeout");
        require_context(sim);
        set_timeout(sim, timeout);
        *actualTimeout = sim.op_execute_timeout_us;
    });
}

aclError aclrtGetOpExecuteTimeout(uint32_t *timeoutMs) {
    return entry(Function::aclrtGetOpExecuteTimeout, [&](Simulator &sim, Lock &) {
        require(timeoutMs, "timeoutMs");
        *timeoutMs = static_cast<std::uint32_t>(execution_limit_us(sim) / 1000);
    });
}

aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                          aclrtStream stream, void *reserve) {
    return entry(Function::aclrtReduceAsync, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(dst, "dst");
        require(src, "src");
        if (reserve != nullptr || !is_reducible(type)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM,
                              "reserve must be NULL, and data type %d be one that can be reduced",
                              static_cast<int>(type));
        }
        if (count == 0 || kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes, reduction %d", static_cast<unsigned long long>(count),
                 static_cast<int>(kind));
        }
        ContextStream &on = require_own_stream(sim, stream);
        if (!is_reduced_by(*config().product, type)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s does not reduce data type %d",
                              config().product->name, static_cast<int>(type));
        }
        require_runtime_memory(sim, dst, count, AccessMode::ReadWrite, "dst");
        require_runtime_memory(sim, src, count, AccessMode::Read, "src");
        admit_with(sim.memory, lock, on, {{dst, count}, {src, count}});
        sim.core.submit(on, ReduceTask({dst, src, count, kind, type}));
    });
}

aclError aclrtProfTrace(void *userdata, int32_t length, aclrtStream stream) {
    return entry(Function::aclrtProfTrace, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(userdata, "userdata");
        if (length < 1 || length > kLongestTrace) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%d bytes are not 1 to %d", length, kLongestTrace);
        }
        ContextStream &on = require_own_stream(sim, stream);
        note_use(sim.memory, userdata, static_cast<std::uint64_t>(length), AccessMode::Read, "userdata");
        sim.core.note_done_with_memory();  // the runtime copies the data during the call
        sim.core.admit(lock, on);
        sim.core.submit(on, TraceTask());
    });
}
