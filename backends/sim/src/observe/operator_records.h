// SPDX-License-Identifier: Apache-2.0
// Operators that a program executes, noted between aclopStartDumpArgs and aclopStopDumpArgs (dumps.md section 6).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "engine/core.h"
#include "engine/observer.h"

namespace aclsim {

class OperatorRecords final : public Observer {
  public:
    explicit OperatorRecords(Core &core) : Observer(kTasks), core_(core) {}

    bool is_on() const REQUIRES(engine_lock) { return !directory_.empty(); }
    void start(const std::string &directory) REQUIRES(engine_lock);
    // Writes a file for each operator. Releases the lock. Fails with ACL_ERROR_FAILURE.
    void stop(Lock &lock) REQUIRES(engine_lock);

    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);

  private:
    // Name, number of blocks, size of the arguments, and operator information.
    using Operator = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>;

    Core &core_;
    std::atomic<bool> has_lost_facts_{false};
    std::string directory_ GUARDED_BY(engine_lock);
    std::mutex mutex_;  // tasks of several shards end at the same time
    std::map<Operator, std::uint64_t> launches_;
};

}  // namespace aclsim
