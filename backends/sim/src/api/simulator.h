// The simulator: owns every part, and is what the entry points get. The parts know those below them, not this.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "control/faults.h"
#include "control/stall.h"
#include "engine/core.h"
#include "machine/initialization.h"
#include "machine/machine.h"
#include "memory/memory.h"
#include "observe/memory_check.h"
#include "observe/profiler.h"
#include "tasks/kernels.h"
#include "tasks/label.h"
#include "tasks/model.h"
#include "tasks/value.h"
#include "tasks/word_wait.h"

namespace aclsim {

struct Simulator {
    // Made at the first call, and never destroyed: threads of the library may outlive main().
    static Simulator &get() {
        Simulator *known = instance_.load(std::memory_order_acquire);
        return known != nullptr ? *known : start();
    }
    static bool was_started();

    SteadyClock clock;
    EagerScheduler scheduler;
    Core core{clock, scheduler};
    Stall stall{core};
    Machine machine{core};
    Models models{machine};
    Labels labels{machine};
    Memory memory{machine};
    Kernels kernels{memory};
    Values values{core};
    SharedWords words{core};
    Initialization initialization{machine};
    Faults faults{core};
    Profiler profiler{core};
    MemoryCheck memory_check;  // an observer with ASCEND_RT_SIM_CHECK=memory

    std::string error;                    // what is wrong with ASCEND_RT_SIM_FAULTS: every call fails with this text
    std::uint32_t op_wait_timeout_s = 0;  // aclrtSetOpWaitTimeout: 0 is none
    static constexpr std::uint32_t kUseOpWaitTimeout = 0xFFFFFFFF;  // as the timeout of a wait
    std::uint64_t op_execute_timeout_us = 0;  // aclrtSetOpExecuteTimeOut: the last call wins; 0 is the longest

  private:
    Simulator();
    static Simulator &start();
    static inline std::atomic<Simulator *> instance_{nullptr};
};

}  // namespace aclsim
