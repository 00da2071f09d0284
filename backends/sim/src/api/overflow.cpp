// SPDX-License-Identifier: Apache-2.0
// Overflow of floating-point numbers: its mode, and the status of a stream's tasks (device_context_init_errors.md
// section 5). Simulated operations do not set the status; a kernel that runs on the host may.
#include "api/entry.h"
#include "memory/memory.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

aclrtFloatOverflowMode g_mode = ACL_RT_OVERFLOW_MODE_SATURATION;  // guarded by the engine lock

aclError get_status(Function function, void *output, std::uint64_t size, aclrtStream stream) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(output, "outputAddr");
        if (stream != nullptr) {
            require_handle<ContextStream>(sim, stream, "stream");
        }
        if (size != Memory::kOverflowStatusSize) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the status has %zu bytes, not %llu", Memory::kOverflowStatusSize,
                 static_cast<unsigned long long>(size));
        }
        ContextStream &on = require_own_stream(sim, stream);
        const Transfer transfer = Transfer::plain(output, sim.memory.overflow_status(context_of(on)), size);
        require_ranges(sim.memory, transfer);
        admit_with(sim.memory, lock, on, {{output, size}});
        sim.core.submit(on, CopyTask(transfer, ACL_MEMCPY_DEVICE_TO_DEVICE));
    });
}

aclError reset_status(Function function, aclrtStream stream) {
    return entry(function, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        ContextStream &on = require_own_stream(sim, stream);
        void *status = sim.memory.overflow_status(context_of(on));
        require_live(sim.memory, status, Memory::kOverflowStatusSize, AccessMode::Write, "status");
        sim.core.admit(lock, on);
        sim.core.submit(on, FillTask({status, 0, 1, Memory::kOverflowStatusSize}));
    });
}

}  // namespace

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    return entry(Function::aclrtSetDeviceSatMode, [&](Simulator &, Lock &) {
        if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no overflow mode %d", static_cast<int>(mode));
        }
        g_mode = mode;
    });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
    return entry(Function::aclrtGetDeviceSatMode, [&](Simulator &, Lock &) {
        require(mode, "mode");
        *mode = g_mode;
    });
}

aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize, aclrtStream stream) {
    return get_status(Function::aclrtGetOverflowStatus, outputAddr, outputSize, stream);
}

aclError aclrtResetOverflowStatus(aclrtStream stream) {
    return reset_status(Function::aclrtResetOverflowStatus, stream);
}

// Undocumented functions: the four below are treated as aliases of the two above, in any mode of the check.

aclError aclrtGetFloatOverflowStatus(void *outputAddr, uint64_t outputSize, aclrtStream stream) {
    return get_status(Function::aclrtGetFloatOverflowStatus, outputAddr, outputSize, stream);
}

aclError aclrtResetFloatOverflowStatus(aclrtStream stream) {
    return reset_status(Function::aclrtResetFloatOverflowStatus, stream);
}

aclError aclrtNpuGetFloatOverFlowStatus(void *outputAddr, uint64_t outputSize, uint32_t, aclrtStream stream) {
    return get_status(Function::aclrtNpuGetFloatOverFlowStatus, outputAddr, outputSize, stream);
}

aclError aclrtNpuClearFloatOverFlowStatus(uint32_t, aclrtStream stream) {
    return reset_status(Function::aclrtNpuClearFloatOverFlowStatus, stream);
}

aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr) {
    return entry(Function::aclrtCtxGetFloatOverflowAddr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (overflowAddr == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "overflowAddr is NULL");  // returns 107000, not 100000 (section 6)
        }
        require_current_device(sim);
        *overflowAddr = sim.memory.overflow_status(require_context(sim));
    });
}
