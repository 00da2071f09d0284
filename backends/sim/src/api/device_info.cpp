// SPDX-License-Identifier: Apache-2.0
// Device queries (device_context_init_errors.md sections 5 and 10).
#include <strings.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api/entry.h"

using namespace aclsim;

namespace {

// Converts between user, logic and physical ids, for all six conversion functions. Logic and physical ids are the same
// because the simulator has no containers; a user id is an index into ASCEND_RT_VISIBLE_DEVICES.
template <class Convert>
aclError convert_id(Function function, std::int32_t in, std::int32_t *out, Convert convert) {
    return entry(function, [&](Simulator &sim, Lock &) {
        require(out, "the output id");
        if (in < 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "device id %d is negative", in);
        }
        *out = convert(sim, in);
    });
}

std::int32_t physical_of_user(Simulator &sim, std::int32_t id) REQUIRES(engine_lock) {
    return static_cast<std::int32_t>(require_device(sim, id).physical_id);
}

std::int32_t user_of_physical(Simulator &sim, std::int32_t id) {
    for (const auto &device : sim.machine.devices) {
        if (static_cast<std::int32_t>(device->physical_id) == id) {
            return static_cast<std::int32_t>(device->user_id);
        }
    }
    fail(ACL_ERROR_RT_INVALID_DEVICEID, "no visible device has id %d", id);
}

constexpr Trait kNoTrait{};

// Table of attributes. The values of the SIMT and super pod attributes are invented: no source has them.
struct DeviceAttribute {
    aclrtDevAttr attribute;
    Trait needs;  // ACL_ERROR_RT_FEATURE_NOT_SUPPORT on products without this trait
    std::int64_t (*value)(const Device &, const Product &);
};
constexpr DeviceAttribute kDeviceAttributes[] = {
    {ACL_DEV_ATTR_AICPU_CORE_NUM, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.aicpu_cores; }},
    {ACL_DEV_ATTR_AICORE_CORE_NUM, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.cube_cores; }},
    {ACL_DEV_ATTR_CUBE_CORE_NUM, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.cube_cores; }},
    {ACL_DEV_ATTR_VECTOR_CORE_NUM, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.vector_cores; }},
    {ACL_DEV_ATTR_WARP_SIZE, kHasSimt, [](auto &, auto &) -> std::int64_t { return 32; }},
    {ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE, kHasSimt, [](auto &, auto &) -> std::int64_t { return 2048; }},
    {ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, kHasSimt, [](auto &, auto &) -> std::int64_t { return 256 * 1024; }},
    {ACL_DEV_ATTR_MAX_GRID_DIM_X, kHasSimt, [](auto &, auto &) -> std::int64_t { return 65535; }},
    {ACL_DEV_ATTR_MAX_GRID_DIM_Y, kHasSimt, [](auto &, auto &) -> std::int64_t { return 65535; }},
    {ACL_DEV_ATTR_MAX_GRID_DIM_Z, kHasSimt, [](auto &, auto &) -> std::int64_t { return 65535; }},
    {ACL_DEV_ATTR_MAX_BLOCK_PER_GRID, kHasSimt, [](auto &, auto &) -> std::int64_t { return 65535; }},
    {ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK, kHasSimt, [](auto &, auto &) -> std::int64_t { return 2048; }},
    {ACL_DEV_ATTR_MAX_BLOCK_DIM_X, kHasSimt, [](auto &, auto &) -> std::int64_t { return 2048; }},
    {ACL_DEV_ATTR_MAX_BLOCK_DIM_Y, kHasSimt, [](auto &, auto &) -> std::int64_t { return 2048; }},
    {ACL_DEV_ATTR_MAX_BLOCK_DIM_Z, kHasSimt, [](auto &, auto &) -> std::int64_t { return 2048; }},
    {ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, kNoTrait,
     [](auto &, auto &it) { return static_cast<std::int64_t>(it.memory_bytes); }},
    {ACL_DEV_ATTR_L2_CACHE_SIZE, kNoTrait, [](auto &, auto &it) { return static_cast<std::int64_t>(it.l2_bytes); }},
    {ACL_DEV_ATTR_SMP_ID, kNoTrait, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_PHY_CHIP_ID, kNoTrait, [](auto &it, auto &) -> std::int64_t { return it.physical_id; }},
    {ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, kHasSuperPod, [](auto &it, auto &) -> std::int64_t { return it.physical_id; }},
    {ACL_DEV_ATTR_SUPER_POD_SERVER_ID, kHasSuperPod, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_SUPER_POD_ID, kHasSuperPod, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_CUST_OP_PRIVILEGE, kNoTrait, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_MAINBOARD_ID, kNoTrait, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_HD_CONNECT_TYPE, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.host_link; }},
    {ACL_DEV_ATTR_DEVICE_FORM_FACTOR, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.form_factor; }},
    {ACL_DEV_ATTR_IS_VIRTUAL, kNoTrait, [](auto &, auto &) -> std::int64_t { return 0; }},
    {ACL_DEV_ATTR_NPU_ARCH, kNoTrait, [](auto &, auto &it) -> std::int64_t { return it.npu_arch; }},
};

std::int64_t attribute_of(const Device &device, aclrtDevAttr attribute) {
    const Product &product = *config().product;
    for (const DeviceAttribute &row : kDeviceAttributes) {
        if (row.attribute != attribute) {
            continue;
        }
        if (row.needs != kNoTrait && !product.has(row.needs)) {
            fail_unremembered(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s has no device attribute %d", product.name,
                              static_cast<int>(attribute));
        }
        return row.value(device, product);
    }
    fail(ACL_ERROR_RT_PARAM_INVALID, "there is no device attribute %d", static_cast<int>(attribute));
}

// Format of bus ids: "domain:bus:device.function". Device 0 of the recorded machine reported 0000:3d:00.0.
constexpr unsigned kFirstBus = 0x3D;
constexpr std::int32_t kBusIdLength = 13;  // length including the final NUL

void write_bus_id(const Device &device, char *text) {
    std::snprintf(text, kBusIdLength, "0000:%02x:00.0", (kFirstBus + device.physical_id) & 0xFF);
}

// Builds a UUID of version 8 (free content) from a hash of the chip's name and the physical device.
aclrtUuid uuid_of(const Device &device) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char *letter = config().product->soc_name; *letter != '\0'; ++letter) {
        hash = (hash ^ static_cast<unsigned char>(*letter)) * 0x100000001B3;
    }
    const std::uint64_t high = (hash & ~0xF000ULL) | 0x8000;
    const std::uint64_t low = 0x8000000000000000 | device.physical_id;
    aclrtUuid uuid;
    for (unsigned i = 0; i < 8; ++i) {
        uuid.bytes[i] = static_cast<char>(high >> (56 - 8 * i));
        uuid.bytes[8 + i] = static_cast<char>(low >> (56 - 8 * i));
    }
    return uuid;
}

}  // namespace

namespace {

void count_devices(uint32_t *count) {
    require(count, "count");
    if (!config().visible_is_valid) {
        fail(ACL_ERROR_RT_NO_DEVICE, "%s", visible_devices_text().c_str());
    }
    *count = static_cast<uint32_t>(config().visible.size());
}

}  // namespace

aclError aclrtGetDeviceCount(uint32_t *count) {
    if (!Simulator::was_started()) {  // and starts nothing: a program may ask for devices, and fork then
        return checked_entry(Function::aclrtGetDeviceCount, [&] { count_devices(count); });
    }
    return entry(Function::aclrtGetDeviceCount, [&](Simulator &, Lock &) { count_devices(count); });
}

aclError aclrtGetRunMode(aclrtRunMode *runMode) {
    return entry(Function::aclrtGetRunMode, [&](Simulator &, Lock &) {
        require(runMode, "runMode");
        *runMode = ACL_HOST;
    });
}

const char *aclrtGetSocName() { return config().error.empty() ? config().product->soc_name : nullptr; }

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus) {
    return entry(Function::aclrtQueryDeviceStatus, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(deviceStatus, "deviceStatus");
        const bool is_lost = require_device(sim, deviceId).lost != ACL_SUCCESS;
        *deviceStatus = is_lost ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
    });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value) {
    return entry(Function::aclrtGetDeviceInfo, [&](Simulator &sim, Lock &) {
        require(value, "value");
        if (deviceId >= sim.machine.devices.size()) {  // returns 107000, not 107001 (section 5)
            fail(ACL_ERROR_RT_PARAM_INVALID, "device %u does not exist", deviceId);
        }
        *value = attribute_of(*sim.machine.devices[deviceId], attr);
    });
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value) {
    return entry(Function::aclrtGetDeviceCapability, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(value, "value");
        require_device(sim, deviceId);
        if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
            devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no device feature %d", static_cast<int>(devFeatureType));
        }
        *value = config().product->is_stars ? 1 : 0;
    });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority) {
    return entry(Function::aclrtDeviceGetStreamPriorityRange, [&](Simulator &, Lock &) {
        if (leastPriority != nullptr) {
            *leastPriority = static_cast<int32_t>(kPriorities) - 1;
        }
        if (greatestPriority != nullptr) {
            *greatestPriority = 0;
        }
    });
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId) {
    return convert_id(Function::aclrtGetLogicDevIdByUserDevId, userDevid, logicDevId, physical_of_user);
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevid) {
    return convert_id(Function::aclrtGetUserDevIdByLogicDevId, logicDevId, userDevid, user_of_physical);
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t *const logicDevId) {
    return convert_id(Function::aclrtGetLogicDevIdByPhyDevId, phyDevId, logicDevId,
                      user_of_physical);  // returns a user id, as documented
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId) {
    return convert_id(Function::aclrtGetPhyDevIdByLogicDevId, logicDevId, phyDevId,
                      physical_of_user);  // takes a user id, as documented
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t *const userDevId) {
    return convert_id(Function::aclrtGetUserDevIdByPhyDevId, phyDevId, userDevId, user_of_physical);
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t *const phyDevId) {
    return convert_id(Function::aclrtGetPhyDevIdByUserDevId, userDevId, phyDevId, physical_of_user);
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value) {
    return entry(Function::aclGetDeviceCapability, [&](Simulator &sim, Lock &) {
        require(value, "value");
        if (deviceId >= sim.machine.devices.size()) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "device %u does not exist", deviceId);
        }
        const Product &product = *config().product;
        switch (deviceInfo) {
            case ACL_DEVICE_INFO_AI_CORE_NUM:
                *value = product.cube_cores;
                break;
            case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
                *value = product.vector_cores;
                break;
            case ACL_DEVICE_INFO_L2_SIZE:
                *value = static_cast<int64_t>(product.l2_bytes);
                break;
            default:
                fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no device information %d",
                                  static_cast<int>(deviceInfo));
        }
    });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo) {
    return entry(Function::aclrtGetDeviceUtilizationRate, [&](Simulator &sim, Lock &) {
        require(utilizationInfo, "utilizationInfo");
        if (utilizationInfo->utilizationExtend != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "utilizationExtend must be NULL");
        }
        // Report unknown values as -1, including all values of a device that does not exist. Simulated cores are always
        // idle.
        const bool exists = deviceId >= 0 && static_cast<std::size_t>(deviceId) < sim.machine.devices.size();
        const int32_t cores = exists ? 0 : -1;
        *utilizationInfo = {cores, cores, cores, -1, nullptr};
    });
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid) {
    return entry(Function::aclrtDeviceGetUuid, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(uuid, "uuid");
        require_supported();
        *uuid = uuid_of(require_device(sim, deviceId));
    });
}

aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char *pciBusId, int32_t len) {
    return entry(Function::aclrtDeviceGetPCIBusId, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(pciBusId, "pciBusId");
        require_supported();
        const Device &device = require_device(sim, deviceId);
        if (len < kBusIdLength) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "%d bytes are too few; the id takes %d", len, kBusIdLength);
        }
        write_bus_id(device, pciBusId);
    });
}

aclError aclrtDeviceGetByPCIBusId(const char *pciBusId, int32_t *deviceId) {
    return entry(Function::aclrtDeviceGetByPCIBusId, [&](Simulator &sim, Lock &) {
        require(pciBusId, "pciBusId");
        require(deviceId, "deviceId");
        require_supported();
        for (const auto &device : sim.machine.devices) {
            char own[kBusIdLength];
            write_bus_id(*device, own);
            if (strcasecmp(own, pciBusId) == 0) {
                *deviceId = static_cast<int32_t>(device->user_id);
                return;
            }
        }
        fail(ACL_ERROR_RT_PARAM_INVALID, "no device is at %s", pciBusId);
    });
}

aclError aclrtDeviceGetBareTgid(int32_t *pid) {
    return entry(Function::aclrtDeviceGetBareTgid, [&](Simulator &, Lock &) {
        require(pid, "pid");
        *pid = getpid();
    });
}

aclError aclrtCheckArchCompatibility(const char *socVersion, int32_t *canCompatible) {
    return entry(Function::aclrtCheckArchCompatibility, [&](Simulator &, Lock &) {
        if (socVersion == nullptr || canCompatible == nullptr) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "socVersion or canCompatible is NULL");  // 107000, not 100000 (section 10)
        }
        const std::uint32_t arch = npu_arch_of(socVersion);
        if (arch == 0) {
            fail(ACL_ERROR_RT_PARAM_INVALID, "there is no chip \"%s\"", socVersion);
        }
        *canCompatible = arch == config().product->npu_arch ? 1 : 0;
    });
}
