// SPDX-License-Identifier: Apache-2.0
#include "hccl/descriptors.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <set>

#include "support/descriptor.h"

namespace hccl {
namespace {

// No fork comes between the opening of a descriptor and its entry: the mutex is held meanwhile, and during forks.
std::mutex g_open_mutex;
std::set<int> *const g_open = new std::set<int>;  // used until the very end
bool g_was_used = false;
std::atomic<bool> g_is_forked_child{false};

[[maybe_unused]] const int g_notices_forks = pthread_atfork([] { g_open_mutex.lock(); }, [] { g_open_mutex.unlock(); },
                                                            [] {
                                                                g_is_forked_child = g_is_forked_child || g_was_used;
                                                                for (const int descriptor : *g_open) {
                                                                    ::close(descriptor);
                                                                }
                                                                g_open->clear();
                                                                g_open_mutex.unlock();
                                                            });

}  // namespace

int open_descriptor(int (*function)(void *), void *argument) {
    const std::lock_guard<std::mutex> guard(g_open_mutex);
    const int descriptor = aclsim::above_standard_files(function(argument));
    if (descriptor >= 0) {
        g_was_used = true;
        try {
            g_open->insert(descriptor);
        } catch (const std::bad_alloc &) {
            ::close(descriptor);
            errno = ENOMEM;
            return -1;
        }
    }
    return descriptor;
}

void close_descriptor(int descriptor) {
    const std::lock_guard<std::mutex> guard(g_open_mutex);
    if (g_open->erase(descriptor) > 0) {
        ::close(descriptor);
    }
}

bool is_forked_child() { return g_is_forked_child.load(std::memory_order_relaxed); }

}  // namespace hccl
