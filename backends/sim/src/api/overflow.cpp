// Overflow of floating-point numbers: its mode, and what a stream's tasks have met (device_context_init_errors.md
// section 5). Nothing that is simulated computes, so nothing ever overflows.
#include <cstring>

#include "api/entry.h"
#include "tasks/copy.h"

using namespace aclsim;

namespace {

constexpr std::size_t kStatusSize = 64;

aclrtFloatOverflowMode g_mode = ACL_RT_OVERFLOW_MODE_SATURATION;  // guarded by the engine's lock

class ClearStatusTask final : public Task {
  public:
    TaskKind kind() const override { return TaskKind::Fill; }
    Start start(Stream &) override { return Start::Done; }
};

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
    return entry(Function::aclrtGetOverflowStatus, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        require(outputAddr, "outputAddr");
        if (stream != nullptr) {
            require_handle<Stream>(sim, stream, "stream");
        }
        if (outputSize != kStatusSize) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the status has %zu bytes, not %zu", kStatusSize, outputSize);
        }
        ContextStream &on = require_own_stream(sim, stream);
        require_live(sim.memory, outputAddr, kStatusSize, AccessMode::Write, "outputAddr");
        admit_with(sim.memory, lock, on, {{outputAddr, kStatusSize}});
        sim.core.submit(on, FillTask(sim.core.workers(), {outputAddr, 0, 1, kStatusSize}));
    });
}

aclError aclrtResetOverflowStatus(aclrtStream stream) {
    return entry(Function::aclrtResetOverflowStatus, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        ContextStream &on = require_own_stream(sim, stream);
        sim.core.admit(lock, on);
        sim.core.submit(on, ClearStatusTask());
    });
}

aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr) {
    return entry(Function::aclrtCtxGetFloatOverflowAddr, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (overflowAddr == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "overflowAddr is NULL");  // 107000, not 100000 (section 6)
        }
        require_current_device(sim);
        Context &context = require_context(sim);
        if (context.overflow_address == nullptr) {
            void *status = sim.memory.space().allocate_internal(context.device.physical_id, kStatusSize);
            if (status == nullptr) {
                fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no memory left", context.device.user_id);
            }
            note_allocation(sim.memory, status, kStatusSize);
            std::memset(status, 0, kStatusSize);
            context.overflow_address = status;
        }
        *overflowAddr = context.overflow_address;
    });
}
