// SPDX-License-Identifier: Apache-2.0
// Fault injection: failing calls and tasks, delayed tasks, lost, poisoned or down devices, and limited resources
// (abi/aclsim.h, ASCEND_RT_SIM_FAULTS).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/acl.h"
#include "engine/core.h"

namespace aclsim {

class Machine;
class Memory;
struct Device;

// Selects the streams of a rule: one by its handle, those with one ID, or all.
struct StreamFilter {
    void *handle = nullptr;
    std::int64_t id = -1;
    bool matches(const Stream &stream) const REQUIRES(engine_lock);
};

// Rules for calls and tasks. Guarded by the engine lock. As the task filter of the core, replaces each task that
// matches a rule by one that fails or is delayed.
class Faults final : public TaskFilter {
  public:
    explicit Faults(Core &core) : core_(core) {}
    // Make the nth call or task from now on fail, or every one if nth is 0. Invalid arguments fail with
    // ACL_ERROR_INVALID_PARAM.
    void fail_call(const std::string &function, std::uint64_t nth, aclError code) REQUIRES(engine_lock);
    void fail_task(const StreamFilter &streams, std::uint64_t nth, aclError code) REQUIRES(engine_lock);
    // Delays the start of each task submitted from now on; 0 ends the delay.
    void delay_tasks(const StreamFilter &streams, std::chrono::microseconds delay) REQUIRES(engine_lock);
    void clear() REQUIRES(engine_lock);

    // Returns true if there are rules for calls. Call with or without the lock.
    static bool concerns_calls() { return concerns_calls_.load(std::memory_order_relaxed); }
    void check_call(Function function) REQUIRES(engine_lock);  // throws the failure of a rule whose turn has come
    void filter(const Stream &stream, std::unique_ptr<Task> &task) override REQUIRES(engine_lock);

  private:
    static std::atomic<bool> concerns_calls_;
    // Counts the calls or tasks that match a rule.
    struct Turn {
        std::uint64_t nth;
        aclError code;
        std::uint64_t seen = 0;
        bool comes() { return ++seen == nth || nth == 0; }
    };
    struct CallRule {
        Function function;
        Turn turn;
    };
    struct TaskRule {
        StreamFilter streams;
        Turn turn;
    };
    struct DelayRule {
        StreamFilter streams;
        std::chrono::microseconds delay;
    };
    Core &core_;
    std::vector<CallRule> calls_ GUARDED_BY(engine_lock);
    std::vector<TaskRule> tasks_ GUARDED_BY(engine_lock);
    std::vector<DelayRule> delays_ GUARDED_BY(engine_lock);
};

// Makes everything on the device fail with the code until its last context is destroyed.
void lose_device(Machine &machine, Device &device, aclError code) REQUIRES(engine_lock);

// Makes the creation of streams and the allocation of memory on the device fail with the code until
// aclrtResetDeviceForce.
void poison_device(Device &device, aclError code) REQUIRES(engine_lock);

// Makes the device lost, and the destruction of its streams fail, until aclrtResetDeviceForce. The first call that
// destroys a stream blocks for the given time before it fails.
void take_down_device(Machine &machine, Device &device, std::chrono::microseconds block) REQUIRES(engine_lock);

// Limits the amount of a resource that may be in use on the device; the unit of memory is the byte.
void limit_resource(Memory &memory, Device &device, aclsimResource resource, std::uint64_t limit) REQUIRES(engine_lock);
constexpr std::uint64_t kNoLimit = UINT64_MAX;

// Applies the entries of ASCEND_RT_SIM_FAULTS. Returns a description of the first error, or "" if there is none.
std::string apply_faults(Faults &faults, Memory &memory, const std::string &text) REQUIRES(engine_lock);

}  // namespace aclsim
