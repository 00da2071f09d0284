// SPDX-License-Identifier: Apache-2.0
#include "engine/lock.h"

#include <chrono>
#include <thread>

#include "support/uncancelled.h"

namespace aclsim {
namespace {

constexpr int kPauses = 7;  // the last one takes a microsecond or two
constexpr int kYields = 100;
constexpr int kSleeps = 2;
constexpr std::chrono::microseconds kSleep{50};

constexpr std::uint32_t kTicketStep = 2;  // even tickets differ from 1, the state of a taken flag
std::atomic<std::uint32_t> g_tickets{0};

// Compares tickets; the numbers wrap around.
bool is_older(std::uint32_t ticket, std::uint32_t other) { return static_cast<std::int32_t>(ticket - other) < 0; }

// Yields, and returns true if the thread soon got the processor back. Other programs may keep it for milliseconds, and
// give it back sooner to a thread that sleeps.
bool yield_briefly() {
    constexpr std::chrono::microseconds kLongTurn{500};
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::yield();
    return std::chrono::steady_clock::now() - begin < kLongTurn;
}

void sleep_uncancelled() {
    const Uncancelled uncancelled;
    std::this_thread::sleep_for(kSleep);
}

}  // namespace

// --- turns -----------------------------------------------------------------------------------------------------------

void Turn::pause() {
    backoff_.pause();
    if (ticket_ == kNoTicket && backoff_.was_long()) {
        ticket_ = g_tickets += kTicketStep;
    }
}

bool Turn::may_take(std::uint32_t ticket) {
    if (gives_way_to_ != ticket) {
        gives_way_to_ = ticket;
        backoff_ = Backoff();
    }
    return ticket == ticket_ || backoff_.was_patient();
}

bool Flag::try_take(Turn &turn) {
    if (!try_pass(turn)) {
        return false;
    }
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    const bool may_take = state == kFree || (state != kTaken && turn.may_take(state));
    if (!may_take || !state_.compare_exchange_strong(state, kTaken)) {
        return false;
    }
    end_turn(state);  // also of the other thread, until it looks again
    end_turn(turn.ticket());
    return true;
}

bool Flag::try_pass(const Turn &turn) {
    if (!is_taken()) {
        return true;
    }
    ask_for_turn(turn.ticket());
    return false;
}

void Flag::give_up_turn(const Turn &turn) {
    end_turn(turn.ticket());
    std::uint32_t state = turn.ticket();
    state_.compare_exchange_strong(state, kFree);
}

void Flag::ask_for_turn(std::uint32_t ticket) {
    std::uint32_t next = next_.load(std::memory_order_relaxed);
    while (ticket != Turn::kNoTicket && (next == kFree || is_older(ticket, next)) &&
           !next_.compare_exchange_weak(next, ticket, std::memory_order_relaxed)) {
    }
}

void Flag::end_turn(std::uint32_t ticket) { next_.compare_exchange_strong(ticket, kFree, std::memory_order_relaxed); }

// --- the lock --------------------------------------------------------------------------------------------------------

void Shards::lock_in_turn() {
    Turn turn;
    do {
        turn.pause();
    } while (!whole_.try_take(turn));
    if (count() > 1) {
        await_shards();
    }
}

void Shards::lock_shard_in_turn(std::uint32_t number) {
    Turn turn;
    do {
        turn.pause();
    } while (!whole_.try_pass(turn) || !shards_[number].flag.try_take(turn) || !leave_unless_whole_is_free(number));
    if (turn.ticket() != Turn::kNoTicket) {
        whole_.give_up_turn(turn);
    }
}

void Shards::await_shards() {
    for (std::uint32_t number = 0; number < count(); ++number) {  // no shard is taken from here on
        for (Backoff backoff; shards_[number].flag.is_taken(); backoff.pause()) {
        }
    }
}

void Backoff::pause() {
    if (rounds_ < kPauses) {
        for (int i = 0; i < 2 << rounds_; ++i) {  // the first pause exceeds the time between two calls of a thread
            pause_processor();
        }
    } else if (rounds_ < kPauses + kYields) {
        rounds_ = yield_briefly() ? rounds_ : kPauses + kYields;
    } else {
        sleep_uncancelled();
    }
    rounds_ += was_patient() ? 0 : 1;
}

bool Backoff::was_long() const { return rounds_ > kPauses; }

bool Backoff::was_patient() const { return rounds_ == kPauses + kYields + kSleeps; }

}  // namespace aclsim
