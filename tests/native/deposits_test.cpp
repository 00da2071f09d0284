// SPDX-License-Identifier: Apache-2.0
// Memory that ranks share for messages: it holds what was put there until it is taken, in any order.
#include "hccl/deposits.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "check.h"

using namespace hccl;

namespace {

constexpr std::size_t kMost = std::size_t{4} << 20;

struct Message {
    Deposit place;
    std::vector<char> content;
};

struct Ends {
    Outbox outbox{SharedPages::create()};
    Inbox inbox{SharedPages::open(getpid(), static_cast<std::uint64_t>(outbox.descriptor()), outbox.mark())};

    Ends() { outbox.close_file(); }
    std::optional<Message> put(std::vector<char> content) {
        const std::optional<Deposit> place = outbox.put(content.data(), content.size());
        if (!place) {
            return std::nullopt;
        }
        CHECK(Inbox::may_hold(*place, content.size()));
        return Message{*place, std::move(content)};
    }
    void take(const Message &message) {
        CHECK(reinterpret_cast<std::uintptr_t>(inbox.message(message.place)) % alignof(std::max_align_t) == 0);
        CHECK(std::equal(message.content.begin(), message.content.end(), inbox.message(message.place)));
        inbox.give_back(message.place);
    }
};

// Messages of random sizes, some larger than the memory, that are taken in any order.
void messages_stay_until_they_are_taken(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    Ends ends;
    std::vector<Message> waiting;
    std::size_t refused = 0;
    for (int round = 0; round < 600; ++round) {
        const std::size_t size = below(8) == 0 ? below(kMost + 2) : below(std::size_t{200} << 10);
        if (auto message = ends.put(std::vector<char>(size, static_cast<char>(round)))) {
            waiting.push_back(std::move(*message));
        } else {
            ++refused;
            CHECK(!waiting.empty() || size > kMost);
        }
        while (!waiting.empty() && below(refused % 2 == 0 ? 3 : 2) == 0) {
            const auto taken = waiting.begin() + static_cast<std::ptrdiff_t>(below(waiting.size()));
            ends.take(*taken);
            waiting.erase(taken);
        }
    }
    CHECK(refused > 0);
    for (const Message &message : waiting) {
        ends.take(message);
    }
    CHECK(ends.put(std::vector<char>(kMost)));  // all of it is free again
}

void many_small_messages_find_no_mark() {
    Ends ends;
    std::vector<Message> waiting;
    while (auto message = ends.put({'a'})) {
        waiting.push_back(std::move(*message));
        CHECK(waiting.size() < 1000);
    }
    ends.take(waiting.back());
    CHECK(!ends.put({'b'}));  // earlier ones are still there
    ends.take(waiting.front());
    CHECK(ends.put({'b'}));
}

void a_place_beyond_the_end_is_refused() {
    CHECK(Inbox::may_hold({0, 63}, kMost) && Inbox::may_hold({kMost, 0}, 0));
    CHECK(!Inbox::may_hold({0, 64}, 1));
    CHECK(!Inbox::may_hold({1, 0}, kMost));
    CHECK(!Inbox::may_hold({kMost + 1, 0}, 0));
    CHECK(!Inbox::may_hold({~std::uint64_t{0}, 0}, 2));
    CHECK(!Inbox::may_hold({0, 0}, ~std::size_t{0}));
}

void other_files_are_not_mapped() {
    CHECK(SharedPages::open(getpid(), 0x7fffffff, 0) == nullptr);
    CHECK(SharedPages::open(0, 0, 0) == nullptr);
    const auto others = SharedPages::create();  // as a process of another namespace may have under the same number
    const auto number = static_cast<std::uint64_t>(others->descriptor());
    CHECK(SharedPages::open(getpid(), number, others->mark()) != nullptr);
    CHECK(SharedPages::open(getpid(), number, others->mark() + 1) == nullptr);
    const int shrinkable = memfd_create("ascend_rt_hccl", MFD_CLOEXEC);
    CHECK(shrinkable >= 0 && ftruncate(shrinkable, static_cast<off_t>(kMost + 4096)) == 0);
    CHECK(SharedPages::open(getpid(), static_cast<std::uint64_t>(shrinkable), 0) == nullptr);
    close(shrinkable);
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(SharedPages::open(getpid(), static_cast<std::uint64_t>(ends[0]), 0) == nullptr);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace

int main() {
    for (unsigned seed = 1; seed <= 6; ++seed) {
        messages_stay_until_they_are_taken(seed);
    }
    many_small_messages_find_no_mark();
    a_place_beyond_the_end_is_refused();
    other_files_are_not_mapped();
    return 0;
}
