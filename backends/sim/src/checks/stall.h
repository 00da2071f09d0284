// What a thread is told that waits for long without a time limit, or will wait for ever: what waits for what
// (ASCEND_RT_SIM_STALL_MS).
#pragma once

#include <string>

#include "engine/core.h"

namespace aclsim {

// Guarded by the engine's lock.
class Stall final : public StallReporter {
  public:
    explicit Stall(Core &core) : core_(core) {}
    void explain_stall(HostWait &wait) override REQUIRES(engine_lock);
    void look_for_deadlock(HostWait &wait) override REQUIRES(engine_lock);

  private:
    Core &core_;
};

}  // namespace aclsim
