// SPDX-License-Identifier: Apache-2.0
// Simulator: owns every part, and is passed to the entry points. Parts use only the parts below them, never the
// simulator.
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
class Marks;
class Memory;
class MemoryCheck;
class Models;
class OperatorRecords;
class Profiler;
class Queues;
class Operations;
class Stall;
class Strict;
class Subscriptions;
class TensorChannels;
class Values;

// Parts of a simulator that are supplied from outside. No other part names a clock or a scheduler.
struct SimulatorOptions {
    Clock &clock = host_clock();
    Scheduler &scheduler = eager_scheduler();
    std::vector<Observer *> observers{};  // active from the first call on
};

// Owner of the parts. An entry point includes the headers of the parts that it uses.
class Simulator {
    struct Parts;

  public:
    explicit Simulator(const SimulatorOptions &options);
    Simulator(const Simulator &) = delete;
    Simulator &operator=(const Simulator &) = delete;
    // Returns the simulator. It is created at the first call and never destroyed: threads of the library may outlive
    // main().
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
    Operations &operations;
    TensorChannels &tensor_channels;
    Queues &queues;
    Initialization &initialization;
    Faults &faults;
    Profiler &profiler;
    Marks &marks;
    Subscriptions &subscriptions;
    OperatorRecords &operator_records;
    Stall &stall;
    Strict &strict;
    MemoryCheck &memory_check;  // observer if ASCEND_RT_SIM_CHECK=memory

    std::string error;                    // error in ASCEND_RT_SIM_FAULTS: every call fails with this text
    std::uint32_t op_wait_timeout_s = 0;  // set by aclrtSetOpWaitTimeout; 0: no limit
    static constexpr std::uint32_t kUseOpWaitTimeout = 0xFFFFFFFF;  // timeout of a wait that takes op_wait_timeout_s
    std::uint64_t op_execute_timeout_us = 0;  // set by aclrtSetOpExecuteTimeOut: the last call wins; 0: the longest

  private:
    static Simulator &start();
    static inline std::atomic<Simulator *> instance_{nullptr};
};

}  // namespace aclsim
