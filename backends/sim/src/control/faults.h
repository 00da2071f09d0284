// Faults on demand: calls and tasks that fail, tasks that start late, devices that are lost, poisoned or down,
// resources that are scarce (abi/aclsim.h, ASCEND_RT_SIM_FAULTS).
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

// Which streams a rule is for: one by its handle, one by its number, or all.
struct StreamFilter {
    void *handle = nullptr;
    std::int64_t id = -1;
    bool matches(const Stream &stream) const REQUIRES(engine_lock);
};

// Guarded by the engine's lock. As the task filter of the core it replaces a task that a rule is for by one that fails,
// or is delayed.
class Faults final : public TaskFilter {
  public:
    explicit Faults(Core &core) : core_(core) {}
    // The nth call or task from now on fails, or every one if nth is 0. Arguments that make no
    // sense fail with ACL_ERROR_INVALID_PARAM.
    void fail_call(const std::string &function, std::uint64_t nth, aclError code) REQUIRES(engine_lock);
    void fail_task(const StreamFilter &streams, std::uint64_t nth, aclError code) REQUIRES(engine_lock);
    // A task starts by the delay later than it could; 0 ends the delay.
    void delay_tasks(const StreamFilter &streams, std::chrono::microseconds delay) REQUIRES(engine_lock);
    void clear() REQUIRES(engine_lock);

    static bool concerns_calls() { return concerns_calls_.load(std::memory_order_relaxed); }  // without the lock
    void check_call(Function function) REQUIRES(engine_lock);  // throws the failure when it is its turn
    void filter(const Stream &stream, std::unique_ptr<Task> &task) override REQUIRES(engine_lock);

  private:
    static std::atomic<bool> concerns_calls_;
    // Counts the calls or tasks that a rule is for.
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

// From now on everything on the device fails with the code, until the last of its contexts is gone. Engine lock held.
void lose_device(Machine &machine, Device &device, aclError code) REQUIRES(engine_lock);

// From now on the device gives out no stream and no memory, but this code, until aclrtResetDeviceForce.
void poison_device(Device &device, aclError code) REQUIRES(engine_lock);

// From now on the device is lost, and destroying its streams fails too until aclrtResetDeviceForce; the first such call
// blocks before.
void take_down_device(Machine &machine, Device &device, std::chrono::microseconds block) REQUIRES(engine_lock);

// How many of a resource a device gives out, memory in bytes.
void limit_resource(Memory &memory, Device &device, aclsimResource resource, std::uint64_t limit) REQUIRES(engine_lock);
constexpr std::uint64_t kNoLimit = UINT64_MAX;

// Carries out what ASCEND_RT_SIM_FAULTS asks for; returns what is wrong with it, or "".
std::string apply_faults(Faults &faults, Memory &memory, const std::string &text) REQUIRES(engine_lock);

}  // namespace aclsim
