// SPDX-License-Identifier: Apache-2.0
// Options of process and context, core limits of streams, and the thread's resource stream
// (device_context_init_errors.md section 4). No simulated operation uses cores or options so far; they are stored for
// operations that will.
#include <iterator>

#include "api/entry.h"

using namespace aclsim;

namespace {

// Largest value and process value of each option, in the order of aclSysParamOpt. Guarded by the engine lock.
constexpr std::int64_t kLargestOption[] = {3, 1, 1, 1};
constexpr std::size_t kOptions = std::size(kLargestOption);
constexpr std::size_t kContextOptions = std::tuple_size_v<decltype(Context::options)>;
std::int64_t g_options[kOptions] = {};

std::size_t require_option(aclSysParamOpt opt, std::size_t options) {
    const auto index = static_cast<std::size_t>(static_cast<unsigned>(opt));
    if (index >= options) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no option %d here", static_cast<int>(opt));
    }
    return index;
}

std::int64_t require_option_value(std::size_t option, std::int64_t value) {
    if (value < 0 || value > kLargestOption[option]) {
        fail(ACL_ERROR_RT_PARAM_INVALID, "option %zu takes 0 to %lld, not %lld", option,
             static_cast<long long>(kLargestOption[option]), static_cast<long long>(value));
    }
    return value;
}

thread_local void *t_resource_stream = nullptr;  // stream handle

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

Device &require_open_device(Simulator &sim, std::int32_t id) REQUIRES(engine_lock) {
    Device &device = require_device(sim, id);
    if (device.contexts.empty()) {
        fail(ACL_ERROR_RT_DEV_SETUP_ERROR, "device %d is not open in this process", id);
    }
    return device;
}

// Returns the stream's own limit, or its device's limit if it has none.
std::uint32_t limit_of(const ContextStream &stream, aclrtDevResLimitType type) REQUIRES(engine_lock) {
    const std::int64_t own = stream.core_limits[static_cast<std::size_t>(type)];
    return own >= 0 ? static_cast<std::uint32_t>(own) : device_of(stream).core_limits[static_cast<std::size_t>(type)];
}

}  // namespace

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return entry(Function::aclrtSetSysParamOpt, [&](Simulator &, Lock &) {
        const std::size_t option = require_option(opt, kOptions);
        g_options[option] = require_option_value(option, value);
    });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    return entry(Function::aclrtGetSysParamOpt, [&](Simulator &, Lock &) {
        require(value, "value");
        *value = g_options[require_option(opt, kOptions)];
    });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return entry(Function::aclrtCtxSetSysParamOpt, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        const std::size_t option = require_option(opt, kContextOptions);
        require_context(sim).options[option] = require_option_value(option, value);
        g_options[option] = value;  // device_context_init_errors.md section 4
    });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    return entry(Function::aclrtCtxGetSysParamOpt, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        const std::size_t option = require_option(opt, kContextOptions);
        const auto &found = require_context(sim).options[option];
        if (!found) {
            fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "option %zu was never set in this context", option);
        }
        *value = *found;
    });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) {
    return entry(Function::aclrtGetDeviceResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        const Device &device = require_open_device(sim, deviceId);
        require_limit_type(type);
        *value = device.core_limits[static_cast<std::size_t>(type)];
    });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
    return entry(Function::aclrtSetDeviceResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        Device &device = require_open_device(sim, deviceId);
        require_limit(type, value);
        device.core_limits[static_cast<std::size_t>(type)] = value;
    });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
    return entry(Function::aclrtResetDeviceResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_open_device(sim, deviceId).core_limits = {config().product->cube_cores, config().product->vector_cores};
    });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value) {
    return entry(Function::aclrtGetStreamResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        const ContextStream &found = require_stream(sim, stream);
        require_limit_type(type);
        *value = limit_of(found, type);
    });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
    return entry(Function::aclrtSetStreamResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        ContextStream &found = require_stream(sim, stream);
        require_limit(type, value);
        found.core_limits[static_cast<std::size_t>(type)] = value;
    });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
    return entry(Function::aclrtResetStreamResLimit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_stream(sim, stream).core_limits = {-1, -1};
    });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
    return entry(Function::aclrtUseStreamResInCurrentThread, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        t_resource_stream = require_stream(sim, stream).handle();
    });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
    return entry(Function::aclrtUnuseStreamResInCurrentThread, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        if (require_stream(sim, stream).handle() == t_resource_stream) {
            t_resource_stream = nullptr;
        }
    });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
    return entry(Function::aclrtGetResInCurrentThread, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        require_limit_type(type);
        const ContextStream *stream = sim.core.registry().find<ContextStream>(t_resource_stream);
        *value = stream != nullptr ? limit_of(*stream, type)
                                   : require_context(sim).device.core_limits[static_cast<std::size_t>(type)];
    });
}
