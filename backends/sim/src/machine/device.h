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
#include "support/ref.h"

namespace aclsim {

class Context;

// Numbers below a limit, the smallest free one first.
class IdPool {
  public:
    IdPool(std::uint32_t first, std::uint32_t limit) : next_(first), limit_(limit) {}
    bool acquire(std::uint32_t &id);
    void release(std::uint32_t id) {
        returned_.push(id);
        --used_;
    }
    std::uint32_t available() const { return std::min(unused(), may_use_ > used_ ? may_use_ - used_ : 0); }
    // How many may be in use at a time, if that is less than there are numbers.
    void set_limit(std::uint32_t number) { may_use_ = number; }
    std::uint32_t in_use() const { return used_; }

  private:
    std::uint32_t unused() const { return limit_ - next_ + static_cast<std::uint32_t>(returned_.size()); }

    std::uint32_t next_;
    const std::uint32_t limit_;
    std::uint32_t used_ = 0;
    std::uint32_t may_use_ = UINT32_MAX;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> returned_;
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
    std::array<std::uint32_t, 2> core_limits;  // cube, vector
    Ref<Context> primary;                      // while set_count > 0
    aclError lost = ACL_SUCCESS;               // what everything on it fails with: aclsimLoseDevice
    std::uint32_t set_count = 0;               // aclrtSetDevice minus aclrtResetDevice
    std::vector<Context *> contexts;           // all live ones, the primary included
    std::set<std::uint32_t> accessible_peers;  // physical ids: the process need not see those whose memory it imports
    bool aborting = false;                     // aclrtDeviceTaskAbort runs
    bool has_group;                            // a compute group was chosen, or need not be
};

// Each fails if the device is in the state that its name excludes.
void require_not_aborting(const Device &device);
void require_not_lost(const Device &device);  // after aclsimLoseDevice

}  // namespace aclsim
