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
    // A number for a stream; false: the device gives out no more.
    bool acquire_stream(std::uint32_t &id) REQUIRES(engine_lock);
    void release_stream(std::uint32_t id) REQUIRES(engine_lock);
    std::uint32_t available_streams() const REQUIRES(engine_lock);
    // While the process has a context on the device, the streams without a number from acquire_stream() count, too.
    void count_internal_streams() REQUIRES(engine_lock);
    void release_internal_streams() REQUIRES(engine_lock);

    const std::uint32_t user_id;                                 // what the API calls it
    const std::uint32_t physical_id;                             // before ASCEND_RT_VISIBLE_DEVICES
    std::optional<std::uint32_t> shard GUARDED_BY(engine_lock);  // of its streams and events, from its first context on
    // What other processes leave of its streams and its memory; nullptr with ASCEND_RT_SIM_CARDS=separate.
    const std::unique_ptr<SharedCard> card;
    // Ids 0 and 1 belong to the primary context's default stream and to the runtime itself: the first stream that a
    // user creates has id 2 (events_streams_sync.md section 3 [obs]).
    IdPool stream_ids;
    IdPool event_ids;
    IdPool notify_ids;
    std::array<std::uint32_t, 2> core_limits GUARDED_BY(engine_lock);  // cube, vector
    Ref<Context> primary GUARDED_BY(engine_lock);                      // while set_count > 0
    // What streams and memory of it fail with until a forced reset: aclsimPoisonDevice.
    aclError poisoned GUARDED_BY(engine_lock) = ACL_SUCCESS;
    // aclsimTakeDownDevice: how long the next call blocks that would destroy a stream, and fails.
    std::optional<std::chrono::microseconds> down GUARDED_BY(engine_lock);
    std::uint32_t set_count GUARDED_BY(engine_lock) = 0;      // aclrtSetDevice minus aclrtResetDevice
    std::vector<Context *> contexts GUARDED_BY(engine_lock);  // all live ones, the primary included
    // Physical ids: the process need not see those whose memory it imports.
    std::set<std::uint32_t> accessible_peers GUARDED_BY(engine_lock);
    bool has_group GUARDED_BY(engine_lock);  // a compute group was chosen, or need not be
};

// Each fails if the device is in the state that its name excludes.
inline void require_not_aborting(const Device &device) REQUIRES(engine_lock) {
    if (device.aborting) {
        fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "the tasks of device %u are being aborted", device.user_id);
    }
}
inline void require_not_lost(const Device &device) REQUIRES(engine_lock) {  // after aclsimLoseDevice
    if (device.lost != ACL_SUCCESS) {
        fail(device.lost, "device %u is lost", device.user_id);
    }
}
// After aclsimPoisonDevice: what exists can be used, but nothing new is to be had (hardware_seen.md sections 1.11
// to 1.14).
inline void require_not_poisoned(const Device &device) REQUIRES(engine_lock) {
    if (device.poisoned != ACL_SUCCESS) {
        fail(device.poisoned, "an operator has left device %u in a state that only aclrtResetDeviceForce ends",
             device.user_id);
    }
}

}  // namespace aclsim
