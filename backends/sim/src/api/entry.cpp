#include "api/entry.h"

#include <pthread.h>

#include <atomic>

namespace aclsim {
namespace {

std::atomic<bool> g_is_forked_child{false};

// From loading on: a child must not touch the lock even if the parent was inside its first call.
[[maybe_unused]] const int g_registered =
    pthread_atfork(nullptr, nullptr, [] { g_is_forked_child.store(Engine::was_started(), std::memory_order_relaxed); });

}  // namespace

void check_faults(const char *function) {
    Engine &engine = Engine::get();
    const Lock lock = engine.acquire();
    if (!engine.error.empty()) {
        reject(ACL_ERROR_RT_INTERNAL_ERROR, "%s", engine.error.c_str());
    }
    engine.faults().check_call(function);
}

bool is_forked_child() { return g_is_forked_child.load(std::memory_order_relaxed); }

}  // namespace aclsim
