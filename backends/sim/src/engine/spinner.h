// Threads that look for something before they sleep: a hand-over between threads takes less than a microsecond, to be
// woken tens of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "engine/clock.h"
#include "engine/lock.h"
#include "support/config.h"

namespace aclsim {

class Spinner {
  public:
    explicit Spinner(const Clock &clock) : clock_(clock) {}

    // Looks for at most config().spin; true when the condition came true.
    template <class Condition>
    bool until(Condition condition) {
        if (config().spin.count() == 0) {
            return condition();
        }
        const Time end = clock_.now() + config().spin;
        return look_briefly(condition) || look_in_turns(condition, end);
    }

  private:
    // More and more rarely: each look takes a cache line from whoever works.
    template <class Condition>
    static bool look_briefly(Condition &condition) {
        constexpr std::uint32_t kShare = 8;    // of the time so far until the next look
        constexpr std::uint32_t kBrief = 128;  // some two microseconds
        for (std::uint32_t paused = 0; !condition();) {
            if (paused > kBrief) {
                return false;
            }
            const std::uint32_t pauses = 1 + paused / kShare;
            for (std::uint32_t i = 0; i < pauses; ++i) {
                pause_processor();
            }
            paused += pauses;
        }
        return true;
    }
    // What takes longer may be the work of a thread without a processor, which gets this one meanwhile: with as many
    // threads as processors a hand-over took a hundred times as long. If it goes to somebody who keeps it, as programs
    // that only compute do, threads do better to sleep: who slept is soon given a processor, who gave up his turn is
    // not.
    template <class Condition>
    bool look_in_turns(Condition &condition, Time end) {
        constexpr std::chrono::microseconds kLongTurn{500};
        constexpr std::chrono::milliseconds kWhile{20};
        for (Time now = clock_.now(); now < end && now >= no_turns_until_.load(std::memory_order_relaxed);) {
            std::this_thread::yield();
            if (condition()) {
                return true;
            }
            const Time before = std::exchange(now, clock_.now());
            if (now - before > kLongTurn) {
                no_turns_until_.store(now + kWhile, std::memory_order_relaxed);
            }
        }
        return condition();
    }

    const Clock &clock_;
    std::atomic<Time> no_turns_until_{Time()};
};

}  // namespace aclsim
