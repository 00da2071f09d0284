// Limits of cores for streams, and the thread's resource stream (device_context_init_errors.md section 4). Nothing
// that is simulated so far uses cores; the limits are kept for what will.
#include "entry.h"

using namespace aclsim;

namespace {

thread_local void *t_resource_stream = nullptr;  // handle

void require_limit_type(aclrtDevResLimitType type) {
    if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "there is no resource limit of type %d", static_cast<int>(type));
    }
}

std::uint32_t cores(aclrtDevResLimitType type) {
    return type == ACL_RT_DEV_RES_CUBE_CORE ? config().product->cube_cores : config().product->vector_cores;
}

void require_limit(aclrtDevResLimitType type, std::uint32_t value) {
    require_limit_type(type);
    if (value > cores(type)) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "the device has only %u such cores, not %u", cores(type), value);
    }
}

Device &require_open_device(Engine &engine, std::int32_t id) {
    Device &device = require_device(engine, id);
    if (device.contexts.empty()) {
        fail(ACL_ERROR_RT_DEV_SETUP_ERROR, "device %d is not open in this process", id);
    }
    return device;
}

// A stream's own limit, else its device's.
std::uint32_t limit_of(const Stream &stream, aclrtDevResLimitType type) {
    const std::int64_t own = stream.core_limits[static_cast<std::size_t>(type)];
    return own >= 0 ? static_cast<std::uint32_t>(own)
                    : stream.context.device.core_limits[static_cast<std::size_t>(type)];
}

}  // namespace

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(value, "value");
        const Device &device = require_open_device(engine, deviceId);
        require_limit_type(type);
        *value = device.core_limits[static_cast<std::size_t>(type)];
    });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        Device &device = require_open_device(engine, deviceId);
        require_limit(type, value);
        device.core_limits[static_cast<std::size_t>(type)] = value;
    });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require_open_device(engine, deviceId).core_limits = {config().product->cube_cores,
                                                             config().product->vector_cores};
    });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(value, "value");
        const Stream &found = require_stream(engine, stream);
        require_limit_type(type);
        *value = limit_of(found, type);
    });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        Stream &found = require_stream(engine, stream);
        require_limit(type, value);
        found.core_limits[static_cast<std::size_t>(type)] = value;
    });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &) { require_stream(engine, stream).core_limits = {-1, -1}; });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
    return entry(__func__,
                 [&](Engine &engine, Lock &) { t_resource_stream = require_stream(engine, stream).handle(); });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        if (require_stream(engine, stream).handle() == t_resource_stream) {
            t_resource_stream = nullptr;
        }
    });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(value, "value");
        require_limit_type(type);
        const Stream *stream = engine.registry().find<Stream>(t_resource_stream);
        *value = stream != nullptr ? limit_of(*stream, type)
                                   : require_context(engine).device.core_limits[static_cast<std::size_t>(type)];
    });
}
