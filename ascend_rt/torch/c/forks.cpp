/* SPDX-License-Identifier: Apache-2.0 */
#include "forks.h"

#include <pthread.h>

namespace ascend_rt {

constinit std::mutex held_in_forks;
constinit std::atomic<bool> is_new_child{false};

namespace {

void before_fork() { held_in_forks.lock(); }

void after_fork() { held_in_forks.unlock(); }

void begin_child() {
    is_new_child.store(true, std::memory_order_relaxed);
    after_fork();
}

[[maybe_unused]] const int follows_forks = pthread_atfork(before_fork, after_fork, begin_child);

}  // namespace
}  // namespace ascend_rt
