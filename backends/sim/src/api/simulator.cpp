// SPDX-License-Identifier: Apache-2.0
#include "api/simulator.h"

#include <atomic>

#include "control/faults.h"
#include "control/stall.h"
#include "control/strict.h"
#include "machine/initialization.h"
#include "memory/memory.h"
#include "memory/queues.h"
#include "memory/tensor_channel.h"
#include "observe/exception_dump.h"
#include "observe/marks.h"
#include "observe/memory_check.h"
#include "observe/operator_records.h"
#include "observe/pinned_guard.h"
#include "observe/profiler.h"
#include "observe/race_check.h"
#include "observe/submission_calls.h"
#include "observe/subscriptions.h"
#include "support/findings.h"
#include "support/shared_memory.h"
#include "support/uncancelled.h"
#include "tasks/kernels.h"
#include "tasks/label.h"
#include "tasks/model.h"
#include "tasks/operation.h"
#include "tasks/value.h"

namespace aclsim {
namespace {

std::atomic<bool> g_started{false};

}  // namespace

// Parts, in the order in which they depend on each other.
struct Simulator::Parts {
    Parts(Core &core, Machine &machine)
        : stall(core),
          models(machine),
          labels(machine),
          memory(machine),
          kernels(memory),
          values(memory),
          operations(memory),
          tensor_channels(memory),
          queues(machine),
          initialization(machine),
          faults(core),
          profiler(core),
          marks(core, profiler),
          subscriptions(core),
          operator_records(core),
          exception_dumps(machine.dumps, memory),
          strict(machine),
          pinned_guard(core) {}

    NotedCalls noted_calls;
    Stall stall;
    Models models;
    Labels labels;
    Memory memory;
    Kernels kernels;
    Values values;
    Operations operations;
    TensorChannels tensor_channels;
    Queues queues;
    Initialization initialization;
    Faults faults;
    Profiler profiler;
    Marks marks;
    Subscriptions subscriptions;
    OperatorRecords operator_records;
    ExceptionDumps exception_dumps;
    Strict strict;
    MemoryCheck memory_check;
    PinnedGuard pinned_guard;
};

Simulator &Simulator::start() {
    const Uncancelled uncancelled;
    static Simulator *const instance = new Simulator(SimulatorOptions());
    instance_.store(instance, std::memory_order_release);
    return *instance;
}

bool Simulator::was_started() { return g_started.load(std::memory_order_acquire); }

Simulator::Simulator(const SimulatorOptions &options)
    : clock(options.clock),
      core(options.clock, options.scheduler),
      parts_(*new Parts(core, machine)),
      models(parts_.models),
      labels(parts_.labels),
      memory(parts_.memory),
      kernels(parts_.kernels),
      values(parts_.values),
      operations(parts_.operations),
      tensor_channels(parts_.tensor_channels),
      queues(parts_.queues),
      initialization(parts_.initialization),
      faults(parts_.faults),
      profiler(parts_.profiler),
      marks(parts_.marks),
      subscriptions(parts_.subscriptions),
      operator_records(parts_.operator_records),
      stall(parts_.stall),
      strict(parts_.strict),
      memory_check(parts_.memory_check) {
    g_started.store(true, std::memory_order_release);
    SharedMemory::remove_unused();
    core.set_stall_reporter(parts_.stall);
    machine.exceptions.set_dump(parts_.exception_dumps);
    begin_findings();
    if (config().checks_memory) {
        core.add_observer(memory_check);
    }
    if (config().checks_races) {
        RaceCheck &check = RaceCheck::start();
        core.add_observer(check);
        stall.set_calls(check);
    } else if (config().checks_deadlocks) {
        core.add_observer(parts_.noted_calls);
        stall.set_calls(parts_.noted_calls);
    }
    if (config().checks_races && kProtectsPages) {
        parts_.pinned_guard.turn_on();
        core.add_observer(parts_.pinned_guard);
    }
    if (config().is_strict) {
        strict.turn_on();
    }
    for (Observer *const observer : options.observers) {
        core.add_observer(*observer);
    }
    error = apply_faults(faults, memory, config().faults);
}

}  // namespace aclsim
