// SPDX-License-Identifier: Apache-2.0
// Card shared by processes. Each SharedCard has a separate row and separate locks, also within one process, so threads
// with one object each model processes here. An object destroyed with its resources models a killed process.
#include "machine/shared_card.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
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

std::string path() { return "/dev/shm/ascend_rt-card2-u" + std::to_string(geteuid()) + "-" + product() + "-0"; }

// Table, opened as any other program could open it.
class Table {
  public:
    Table() : file_(open(path().c_str(), O_RDWR | O_CLOEXEC)) {
        CHECK(file_ >= 0 && fstat(file_, &status_) == 0);
        words_ = static_cast<std::uint64_t *>(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
        CHECK(words_ != MAP_FAILED);
    }
    ~Table() {
        munmap(words_, bytes());
        close(file_);
    }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;
    int file() const { return file_; }
    mode_t mode() const { return status_.st_mode; }
    void fill(std::uint64_t word) { std::fill(words_, words_ + bytes() / sizeof word, word); }

  private:
    std::size_t bytes() const { return static_cast<std::size_t>(status_.st_size); }

    const int file_;
    struct stat status_{};
    std::uint64_t *words_ = nullptr;
};

std::unique_ptr<SharedCard> new_card(std::uint32_t number = 0) {
    return std::make_unique<SharedCard>(product(), number);
}

// Runs work(number) on the given number of threads, which begin together.
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

// The successor uses the same row, but the old content must not count for it.
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

// The child inherits the descriptors of its parent, and with them the locks, until it closes them.
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
        const bool is_reported = write(to_parent[1], &byte, 1) == 1;
        _exit(is_reported && read(to_child[0], &byte, 1) == 0 ? 0 : 1);
    }
    CHECK(read(to_parent[0], &byte, 1) == 1);  // the child has closed them before it writes
    parent.reset();                            // in this process only
    CHECK(other->held_by_others(SharedCard::kBytes) == 0);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) {
        close(end);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Takes the lock that a process takes first to repeat a request that did not fit.
void one_that_was_stopped_in_its_turn_blocks_nobody() {
    const auto first = new_card();
    const auto second = new_card();
    first->count(SharedCard::kBytes, 600);
    second->count(SharedCard::kBytes, 1);
    const Table table;
    struct flock turn = {};
    turn.l_type = F_WRLCK;
    turn.l_len = 1;
    CHECK(fcntl(table.file(), F_OFD_SETLK, &turn) == 0);
    CHECK(!second->take(SharedCard::kBytes, 400, kCapacity));
    CHECK(second->take(SharedCard::kBytes, 399, kCapacity));
}

// --- changes of the file that no process with the simulator makes ----------------------------------------------------

void whatever_is_in_the_table_is_only_a_number() {
    const auto first = new_card();
    const auto second = new_card();
    first->count(SharedCard::kBytes, 600);
    second->count(SharedCard::kBytes, 1);
    for (const std::uint64_t word :
         std::vector<std::uint64_t>{1ULL << 40, 1ULL << 63, UINT64_MAX}) {  // also as the number of rows
        Table().fill(word);
        CHECK(first->held_by_others(SharedCard::kBytes) >= word);
        CHECK(first->left(SharedCard::kBytes, kCapacity) == 0);
        CHECK(!first->take(SharedCard::kBytes, 1, kCapacity));
    }
    Table().fill(0);
    first->give_back(SharedCard::kBytes, 599);  // each card has its own record of what it holds
    CHECK(first->left(SharedCard::kBytes, kCapacity) == 999);
    second->count(SharedCard::kBytes, 1);
    CHECK(second->take(SharedCard::kBytes, 998, kCapacity));
}

// Each card opens the new table at its next use and enters its resources there. The card checks its table when streams
// change, when a request does not fit, and at queries.
void a_table_that_is_spoilt_is_replaced(const std::function<void()> &spoil) {
    const auto first = new_card();
    const auto second = new_card();
    CHECK(first->take(SharedCard::kBytes, 600, kCapacity));
    CHECK(first->take(SharedCard::kStreams, 600, kCapacity));
    CHECK(second->take(SharedCard::kStreams, 300, kCapacity));
    spoil();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a card looks for its name once in a millisecond
    first->give_back(SharedCard::kStreams, 100);
    CHECK(first->take(SharedCard::kStreams, 10, kCapacity));
    CHECK(!second->take(SharedCard::kStreams, 191, kCapacity));
    CHECK(!second->take(SharedCard::kBytes, 401, kCapacity));
    CHECK(first->held_by_others(SharedCard::kStreams) == 300);
    CHECK(second->held_by_others(SharedCard::kStreams) == 510);
    const auto third = new_card();
    CHECK(third->left(SharedCard::kStreams, kCapacity) == 190);
    CHECK(third->left(SharedCard::kBytes, kCapacity) == 400);
}

void cut() { CHECK(truncate(path().c_str(), 0) == 0); }
void lengthen() { CHECK(truncate(path().c_str(), 1 << 20) == 0); }
void remove_name() { CHECK(unlink(path().c_str()) == 0); }
void permit_all() {  // another user could truncate it
    CHECK((Table().mode() & 0777) == 0600);
    CHECK(chmod(path().c_str(), 0666) == 0);
    const auto other = new_card();
    other->count(SharedCard::kStreams, 1);
    CHECK((Table().mode() & 0777) == 0600);
}

// A process that was stopped while it removed the file holds this lock, so no other process can take a shared one.
void a_table_that_is_kept_locked_is_replaced() {
    new_card()->count(SharedCard::kBytes, 1);
    const int file = open(path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0);
    const auto first = new_card();
    const auto second = new_card();
    CHECK(first->take(SharedCard::kBytes, 600, kCapacity));
    CHECK(second->held_by_others(SharedCard::kBytes) == 600);
    close(file);
}

std::string standard_error_of(const std::function<void()> &body) {
    int ends[2] = {};
    const int kept = dup(STDERR_FILENO);
    CHECK(kept >= 0 && pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    body();
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(ends[1]);
    std::string text(4096, '\0');
    const ssize_t size = read(ends[0], text.data(), text.size());
    close(ends[0]);
    CHECK(size >= 0);
    text.resize(static_cast<std::size_t>(size));
    return text;
}

// The host may always refuse the file. The process prints its message only once.
void a_card_without_a_table_is_the_processs_own() {
    CHECK(mkdir(path().c_str(), 0700) == 0);
    const auto first = new_card();
    const auto second = new_card();
    const std::string said = standard_error_of([&] {
        CHECK(first->take(SharedCard::kBytes, 1000, kCapacity));
        CHECK(second->take(SharedCard::kBytes, 1000, kCapacity));
    });
    CHECK(first->held_by_others(SharedCard::kBytes) == 0 && first->left(SharedCard::kBytes, kCapacity) == 0);
    CHECK(said.find(path()) != std::string::npos && said.find("remove it") != std::string::npos);
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    CHECK(rmdir(path().c_str()) == 0);
}

// Takes resources, returns them, and destroys the card at random. `known` is never more than the amount held.
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

// The number of requests for one unit that succeed is exactly the number of units.
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
    whatever_is_in_the_table_is_only_a_number();
    for (const auto &spoil : {cut, lengthen, remove_name, permit_all}) {
        a_table_that_is_spoilt_is_replaced(spoil);
    }
    a_table_that_is_kept_locked_is_replaced();
    a_card_without_a_table_is_the_processs_own();
    many_at_once_never_hold_too_much();
    the_whole_is_held_by_one_at_a_time();
    the_last_unit_is_given_out();
}
