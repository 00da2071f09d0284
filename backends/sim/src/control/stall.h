// Explains waits without a time limit that take long (ASCEND_RT_SIM_STALL_MS) or can never end: what waits for what.
#pragma once

#include <string>

#include "engine/core.h"

namespace aclsim {

// Guarded by the engine's lock.
class Stall final : public StallReporter {
  public:
    explicit Stall(Core &core) : core_(core) {}
    void explain_stall(HostWait &wait) override REQUIRES(engine_lock);
    bool look_for_deadlock(HostWait &wait) override REQUIRES(engine_lock);

  private:
    Core &core_;
};

}  // namespace aclsim
