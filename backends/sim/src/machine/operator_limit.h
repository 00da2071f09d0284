// SPDX-License-Identifier: Apache-2.0
// Time limit of operators during the synchronization of a device (hardware_seen.md section 1.9).
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/host_wait.h"

namespace aclsim {

struct Device;

// Ends the wait if no task of the device has ended within the limit and all its streams were at waits or kernels. Work
// of the host has no limit: functions of the program, which may be in a debugger, and copies.
class OperatorLimit final : public WaitCheck {
  public:
    OperatorLimit(Core &core, const Device &device, std::chrono::microseconds limit)
        : core_(core), device_(device), limit_(limit) {}
    Time look(Lock &lock) override REQUIRES(engine_lock);

  private:
    std::uint64_t count_ended() const REQUIRES(engine_lock);
    bool is_waiting() const REQUIRES(engine_lock);

    Core &core_;
    const Device &device_;
    const std::chrono::microseconds limit_;
    Time since_{};
    Time look_at_{};
    std::uint64_t ended_ = UINT64_MAX;  // count at the last look
};

}  // namespace aclsim
