// Devices (device_context_init_errors.md section 5).
#include <algorithm>
#include <initializer_list>

#include "entry.h"

using namespace aclsim;

namespace {

// Guarded by the engine's lock.
aclrtFloatOverflowMode g_sat_mode = ACL_RT_OVERFLOW_MODE_SATURATION;

void reset_device(Engine &engine, Lock &lock, std::int32_t id, bool force) {
    Device &device = require_device(engine, id);
    if (device.set_count == 0) {
        fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device %d is not set, or was reset as often as it was set", id);
    }
    device.set_count = force ? 0 : device.set_count - 1;
    if (device.set_count > 0) {
        return;
    }
    destroy_context(engine, lock, std::move(device.primary), force);
    // The thread loses its primary context, whichever device it is of [obs].
    thread_context().primary_context = nullptr;
}

// The six conversions between user, logic and physical ids: the simulator has no containers, so logic and physical ids
// are the same; a user id is an index into ASCEND_RT_VISIBLE_DEVICES.
template <class Convert>
aclError convert_id(const char *function, std::int32_t in, std::int32_t *out, Convert convert) {
    return entry(function, [&](Engine &engine, Lock &) {
        require(out, "the output id");
        if (in < 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "device id %d is negative", in);
        }
        *out = convert(engine, in);
    });
}

std::int32_t physical_of_user(Engine &engine, std::int32_t id) {
    return static_cast<std::int32_t>(require_device(engine, id).physical_id);
}

std::int32_t user_of_physical(Engine &engine, std::int32_t id) {
    for (const auto &device : engine.devices()) {
        if (static_cast<std::int32_t>(device->physical_id) == id) {
            return static_cast<std::int32_t>(device->user_id);
        }
    }
    fail(ACL_ERROR_RT_INVALID_DEVICEID, "no visible device has id %d", id);
}

std::int64_t attribute(const Device &device, aclrtDevAttr attr) {
    const Product &product = *config().product;
    switch (attr) {
        case ACL_DEV_ATTR_AICPU_CORE_NUM:
            return product.aicpu_cores;
        case ACL_DEV_ATTR_AICORE_CORE_NUM:
        case ACL_DEV_ATTR_CUBE_CORE_NUM:
            return product.cube_cores;
        case ACL_DEV_ATTR_VECTOR_CORE_NUM:
            return product.vector_cores;
        case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
            return static_cast<std::int64_t>(product.memory_bytes);
        case ACL_DEV_ATTR_L2_CACHE_SIZE:
            return static_cast<std::int64_t>(product.l2_bytes);
        case ACL_DEV_ATTR_PHY_CHIP_ID:
            return device.physical_id;
        case ACL_DEV_ATTR_SMP_ID:
        case ACL_DEV_ATTR_IS_VIRTUAL:
            return 0;
        default:
            fail(ACL_ERROR_RT_PARAM_INVALID, "device attribute %d is not simulated or does not exist",
                 static_cast<int>(attr));
    }
}

void synchronize_device(Engine &engine, Lock &lock, std::int32_t timeout_ms) {
    Context &context = require_context(engine);
    const Clock::time_point deadline = deadline_of(timeout_ms);
    aclError first = ACL_SUCCESS;
    const auto streams = context.streams;  // others may create and destroy streams meanwhile
    for (const auto &stream : streams) {
        if ((stream->flags & (ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_PERSISTENT)) != 0) {
            continue;
        }
        if (engine.wait_for(lock, stream, stream->submitted, deadline) == Engine::Waited::TimedOut) {
            fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u was not done within %d ms", stream->id, timeout_ms);
        }
        const aclError failure = std::exchange(stream->failure, ACL_SUCCESS);
        first = first == ACL_SUCCESS ? failure : first;
    }
    if (first != ACL_SUCCESS) {
        fail(first, "a task of the current context failed");
    }
}

}  // namespace

aclError aclrtGetDeviceCount(uint32_t *count) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(count, "count");
        if (!config().visible_is_valid) {
            fail(ACL_ERROR_RT_NO_DEVICE, "ASCEND_RT_VISIBLE_DEVICES selects no device");
        }
        *count = static_cast<uint32_t>(engine.devices().size());
    });
}

aclError aclrtSetDevice(int32_t deviceId) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        Device &device = require_device(engine, deviceId);
        require_not_lost(device);
        if (device.set_count == 0) {
            device.primary = create_context(engine, device, /*primary=*/true);
        }
        ++device.set_count;
        thread_context() = {nullptr, device.primary->handle()};
    });
}

aclError aclrtResetDevice(int32_t deviceId) {
    return entry(__func__, [&](Engine &engine, Lock &lock) { reset_device(engine, lock, deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return entry(__func__, [&](Engine &engine, Lock &lock) { reset_device(engine, lock, deviceId, true); });
}

aclError aclrtGetDevice(int32_t *deviceId) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(deviceId, "deviceId");
        const Context *context = current_context(engine);
        if (context == nullptr) {
            refuse(ACL_ERROR_RT_CONTEXT_NULL, "no device is set in the calling thread");
        }
        *deviceId = static_cast<int32_t>(context->device.user_id);
    });
}

aclError aclrtGetRunMode(aclrtRunMode *runMode) {
    return entry(__func__, [&](Engine &, Lock &) {
        require(runMode, "runMode");
        *runMode = ACL_HOST;
    });
}

const char *aclrtGetSocName() { return config().error.empty() ? config().product->soc_name : nullptr; }

aclError aclrtSetTsDevice(aclrtTsId tsId) {
    return entry(__func__, [&](Engine &, Lock &) {
        if (tsId != ACL_TS_ID_AICORE && tsId != ACL_TS_ID_AIVECTOR) {
            reject(ACL_ERROR_INVALID_PARAM, "there is no task scheduler %d", static_cast<int>(tsId));
        }
    });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(deviceStatus, "deviceStatus");
        const bool is_lost = require_device(engine, deviceId).lost != ACL_SUCCESS;
        *deviceStatus = is_lost ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
    });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(value, "value");
        if (deviceId >= engine.devices().size()) {  // 107000 here, not 107001 [obs]
            fail(ACL_ERROR_RT_PARAM_INVALID, "device %u does not exist", deviceId);
        }
        *value = attribute(*engine.devices()[deviceId], attr);
    });
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value) {
    return entry(__func__, [&](Engine &engine, Lock &) {
        require(value, "value");
        require_device(engine, deviceId);
        if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
            devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no device feature %d", static_cast<int>(devFeatureType));
        }
        *value = config().product->is_stars ? 1 : 0;
    });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority) {
    return entry(__func__, [&](Engine &, Lock &) {
        if (leastPriority != nullptr) {
            *leastPriority = static_cast<int32_t>(kPriorities) - 1;
        }
        if (greatestPriority != nullptr) {
            *greatestPriority = 0;
        }
    });
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId) {
    return convert_id(__func__, userDevid, logicDevId, physical_of_user);
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevid) {
    return convert_id(__func__, logicDevId, userDevid, user_of_physical);
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t *const logicDevId) {
    return convert_id(__func__, phyDevId, logicDevId, user_of_physical);  // really a user id, as documented
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId) {
    return convert_id(__func__, logicDevId, phyDevId, physical_of_user);  // really of a user id, as documented
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t *const userDevId) {
    return convert_id(__func__, phyDevId, userDevId, user_of_physical);
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t *const phyDevId) {
    return convert_id(__func__, userDevId, phyDevId, physical_of_user);
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    return entry(__func__, [&](Engine &, Lock &) {
        if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no overflow mode %d", static_cast<int>(mode));
        }
        g_sat_mode = mode;
    });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
    return entry(__func__, [&](Engine &, Lock &) {
        require(mode, "mode");
        *mode = g_sat_mode;
    });
}

aclError aclrtSynchronizeDevice() {
    return entry(__func__, [&](Engine &engine, Lock &lock) { synchronize_device(engine, lock, -1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (timeout == 0 || timeout < -1) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d ms is neither -1 nor positive", timeout);
        }
        synchronize_device(engine, lock, timeout);
    });
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
    constexpr uint32_t kLongest = 36 * 60 * 1000;
    return entry(__func__, [&](Engine &engine, Lock &lock) {
        if (!config().product->has_control_queue) {
            refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s cannot abort its tasks", config().product->name);
        }
        if (timeout > kLongest) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %u ms is above %u", timeout, kLongest);
        }
        Device &device = require_device(engine, deviceId);
        abort_device(engine, lock, device);
    });
}
