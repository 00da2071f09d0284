// SPDX-License-Identifier: Apache-2.0
// Subscriptions of the operators that models execute (profiling.md section 8).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "engine/core.h"
#include "engine/observer.h"
#include "observe/record_pipe.h"
#include "observe/task_times.h"

namespace aclsim {

// Created by aclprofCreateSubscribeConfig.
class SubscribeConfig final : public Object {
  public:
    static constexpr Kind kKind = Kind::SubscribeConfig;
    SubscribeConfig(bool with_times, std::uint32_t aicore_metrics, const int *fd)
        : has_times(with_times), metrics(aicore_metrics), descriptor(fd) {}

    const bool has_times;
    const std::uint32_t metrics;
    const int *const descriptor;  // belongs to the program
};

// Guarded by the engine lock.
class Subscriptions final : public Observer {
  public:
    explicit Subscriptions(Core &core) : Observer(kTasks), core_(core) {}

    bool any() const REQUIRES(engine_lock) { return !models_.empty(); }
    bool has(std::uint32_t model) const REQUIRES(engine_lock) { return models_.count(model) != 0; }
    // True after the first subscription: before it, functions that read records do nothing (profiling.md section 8).
    bool were_used() const { return were_used_; }
    // Fails with ACL_ERROR_INVALID_PARAM for a descriptor that cannot be written.
    void subscribe(std::uint32_t model, const SubscribeConfig &config) REQUIRES(engine_lock);
    // Writes what is left, for a second at most, and closes the descriptor. Releases the lock.
    void unsubscribe(Lock &lock, std::uint32_t model) REQUIRES(engine_lock);

    void started(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void ended(const Moment &, const Stream &, const Task &, std::uint32_t) override REQUIRES(engine_lock);
    void dropped(const Moment &, const Stream &, const Task &, aclError) override REQUIRES(engine_lock);
    void fact_lost(const Moment &) override REQUIRES(engine_lock);

    OperatorNames names;

  private:
    // Ends the subscription; the pipe is closed by another function.
    void remove(std::uint32_t model) REQUIRES(engine_lock);

    Core &core_;
    std::atomic<bool> has_lost_facts_{false};
    std::atomic<bool> were_used_{false};
    std::map<std::uint32_t, std::shared_ptr<RecordPipe>> models_ GUARDED_BY(engine_lock);
    TaskTimes times_ GUARDED_BY(engine_lock);
};

}  // namespace aclsim
