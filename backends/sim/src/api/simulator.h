// The simulator: owns every part, and is what the entry points get. The parts know those below them, not this.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core.h"
#include "machine/machine.h"

namespace aclsim {

class Faults;
class Initialization;
class Kernels;
class Labels;
class Memory;
class MemoryCheck;
class Models;
class Profiler;
class SharedWords;
class Stall;
class Values;

// Parts of a simulator that come from outside: none of the others names a clock or a scheduler.
struct SimulatorOptions {
    Clock &clock = host_clock();
    Scheduler &scheduler = eager_scheduler();
    std::vector<Observer *> observers{};  // from the first call on
};

// An entry point includes the headers of the parts that it uses.
class Simulator {
    struct Parts;

  public:
    explicit Simulator(const SimulatorOptions &options);
    Simulator(const Simulator &) = delete;
    Simulator &operator=(const Simulator &) = delete;
    // Made at the first call, and never destroyed: threads of the library may outlive main().
    static Simulator &get() {
        Simulator *known = instance_.load(std::memory_order_acquire);
        return known != nullptr ? *known : start();
    }
    static bool was_started();

    Clock &clock;
    Core core;
    Machine machine{core};

  private:
    Parts &parts_;

  public:
    Models &models;
    Labels &labels;
    Memory &memory;
    Kernels &kernels;
    Values &values;
    SharedWords &words;
    Initialization &initialization;
    Faults &faults;
    Profiler &profiler;
    Stall &stall;
    MemoryCheck &memory_check;  // an observer with ASCEND_RT_SIM_CHECK=memory

    std::string error;                    // what is wrong with ASCEND_RT_SIM_FAULTS: every call fails with this text
    std::uint32_t op_wait_timeout_s = 0;  // aclrtSetOpWaitTimeout: 0 is none
    static constexpr std::uint32_t kUseOpWaitTimeout = 0xFFFFFFFF;  // as the timeout of a wait
    std::uint64_t op_execute_timeout_us = 0;  // aclrtSetOpExecuteTimeOut: the last call wins; 0 is the longest

  private:
    static Simulator &start();
    static inline std::atomic<Simulator *> instance_{nullptr};
};

}  // namespace aclsim
