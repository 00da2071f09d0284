#include "entry.h"

#include <pthread.h>

#include <atomic>

namespace aclsim {
namespace {

std::atomic<bool> g_is_forked_child{false};

// From loading on: a child must not touch the lock even if the parent was inside its first call.
[[maybe_unused]] const int g_registered =
    pthread_atfork(nullptr, nullptr, [] { g_is_forked_child.store(Engine::was_started(), std::memory_order_relaxed); });

}  // namespace

bool is_forked_child() { return g_is_forked_child.load(std::memory_order_relaxed); }

}  // namespace aclsim
