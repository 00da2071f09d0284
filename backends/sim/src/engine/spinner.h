// SPDX-License-Identifier: Apache-2.0
// Spinning before sleeping: a hand-over between threads takes less than a microsecond, a wake-up tens of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "engine/clock.h"
#include "engine/lock.h"
#include "support/config.h"

namespace aclsim {

class Spinner {
  public:
    // Uses real time: the clock of the simulated machine may stand still.
    Spinner(const Clock &host_clock, std::uint32_t processors) : clock_(host_clock), processors_(processors) {}

    // While companions work, for which tasks wait, their threads need the processors: in other processes too, if ranks
    // wait for each other.
    void note_companions(bool are_working) { companions_work_.store(are_working, std::memory_order_relaxed); }

    // Spins for at most config().spin; returns true if the condition came true.
    template <class Condition>
    bool until(Condition condition) {
        if (config().spin.count() == 0) {
            return condition();
        }
        const Time end = clock_.now() + config().spin;
        return look_briefly(condition) || look_longer(condition, end);
    }

  private:
    static constexpr std::uint32_t kBrief = 128;  // pauses of the processor, about two microseconds

    static void pause(std::uint32_t times) {
        for (std::uint32_t i = 0; i < times; ++i) {
            pause_processor();
        }
    }
    // Looks at growing intervals: each look takes a cache line from the working thread.
    template <class Condition>
    static bool look_briefly(Condition &condition) {
        constexpr std::uint32_t kShare = 8;  // fraction of the elapsed pauses before the next look
        for (std::uint32_t paused = 0; paused <= kBrief; paused += 1 + paused / kShare) {
            if (condition()) {
                return true;
            }
            pause(1 + paused / kShare);
        }
        return false;
    }
    // Yields between looks if at least as many threads spin as there are processors: the awaited threads may have no
    // processor. Without yielding, a hand-over between such threads took a hundred times as long.
    template <class Condition>
    bool look_longer(Condition &condition, Time end) {
        constexpr std::uint32_t kPauses = 64;  // about a microsecond
        const Looking looking(looking_);
        for (Time now = clock_.now(); now < end && !companions_work_.load(std::memory_order_relaxed);
             now = clock_.now()) {
            if (condition()) {
                return true;
            }
            const bool are_many = looking_.load(std::memory_order_relaxed) >= processors_;
            if (are_many && now >= no_turns_until_.load(std::memory_order_relaxed)) {
                give_up_turn(now);
            } else {
                pause(kPauses);
            }
        }
        return condition();
    }
    // Yields; stops all threads from yielding for a while if that took long, because other programs may keep the
    // processor for milliseconds.
    void give_up_turn(Time begin) {
        constexpr std::chrono::microseconds kLongTurn{500};
        constexpr std::chrono::milliseconds kWhile{100};
        std::this_thread::yield();
        const Time end = clock_.now();
        if (end - begin > kLongTurn) {
            no_turns_until_.store(end + kWhile, std::memory_order_relaxed);
        }
    }

    struct Looking {
        explicit Looking(std::atomic<std::uint32_t> &of_all) : threads(of_all) { ++threads; }
        ~Looking() { --threads; }
        Looking(const Looking &) = delete;
        Looking &operator=(const Looking &) = delete;
        std::atomic<std::uint32_t> &threads;
    };

    const Clock &clock_;
    const std::uint32_t processors_;
    std::atomic<std::uint32_t> looking_{0};  // threads in look_longer()
    std::atomic<bool> companions_work_{false};
    std::atomic<Time> no_turns_until_{Time()};
};

}  // namespace aclsim
