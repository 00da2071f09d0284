#include "engine/lock.h"

#include <chrono>
#include <thread>

#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr int kYields = 100;
constexpr std::chrono::microseconds kSleep{50};

void sleep_uncancelled() {
    const Uncancelled uncancelled;
    std::this_thread::sleep_for(kSleep);
}

}  // namespace

void Shards::lock_shard_in_turn(std::uint32_t number) {
    Backoff backoff;
    bool is_counted = false;
    do {
        backoff.pause();
        if (!is_counted && backoff.was_long() && is_claimed_.load(std::memory_order_relaxed)) {
            is_counted = true;
            ++waiting_;
        }
    } while (!try_lock_shard(number));
    if (is_counted) {
        --waiting_;
    }
}

void Shards::await_shards() {
    if (unlikely(waiting_.load(std::memory_order_relaxed) > 0)) {
        unlock();
        give_way();
        for (Backoff backoff; is_claimed_.exchange(true); backoff.pause()) {
        }
    }
    for (std::uint32_t number = 0; number < count(); ++number) {  // no shard is taken from here on
        for (Backoff backoff; shards_[number].is_taken; backoff.pause()) {
        }
    }
}

// For as long as one that waits needs to see that the lock is free, if it looks.
void Shards::give_way() {
    const std::uint32_t before = waiting_.load(std::memory_order_relaxed);
    for (int i = 0; i < 20 && waiting_.load(std::memory_order_relaxed) >= before; ++i) {
        for (int j = 0; j < 4; ++j) {
            pause_processor();
        }
    }
}

void Backoff::pause() {
    if (rounds_ >= kPauses + kYields) {
        sleep_uncancelled();
        return;
    }
    if (rounds_ >= kPauses) {
        std::this_thread::yield();
    } else {
        for (int i = 0; i < 2 << rounds_; ++i) {  // the first is longer than a thread needs from one call to the next
            pause_processor();
        }
    }
    ++rounds_;
}

}  // namespace aclsim
