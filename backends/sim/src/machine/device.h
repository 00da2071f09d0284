// SPDX-License-Identifier: Apache-2.0
// A simulated device.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "abi/acl.h"
#include "engine/lock.h"
#include "engine/stream.h"
#include "machine/id_pool.h"
#include "support/error.h"
#include "support/ref.h"

namespace aclsim {

class Context;
class SharedCard;

struct Device : DeviceHealth {
    Device(std::uint32_t user, std::uint32_t physical);
    ~Device();
    // Allocates a stream ID; returns false if the device has none left.
    bool acquire_stream(std::uint32_t &id) REQUIRES(engine_lock);
    void release_stream(std::uint32_t id) REQUIRES(engine_lock);
    std::uint32_t available_streams() const REQUIRES(engine_lock);
    // Counts the streams without an ID from acquire_stream(), while the process has a context on the device.
    void count_internal_streams() REQUIRES(engine_lock);
    void release_internal_streams() REQUIRES(engine_lock);

    const std::uint32_t user_id;                                 // ID in the API
    const std::uint32_t physical_id;                             // ID before ASCEND_RT_VISIBLE_DEVICES is applied
    std::optional<std::uint32_t> shard GUARDED_BY(engine_lock);  // shard of streams and events; set at first context
    // Limits streams and memory to the amounts that other processes leave free; nullptr with
    // ASCEND_RT_SIM_CARDS=separate.
    const std::unique_ptr<SharedCard> card;
    // IDs 0 and 1 belong to the primary context's default stream and to the runtime itself. The first stream that a
    // user creates has ID 2 (events_streams_sync.md section 3 [obs]).
    IdPool stream_ids;
    IdPool event_ids;
    IdPool notify_ids;
    std::array<std::uint32_t, 2> core_limits GUARDED_BY(engine_lock);  // cube, vector
    Ref<Context> primary GUARDED_BY(engine_lock);                      // set while set_count > 0
    // Code of stream and memory calls until a forced reset; set by aclsimPoisonDevice.
    aclError poisoned GUARDED_BY(engine_lock) = ACL_SUCCESS;
    // Time that the next call to destroy a stream blocks before it fails; set by aclsimTakeDownDevice.
    std::optional<std::chrono::microseconds> down GUARDED_BY(engine_lock);
    std::uint32_t set_count GUARDED_BY(engine_lock) = 0;      // aclrtSetDevice minus aclrtResetDevice
    std::vector<Context *> contexts GUARDED_BY(engine_lock);  // all live contexts, including the primary one
    // Physical IDs, because the process may import memory from devices that it cannot see.
    std::set<std::uint32_t> accessible_peers GUARDED_BY(engine_lock);
    bool has_group GUARDED_BY(engine_lock);  // true if a compute group was chosen or none is needed
};

// Each function fails if the device is in the state that its name excludes.
inline void require_not_aborting(const Device &device) REQUIRES(engine_lock) {
    if (device.aborting) {
        fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "the tasks of device %u are being aborted", device.user_id);
    }
}
inline void require_not_lost(const Device &device) REQUIRES(engine_lock) {  // set by aclsimLoseDevice
    if (device.lost != ACL_SUCCESS) {
        fail(device.lost, "device %u is lost", device.user_id);
    }
}
// Existing objects remain usable after aclsimPoisonDevice, but nothing new can be created (hardware_seen.md sections
// 1.11 to 1.14).
inline void require_not_poisoned(const Device &device) REQUIRES(engine_lock) {
    if (device.poisoned != ACL_SUCCESS) {
        fail(device.poisoned, "an operator has left device %u in a state that only aclrtResetDeviceForce ends",
             device.user_id);
    }
}

}  // namespace aclsim
