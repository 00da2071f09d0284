// SPDX-License-Identifier: Apache-2.0
// Forks while another thread has the mutex of PyTorch's adapter: the child gets it free, and the data behind it whole.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "check.h"
#include "latch.h"
#include "torch/c/forks.h"

namespace {

constexpr int kBefore = 1;
constexpr int kAfter = 2;
constexpr std::ptrdiff_t kNumbers = 1 << 22;  // a change of so many takes longer than a fork

Latch fork_begins;

// Returns what the child returns, as its exit status.
template <class Function>
int in_child(Function function) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(function());
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void child_gets_the_mutex_free_and_the_data_whole() {
    std::vector<int> numbers(kNumbers, kBefore);
    Latch held;
    // The handler that was registered last comes first, so the other thread changes the numbers while the fork waits.
    CHECK(pthread_atfork([] { fork_begins.open(); }, nullptr, nullptr) == 0);
    auto change = begin([&] {
        const std::lock_guard<std::mutex> lock(ascend_rt::held_in_forks);
        held.open();
        CHECK(fork_begins.opens());
        std::fill(numbers.begin(), numbers.end(), kAfter);
    });
    CHECK(held.opens());
    const int status = in_child([&] {
        if (!ascend_rt::held_in_forks.try_lock()) {
            return 1;
        }
        return std::count(numbers.begin(), numbers.end(), kAfter) == kNumbers ? 0 : 2;
    });
    CHECK(status == 0);
    change.get();
    CHECK(ascend_rt::held_in_forks.try_lock());
    ascend_rt::held_in_forks.unlock();
}

void only_the_child_is_new() {
    CHECK(in_child([] { return ascend_rt::is_new_child ? 0 : 1; }) == 0);
    CHECK(!ascend_rt::is_new_child);
}

}  // namespace

int main() {
    const Watchdog watchdog("adapter_forks", std::chrono::seconds(120));
    child_gets_the_mutex_free_and_the_data_whole();
    only_the_child_is_new();
}
