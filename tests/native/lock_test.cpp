// SPDX-License-Identifier: Apache-2.0
// Turns of the engine lock: threads that take it repeatedly give way to threads that have waited for long, for every
// combination of shards and the global lock.
#include "engine/lock.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <thread>

#include "check.h"
#include "latch.h"

using aclsim::Lock;
using aclsim::Shards;

namespace {

constexpr int kTurns = 20;
// Permitted rounds of other threads during a wait: the waiting thread may have no processor for some of them. Without
// turns it waited for hundreds.
constexpr std::uint64_t kRounds = 50;

// Threads that hold a shard or the global lock nearly all the time.
class Takers {
  public:
    Takers(Shards &shards, std::uint32_t part, int count) : shards_(shards) {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this, part] {
                while (!is_over_) {
                    take(part);
                }
            });
        }
    }
    ~Takers() {
        is_over_ = true;
        for (std::thread &thread : threads_) {
            thread.join();
        }
    }
    Takers(const Takers &) = delete;
    Takers &operator=(const Takers &) = delete;

    // Returns the number of rounds during one wait of the calling thread for the lock.
    std::uint64_t count_rounds(std::uint32_t part) NO_THREAD_SAFETY_ANALYSIS {
        for (const std::uint64_t before = rounds_; rounds_ == before;) {  // until one of the threads holds the lock
            std::this_thread::yield();
        }
        const std::uint64_t first = rounds_;
        const Lock lock(shards_, part);
        return rounds_ - first;
    }

  private:
    void take(std::uint32_t part) NO_THREAD_SAFETY_ANALYSIS {
        constexpr int kPauses = 20000;  // longer than the pauses of a waiting thread between attempts, unless it sleeps
        const Lock lock(shards_, part);
        ++rounds_;
        for (int i = 0; i < kPauses; ++i) {
            aclsim::pause_processor();
        }
    }

    Shards &shards_;
    std::atomic<std::uint64_t> rounds_{0};
    std::atomic<bool> is_over_{false};
    std::list<std::thread> threads_;
};

void who_waits_has_its_turn(std::uint32_t wanted, std::uint32_t taken, int takers) {
    Shards shards;
    {
        const Lock lock(shards);
        shards.add();
    }
    Takers others(shards, taken, takers);
    std::uint64_t rounds = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
        rounds += others.count_rounds(wanted);
    }
    CHECK(rounds < kTurns * kRounds);
}

}  // namespace

int main() {
    const Watchdog watchdog("lock_test", std::chrono::seconds(200));
    constexpr std::uint32_t kParts[] = {0, 1, Shards::kGlobal};
    for (const std::uint32_t wanted : kParts) {
        for (const std::uint32_t taken : kParts) {
            who_waits_has_its_turn(wanted, taken, 1);
            who_waits_has_its_turn(wanted, taken, 2);  // the waiting thread must come before both
        }
    }
    return 0;
}
