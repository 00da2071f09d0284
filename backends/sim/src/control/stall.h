// SPDX-License-Identifier: Apache-2.0
// Explains waits without a time limit that take long (ASCEND_RT_SIM_STALL_MS) or can never end, with the chain of
// waits. With ASCEND_RT_SIM_CHECK=deadlocks, those that can never end are reported with their places.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "abi/acl.h"
#include "engine/core.h"
#include "observe/submission_calls.h"

namespace aclsim {

// Guarded by the engine lock.
class Stall final : public StallReporter {
  public:
    explicit Stall(Core &core) : core_(core) {}
    // Required by the check for deadlocks.
    void set_calls(const SubmissionCalls &calls) REQUIRES(engine_lock) { calls_ = &calls; }
    void explain_stall(HostWait &wait) override REQUIRES(engine_lock);
    bool look_for_deadlock(HostWait &wait, Lock &lock) override REQUIRES(engine_lock);
    void set_thread_provider(aclsimThreadProvider provider) REQUIRES(engine_lock) { provider_ = provider; }
    void set_thread_describer(aclsimThreadDescriber describer) REQUIRES(engine_lock) { describer_ = describer; }

  private:
    // Explains the wait, or reports it, if it is a deadlock. Returns true if the answer depends on actions of the
    // program's threads.
    bool look(HostWait &wait, Lock &lock, const std::vector<aclsimThread> &threads) REQUIRES(engine_lock);
    std::vector<aclsimThread> ask_for_threads(Lock &lock) const REQUIRES(engine_lock);

    Core &core_;
    const SubmissionCalls *calls_ GUARDED_BY(engine_lock) = nullptr;
    aclsimThreadProvider provider_ GUARDED_BY(engine_lock) = nullptr;
    aclsimThreadDescriber describer_ GUARDED_BY(engine_lock) = nullptr;
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // stream and sequence number of its head
    std::set<Key> reported_ GUARDED_BY(engine_lock);      // by the check; a later wait for the same is not news
    std::uint32_t reports_ GUARDED_BY(engine_lock) = 0;   // that threads are writing
    std::uint64_t asked_at_ GUARDED_BY(engine_lock) = 0;  // the engine's changes at the last question for threads
};

}  // namespace aclsim
