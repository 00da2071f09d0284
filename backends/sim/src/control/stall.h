// Explains waits without a time limit that take long (ASCEND_RT_SIM_STALL_MS) or can never end, with the chain of
// waits.
#pragma once

#include <vector>

#include "abi/acl.h"
#include "engine/core.h"

namespace aclsim {

// Guarded by the engine lock.
class Stall final : public StallReporter {
  public:
    explicit Stall(Core &core) : core_(core) {}
    void explain_stall(HostWait &wait) override REQUIRES(engine_lock);
    bool look_for_deadlock(HostWait &wait, Lock &lock) override REQUIRES(engine_lock);
    void set_thread_provider(aclsimThreadProvider provider) REQUIRES(engine_lock) { provider_ = provider; }

  private:
    std::vector<aclsimThread> ask_for_threads(Lock &lock) const REQUIRES(engine_lock);

    Core &core_;
    aclsimThreadProvider provider_ GUARDED_BY(engine_lock) = nullptr;
};

}  // namespace aclsim
