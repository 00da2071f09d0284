// A simulated device and what it counts out: stream ids, event ids, notify ids.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <vector>

#include "abi/acl.h"
#include "engine/lock.h"
#include "support/ref.h"

namespace aclsim {

class Context;

// Numbers below a limit, the smallest free one first.
class IdPool {
  public:
    IdPool(std::uint32_t first, std::uint32_t limit) : next_(first), limit_(limit) {}
    bool acquire(std::uint32_t &id) REQUIRES(engine_lock);
    void release(std::uint32_t id) REQUIRES(engine_lock) {
        returned_.push(id);
        --used_;
    }
    std::uint32_t available() const REQUIRES(engine_lock) {
        return std::min(unused(), may_use_ > used_ ? may_use_ - used_ : 0);
    }
    // How many may be in use at a time, if that is less than there are numbers.
    void set_limit(std::uint32_t number) REQUIRES(engine_lock) { may_use_ = number; }
    std::uint32_t in_use() const REQUIRES(engine_lock) { return used_; }

  private:
    std::uint32_t unused() const REQUIRES(engine_lock) {
        return limit_ - next_ + static_cast<std::uint32_t>(returned_.size());
    }

    std::uint32_t next_ GUARDED_BY(engine_lock);
    const std::uint32_t limit_;
    std::uint32_t used_ GUARDED_BY(engine_lock) = 0;
    std::uint32_t may_use_ GUARDED_BY(engine_lock) = UINT32_MAX;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> returned_ GUARDED_BY(engine_lock);
};

struct Device {
    Device(std::uint32_t user, std::uint32_t physical);
    ~Device();

    const std::uint32_t user_id;      // what the API calls it
    const std::uint32_t physical_id;  // before ASCEND_RT_VISIBLE_DEVICES
    // Ids 0 and 1 belong to the primary context's default stream and to the runtime itself: the first stream that a
    // user creates has id 2 (events_streams_sync.md section 3 [obs]).
    IdPool stream_ids;
    IdPool event_ids;
    IdPool notify_ids;
    std::array<std::uint32_t, 2> core_limits GUARDED_BY(engine_lock);  // cube, vector
    Ref<Context> primary GUARDED_BY(engine_lock);                      // while set_count > 0
    aclError lost GUARDED_BY(engine_lock) = ACL_SUCCESS;      // what everything on it fails with: aclsimLoseDevice
    std::uint32_t set_count GUARDED_BY(engine_lock) = 0;      // aclrtSetDevice minus aclrtResetDevice
    std::vector<Context *> contexts GUARDED_BY(engine_lock);  // all live ones, the primary included
    // Physical ids: the process need not see those whose memory it imports.
    std::set<std::uint32_t> accessible_peers GUARDED_BY(engine_lock);
    bool aborting GUARDED_BY(engine_lock) = false;  // aclrtDeviceTaskAbort runs
    bool has_group GUARDED_BY(engine_lock);         // a compute group was chosen, or need not be
};

// Each fails if the device is in the state that its name excludes.
void require_not_aborting(const Device &device) REQUIRES(engine_lock);
void require_not_lost(const Device &device) REQUIRES(engine_lock);  // after aclsimLoseDevice

}  // namespace aclsim
