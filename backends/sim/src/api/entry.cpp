// SPDX-License-Identifier: Apache-2.0
#include "api/entry.h"

#include <pthread.h>

#include <atomic>

#include "control/strict.h"
#include "observe/memory_check.h"
#include "observe/race_check.h"
#include "support/findings.h"
#include "support/strict.h"

namespace aclsim {
namespace {

std::atomic<bool> g_is_forked_child{false};

// Detects forked children. After a fork of a process that has started the simulator, the child has no threads, and a
// thread that no longer exists may hold the lock. Registration happens at load time: a child must not touch the lock
// even if its parent was inside its first call.
[[maybe_unused]] const int g_notices_forks = pthread_atfork(nullptr, nullptr, [] {
    g_is_forked_child.store(Simulator::was_started(), std::memory_order_relaxed);
    g_looks_at_environment.store(true, std::memory_order_relaxed);
});

bool g_are_destructors_over = false;

// Runs with the destructors of the library, after those of the program.
[[gnu::destructor]] void end_library() {
    RaceCheck::finish_all();
    end_findings();
    if (Simulator::was_started() && !g_is_forked_child.load(std::memory_order_relaxed) && is_strict()) {
        Simulator &sim = Simulator::get();
        const Lock lock = sim.core.acquire();
        sim.strict.refuse_waits();
        g_are_destructors_over = true;
        g_looks_at_environment.store(true, std::memory_order_release);
    }
}

void check_faults(Function function) {
    Simulator &sim = Simulator::get();
    const Lock lock = sim.core.acquire();
    if (!sim.error.empty()) {
        fail_unremembered(ACL_ERROR_RT_INTERNAL_ERROR, "%s", sim.error.c_str());
    }
    sim.faults.check_call(function);
}

// Rejects functions that the card of the profile refuses.
void check_refusal(Function function) {
    const CardProfile &profile = *config().profile;
    const aclError code = profile.answer(function, ACL_SUCCESS);
    if (code != ACL_SUCCESS) {
        fail(code, "the card of the profile %s refuses this function", profile.path.c_str());
    }
}

void look_at_environment(Function function) {
    const bool is_forked_child = g_is_forked_child.load(std::memory_order_relaxed);
    if (is_forked_child) {
        fail_unremembered(ACL_ERROR_RT_INTERNAL_ERROR,
                          "the process was forked after the runtime had been used; "
                          "start child processes before, or with exec");
    }
    if (g_are_destructors_over) {
        end_if_strict("the destructors of the library have run");
    }
    if (!config().error.empty()) {
        fail_unremembered(ACL_ERROR_RT_INTERNAL_ERROR, "%s", config().error.c_str());
    }
    if (Faults::concerns_calls() || !config().faults.empty()) {
        check_faults(function);
    }
    const bool has_refusals = config().profile != nullptr && config().profile->refuses_functions;
    if (has_refusals) {
        check_refusal(function);
    }
    if (!is_forked_child && config().faults.empty() && !has_refusals) {
        g_looks_at_environment.store(false, std::memory_order_relaxed);
    }
}

}  // namespace

void find_place_of(CurrentCall &call, const void *return_address) {
    const bool is_wanted = g_wanted_places.load(std::memory_order_relaxed) == WantedPlaces::All
                               ? !info_of(call.function).only_asks
                               : names_memory(call.function);
    if (is_wanted && !g_is_forked_child.load(std::memory_order_relaxed)) {
        find_place(call.place, return_address);
    }
}

void fail_of_handle(const void *handle, Kind kind, const char *what) {
    Simulator::get().strict.refuse(handle, kind, what);
    fail(ACL_ERROR_RT_INVALID_HANDLE, "%p is not a live %s (destroyed, of another type, or never a handle)", handle,
         what);
}

void check_environment(Function function) {
    try {
        look_at_environment(function);
    } catch (Failure failure) {
        failure.is_final = true;
        throw failure;
    }
}

}  // namespace aclsim
