// A card that processes share. Each SharedCard has a row and locks of its own, also in one process, so threads with one
// each do here what processes do; one that is destroyed with what it holds is a process that was killed.
#include "machine/shared_card.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "latch.h"

using aclsim::SharedCard;

namespace {

constexpr std::uint64_t kCapacity = 1000;

std::string product() { return "test" + std::to_string(getppid()) + "." + std::to_string(getpid()); }

std::unique_ptr<SharedCard> new_card(std::uint32_t number = 0) {
    return std::make_unique<SharedCard>(product(), number);
}

// Runs work(number) in so many threads, which begin together.
template <class Work>
void in_threads(int count, Work work) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < count; ++number) {
        threads.emplace_back([&, number] {
            ++ready;
            while (ready < count) {
                std::this_thread::yield();
            }
            work(number);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

void what_one_holds_is_missing_in_the_other() {
    const auto first = new_card();
    const auto second = new_card();
    CHECK(first->take(SharedCard::kBytes, 600, kCapacity));
    CHECK(!second->take(SharedCard::kBytes, 401, kCapacity));
    CHECK(second->held_by_others(SharedCard::kBytes) == 600);
    CHECK(second->left(SharedCard::kBytes, kCapacity) == 400);
    CHECK(second->take(SharedCard::kBytes, 400, kCapacity));
    CHECK(first->left(SharedCard::kBytes, kCapacity) == 0);
    CHECK(first->left(SharedCard::kStreams, kCapacity) == kCapacity);
    first->give_back(SharedCard::kBytes, 600);
    CHECK(second->held_by_others(SharedCard::kBytes) == 0);
    CHECK(second->left(SharedCard::kBytes, kCapacity) == 600);
}

void what_is_counted_in_any_case_may_exceed_the_capacity() {
    const auto first = new_card();
    const auto second = new_card();
    CHECK(first->take(SharedCard::kStreams, kCapacity, kCapacity));
    second->count(SharedCard::kStreams, 2);
    CHECK(second->left(SharedCard::kStreams, kCapacity) == 0);
    first->give_back(SharedCard::kStreams, 1);
    CHECK(!first->take(SharedCard::kStreams, 1, kCapacity));
    second->give_back(SharedCard::kStreams, 2);
    CHECK(first->take(SharedCard::kStreams, 1, kCapacity));
}

void cards_with_other_numbers_are_others() {
    const auto first = new_card(0);
    const auto second = new_card(1);
    CHECK(first->take(SharedCard::kBytes, kCapacity, kCapacity));
    CHECK(second->take(SharedCard::kBytes, kCapacity, kCapacity));
}

void what_a_dead_one_held_can_be_taken() {
    const auto other = new_card();
    CHECK(other->left(SharedCard::kBytes, kCapacity) == kCapacity);
    auto dead = new_card();
    CHECK(dead->take(SharedCard::kBytes, 1, kCapacity));
    dead.reset();
    CHECK(other->take(SharedCard::kBytes, kCapacity, kCapacity));
}

// Its row is used again: what was in it must not count for the new owner.
void what_a_dead_one_held_is_free_for_its_successor_too() {
    const auto other = new_card();
    other->count(SharedCard::kBytes, 1);
    auto dead = new_card();
    CHECK(dead->take(SharedCard::kBytes, 999, kCapacity));
    dead.reset();
    const auto successor = new_card();
    CHECK(successor->take(SharedCard::kBytes, 999, kCapacity));
    CHECK(other->held_by_others(SharedCard::kBytes) == 999);
}

// The child has the descriptors of its parent, and with them its locks, until it closes them.
void a_forked_child_keeps_nothing() {
    const auto other = new_card();
    other->count(SharedCard::kBytes, 1);
    auto parent = new_card();
    CHECK(parent->take(SharedCard::kBytes, 999, kCapacity));
    int to_child[2] = {};
    int to_parent[2] = {};
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    char byte = 0;
    const pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        const bool is_told = write(to_parent[1], &byte, 1) == 1;
        _exit(is_told && read(to_child[0], &byte, 1) == 0 ? 0 : 1);
    }
    CHECK(read(to_parent[0], &byte, 1) == 1);  // before that the child may still be about to close them
    parent.reset();                            // in this process alone
    CHECK(other->held_by_others(SharedCard::kBytes) == 0);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) {
        close(end);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// What a process does first to repeat a request that did not fit.
void one_that_was_stopped_in_its_turn_blocks_nobody() {
    const auto first = new_card();
    const auto second = new_card();
    first->count(SharedCard::kBytes, 600);
    second->count(SharedCard::kBytes, 1);
    const std::string path = "/dev/shm/ascend_rt-card2-" + product() + "-0";
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    CHECK(file >= 0);
    struct flock turn = {};
    turn.l_type = F_WRLCK;
    turn.l_len = 1;
    CHECK(fcntl(file, F_OFD_SETLK, &turn) == 0);
    CHECK(!second->take(SharedCard::kBytes, 400, kCapacity));
    CHECK(second->take(SharedCard::kBytes, 399, kCapacity));
    close(file);
}

// Takes, gives back and dies at random. What is known to be held is never more than what is.
void live_and_die(std::uint64_t seed, std::atomic<std::uint64_t> &known) {
    std::mt19937_64 random(seed);
    for (int life = 0; life < 200; ++life) {
        auto card = new_card();
        std::vector<std::uint64_t> held;
        for (std::uint64_t step = random() % 50; step > 0; --step) {
            const std::uint64_t amount = 1 + random() % 300;
            if (random() % 2 == 0 && card->take(SharedCard::kBytes, amount, kCapacity)) {
                held.push_back(amount);
                CHECK((known += amount) <= kCapacity);
            } else if (!held.empty()) {
                known -= held.back();
                card->give_back(SharedCard::kBytes, held.back());
                held.pop_back();
            }
        }
        for (const std::uint64_t amount : held) {
            known -= amount;
        }
    }
}

void many_at_once_never_hold_too_much() {
    const auto observer = new_card();
    CHECK(observer->left(SharedCard::kBytes, kCapacity) == kCapacity);
    std::atomic<std::uint64_t> known{0};
    in_threads(8, [&](int seed) { live_and_die(static_cast<std::uint64_t>(seed), known); });
    CHECK(observer->left(SharedCard::kBytes, kCapacity) == kCapacity);
}

void the_whole_is_held_by_one_at_a_time() {
    std::atomic<int> owners{0};
    std::atomic<int> times{0};
    in_threads(4, [&](int) {
        const auto card = new_card();
        for (int attempt = 0; attempt < 1'000'000; ++attempt) {
            if (card->take(SharedCard::kBytes, kCapacity, kCapacity)) {
                CHECK(++owners == 1);
                ++times;
                --owners;
                card->give_back(SharedCard::kBytes, kCapacity);
            }
        }
    });
    CHECK(times > 0);
}

// Of requests for one unit each, exactly as many succeed as there are.
void the_last_unit_is_given_out() {
    std::atomic<std::uint64_t> taken{0};
    std::vector<std::unique_ptr<SharedCard>> cards;
    for (int i = 0; i < 8; ++i) {
        cards.push_back(new_card());
    }
    in_threads(8, [&](int number) {
        while (cards[static_cast<std::size_t>(number)]->take(SharedCard::kBytes, 1, kCapacity)) {
            ++taken;
        }
    });
    CHECK(taken == kCapacity);
}

}  // namespace

int main() {
    if (!aclsim::SharedMemory::kHasLocks) {
        return 77;  // skipped
    }
    const Watchdog watchdog("shared_card_test", std::chrono::seconds(120));
    what_one_holds_is_missing_in_the_other();
    what_is_counted_in_any_case_may_exceed_the_capacity();
    cards_with_other_numbers_are_others();
    what_a_dead_one_held_can_be_taken();
    what_a_dead_one_held_is_free_for_its_successor_too();
    a_forked_child_keeps_nothing();
    one_that_was_stopped_in_its_turn_blocks_nobody();
    many_at_once_never_hold_too_much();
    the_whole_is_held_by_one_at_a_time();
    the_last_unit_is_given_out();
}
