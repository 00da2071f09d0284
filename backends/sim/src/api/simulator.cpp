#include "api/simulator.h"

#include <atomic>

#include "support/shared_memory.h"
#include "support/uncancelled.h"

namespace aclsim {
namespace {

std::atomic<bool> g_started{false};

}  // namespace

Simulator &Simulator::start() {
    const Uncancelled uncancelled;
    static Simulator *const instance = new Simulator();
    instance_.store(instance, std::memory_order_release);
    return *instance;
}

bool Simulator::was_started() { return g_started.load(std::memory_order_acquire); }

Simulator::Simulator() {
    g_started.store(true, std::memory_order_release);
    SharedMemory::remove_unused();
    core.set_stall_reporter(stall);
    if (config().checks_memory) {
        core.add_observer(memory_check);
    }
    error = apply_faults(faults, memory, config().faults);
}

}  // namespace aclsim
