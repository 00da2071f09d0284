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
    return entry(__func__, [&](Engine &, Lock &) {
        if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no overflow mode %d", static_cast<int>(mode));
        }
        g_mode = mode;
    });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
    return entry(__func__, [&](Engine &, Lock &) {
        require(mode, "mode");
        *mode = g_mode;
    });
}

aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize, aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        require(outputAddr, "outputAddr");
        if (stream != nullptr) {
            require_handle<Stream>(engine, stream, "stream");
        }
        if (outputSize != kStatusSize) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "the status has %zu bytes, not %zu", kStatusSize, outputSize);
        }
        Stream &on = require_own_stream(engine, stream);
        require_live(engine, outputAddr, kStatusSize, "outputAddr");
        admit_with(engine, lock, on, {{outputAddr, kStatusSize}});
        engine.submit(on, FillTask(engine.workers(), {outputAddr, 0, 1, kStatusSize}));
    });
}

aclError aclrtResetOverflowStatus(aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        Stream &on = require_own_stream(engine, stream);
        engine.admit(lock, on);
        engine.submit(on, ClearStatusTask());
    });
}

aclError aclrtCtxGetFloatOverflowAddr(void **overflowAddr) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        if (overflowAddr == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "overflowAddr is NULL");  // 107000, not 100000 [obs]
        }
        require_current_device(engine);
        Context &context = require_context(engine);
        if (context.overflow_address == nullptr) {
            void *status = engine.memory().allocate_internal(context.device.physical_id, kStatusSize);
            if (status == nullptr) {
                fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %u has no memory left", context.device.user_id);
            }
            note_allocation(engine, status, kStatusSize);
            std::memset(status, 0, kStatusSize);
            context.overflow_address = status;
        }
        *overflowAddr = context.overflow_address;
    });
}
