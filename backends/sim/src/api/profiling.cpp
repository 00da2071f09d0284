// SPDX-License-Identifier: Apache-2.0
// Profiles (docs/semantics/profiling.md): their configurations, and the calls from aclprofInit to aclprofFinalize.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "api/entry.h"
#include "observe/profiler.h"
#include "observe/subscriptions.h"
#include "support/file.h"

using namespace aclsim;

namespace {

constexpr std::size_t kLongestPath = 4095;
constexpr std::uint32_t kMostDevices = 64;
constexpr std::uint64_t kDataTypes =
    ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU | ACL_PROF_L2CACHE |
    ACL_PROF_HCCL_TRACE | ACL_PROF_TRAINING_TRACE | ACL_PROF_MSPROFTX | ACL_PROF_RUNTIME_API | ACL_PROF_GE_API_L0 |
    ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_MEMORY | ACL_PROF_TASK_TIME_L2 | ACL_PROF_OP_ATTR | ACL_PROF_TASK_TIME_L3 |
    ACL_PROF_GE_API_L1 | ACL_PROF_API_STATS | ACL_PROF_AICORE_SHAPE;

ProfileConfig &require_config(Simulator &sim, const aclprofConfig *config) REQUIRES(engine_lock) {
    require(config, "profilerConfig");
    auto *found = sim.core.registry().find<ProfileConfig>(const_cast<aclprofConfig *>(config));
    if (found == nullptr) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "%p is not a live configuration of aclprofCreateConfig",
                          static_cast<const void *>(config));
    }
    return *found;
}

void require_initialized(const Simulator &sim) REQUIRES(engine_lock) {
    if (!sim.profiler.is_initialized()) {
        fail_unremembered(ACL_ERROR_PROF_NOT_RUN, "call aclprofInit first");
    }
}

void require_devices(Simulator &sim, const std::uint32_t *devices, std::uint32_t number) REQUIRES(engine_lock) {
    if (number > 0) {
        require(devices, "deviceIdList");
    }
    if (number > std::min<std::size_t>(kMostDevices, sim.machine.devices.size())) {
        fail_unremembered(ACL_ERROR_INVALID_PARAM, "there are no %u devices", number);
    }
    std::set<std::uint32_t> known;
    for (std::uint32_t i = 0; i < number; ++i) {
        if (devices[i] >= sim.machine.devices.size() || !known.insert(devices[i]).second) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "device %u does not exist, or is in the list twice", devices[i]);
        }
    }
}

// Creates a directory that no other profile has, neither of this process nor of another.
std::string make_result_directory(const std::string &path, const std::string &stamp) {
    make_directories(path, ACL_ERROR_INVALID_FILE);
    for (int number = 1;; ++number) {
        char name[64];
        std::snprintf(name, sizeof name, "/PROF_%06d_%s_%d", number, stamp.c_str(), static_cast<int>(getpid()));
        if (mkdir((path + name).c_str(), 0755) == 0) {
            const std::string made = path + name;
            try {
                make_directories(made + "/mindstudio_profiler_output", ACL_ERROR_INVALID_FILE);
            } catch (const Failure &) {
                rmdir(made.c_str());
                throw;
            }
            return made;
        }
        if (errno != EEXIST) {
            fail_unremembered(ACL_ERROR_INVALID_FILE, "cannot make a directory in %s: %s", path.c_str(),
                              std::strerror(errno));
        }
    }
}

// Writes all that can be written. Fails as the first one that cannot.
void write_all(const std::vector<std::unique_ptr<Profile>> &profiles) {
    std::optional<Failure> first;
    for (const auto &profile : profiles) {
        try {
            profile->write();
        } catch (const Failure &failure) {
            first = first ? first : failure;
        }
    }
    if (first) {
        throw *first;
    }
}

void require_startable(Simulator &sim, const ProfileConfig &config) REQUIRES(engine_lock) {
    if ((config.data_types & ~kDataTypes) != 0) {
        fail_unremembered(ACL_ERROR_PROF_MODULES_UNSUPPORTED, "there are no data types %#llx",
                          static_cast<unsigned long long>(config.data_types & ~kDataTypes));
    }
    require_initialized(sim);
    for (const std::uint32_t device : config.devices) {
        if (sim.profiler.is_taking(device)) {
            fail_unremembered(ACL_ERROR_PROF_ALREADY_RUN, "a profile of device %u is being taken", device);
        }
    }
}

}  // namespace

aclError aclprofInit(const char *profilerResultPath, size_t length) {
    return entry(Function::aclprofInit, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require(profilerResultPath, "profilerResultPath");
        if (length == 0 || length > kLongestPath || strnlen(profilerResultPath, length + 1) != length) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "%zu is not the length of the path, or not 1 to %zu", length,
                              kLongestPath);
        }
        if (sim.profiler.is_initialized()) {
            fail_unremembered(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit was called already");
        }
        if (sim.subscriptions.any()) {
            fail_unremembered(ACL_ERROR_PROF_API_CONFLICT, "models are subscribed");
        }
        sim.profiler.initialize(absolute_path(std::string(profilerResultPath, length)));
    });
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig) {
    void *handle = nullptr;
    entry(Function::aclprofCreateConfig, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        require_devices(sim, deviceIdList, deviceNums);
        if (aicoreEvents != nullptr) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "aicoreEvents is reserved, and not NULL");
        }
        if (deviceNums == 0 && (dataTypeConfig & ACL_PROF_MSPROFTX) == 0) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "without a device only ACL_PROF_MSPROFTX can be collected");
        }
        const auto config = make_ref<ProfileConfig>(std::vector<std::uint32_t>(deviceIdList, deviceIdList + deviceNums),
                                                    dataTypeConfig);
        sim.core.registry().add(config);
        handle = config->handle();
    });
    return static_cast<aclprofConfig *>(handle);
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig) {
    return entry(Function::aclprofDestroyConfig, [&](Simulator &sim, Lock &) REQUIRES(engine_lock) {
        sim.core.registry().remove(require_config(sim, profilerConfig));
    });
}

aclError aclprofStart(const aclprofConfig *profilerConfig) {
    return entry(Function::aclprofStart, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const Ref<ProfileConfig> config(require_config(sim, profilerConfig));
        require_startable(sim, *config);
        const std::string path = sim.profiler.path();
        auto profile = std::make_unique<Profile>();
        profile->devices = config->devices;
        profile->data_types = config->data_types;
        profile->stamp = time_stamp();
        {
            const Unlocked unlocked(lock);
            profile->directory = make_result_directory(path, profile->stamp);
        }
        require_startable(sim, *config);  // recheck: another thread may have started a profile
        sim.profiler.start(std::move(profile));
    });
}

aclError aclprofStop(const aclprofConfig *profilerConfig) {
    return entry(Function::aclprofStop, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const ProfileConfig &config = require_config(sim, profilerConfig);
        require_initialized(sim);
        const auto profile = sim.profiler.stop(config);
        if (profile == nullptr) {
            fail_unremembered(ACL_ERROR_PROF_NOT_RUN, "no profile was started with this configuration");
        }
        const Unlocked unlocked(lock);
        profile->write();
    });
}

aclError aclprofFinalize() {
    return entry(Function::aclprofFinalize, [&](Simulator &sim, Lock &lock) REQUIRES(engine_lock) {
        const auto profiles = sim.profiler.finalize();
        const Unlocked unlocked(lock);
        write_all(profiles);
    });
}
