// SPDX-License-Identifier: Apache-2.0
// Allocator of simulated memory, compared with a plain list of live blocks; its parts; and the parsing of visible
// devices.
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "api/simulator.h"
#include "check.h"
#include "memory/address_space.h"
#include "memory/number_set.h"
#include "support/config.h"

using aclsim::AddressSpace;
using aclsim::Heap;
using aclsim::Place;

namespace {

aclsim::Core &core() { return aclsim::Simulator::get().core; }

// Performs the deferred work, which returns pages to the host without the engine lock.
void give_back() {
    aclsim::Lock lock = core().acquire();
    core().do_deferred(lock);
}

// Address space whose pages have all returned to the host before it is destroyed.
class Space final : public AddressSpace {
  public:
    Space(std::uint32_t devices, std::uint64_t device_memory)
        : AddressSpace(core(), devices, device_memory, 128ULL << 30) {}
    ~Space() { give_back(); }
};

void release(Heap &heap, const void *address) {
    const auto block = heap.release(address);
    CHECK(block);
    heap.reuse(*block);
}

constexpr std::uint64_t kMiB = 1ULL << 20;

// Covers neighbours in the same word, in adjacent words, and at a distance of several levels.
void numbers_agree_with_a_set() {
    for (const std::size_t limit : {1ULL, 63ULL, 64ULL, 65ULL, 4096ULL, 300000ULL, 1ULL << 33}) {
        aclsim::NumberSet numbers(limit);
        std::set<std::size_t> expected;
        std::mt19937_64 random(7);
        for (int step = 0; step < 4000; ++step) {
            const std::size_t number = random() % (random() % 2 == 0 ? limit : std::min<std::size_t>(limit, 200));
            if (random() % 2 == 0) {
                numbers.insert(number);
                expected.insert(number);
            } else {
                numbers.erase(number);
                expected.erase(number);
            }
            const std::size_t at = random() % limit;
            CHECK(numbers.contains(at) == (expected.count(at) == 1));
            const auto above = expected.upper_bound(at);
            CHECK(numbers.first_above(at) == (above == expected.end() ? limit : *above));
            for (const std::size_t from : {at, limit}) {
                const auto next = expected.lower_bound(from);
                CHECK(numbers.last_below(from) == (next == expected.begin() ? 0 : *std::prev(next)));
            }
        }
        numbers.clear();
        CHECK(numbers.first_above(0) == limit && numbers.last_below(limit) == 0 && !numbers.contains(0));
    }
}

// Allocates and releases at random: blocks never overlap, live blocks are found, and all memory is free in the end.
void heap_agrees_with_a_list() {
    Space space(2, 64 * kMiB);
    Heap &heap = space.device(1);
    std::map<char *, std::uint64_t> live;
    std::mt19937 random(7);
    for (int step = 0; step < 20000; ++step) {
        if (random() % 3 != 0) {
            const std::uint64_t size = 1 + random() % (random() % 50 == 0 ? 4 * kMiB : 4096);
            auto *block = static_cast<char *>(heap.allocate(size));
            if (block == nullptr) {
                continue;
            }
            const auto next = live.lower_bound(block);
            CHECK(next == live.end() || block + size <= next->first);
            CHECK(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= block);
            CHECK(space.locate(block).place == Place::Device && space.locate(block).device == 1);
            CHECK(heap.contains(block, size) && heap.contains(block + size - 1, 1));
            CHECK(heap.find(block + size - 1)->address == reinterpret_cast<std::uintptr_t>(block));
            std::memset(block, 0xA5, size);
            live.emplace(block, size);
        } else if (!live.empty()) {
            const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
            CHECK(!heap.release(victim->first + 1));
            release(heap, victim->first);
            CHECK(!heap.release(victim->first));
            CHECK(!heap.contains(victim->first, 1));
            live.erase(victim);
        }
    }
    for (const auto &[block, size] : live) {
        release(heap, block);
    }
    CHECK(heap.free_bytes() == heap.capacity());
    CHECK(heap.allocate(heap.capacity()) != nullptr);  // free neighbours were joined
}

// The first of several rooms of the same size is taken.
void the_smallest_room_is_taken() {
    Space space(1, 64 * kMiB);
    Heap &heap = space.device(0);
    std::vector<void *> rooms;
    for (const std::uint64_t units : {3, 2, 2, 4}) {
        rooms.push_back(heap.allocate(units * Heap::kUnit));
        CHECK(heap.allocate(1) != nullptr);  // separates the room from the next one
    }
    for (const std::size_t room : {2, 0, 3, 1}) {
        release(heap, rooms[room]);
    }
    for (const auto &[units, room] : {std::pair{2, 1}, {1, 2}, {3, 0}, {3, 3}}) {
        CHECK(heap.allocate(units * Heap::kUnit) == rooms[room]);
    }
}

void every_address_has_a_place() {
    Space space(3, 64 * kMiB);
    int on_stack = 0;
    CHECK(space.locate(&on_stack).place == Place::Unregistered);
    CHECK(space.locate(nullptr).place == Place::Unregistered);
    CHECK(space.locate(reinterpret_cast<void *>(~0ULL)).place == Place::Unregistered);
    const std::uintptr_t end = space.device(0).base() + space.device(0).capacity();
    for (const std::uintptr_t none : {space.device(0).base() - 1, end, ~std::uintptr_t{0}}) {
        CHECK(!space.device(0).find(reinterpret_cast<void *>(none)));
    }
    CHECK(space.is_live(&on_stack, sizeof on_stack) && !space.find(&on_stack));
    CHECK(space.locate(space.pinned().allocate(1)).place == Place::Pinned);
    for (std::uint32_t device = 0; device < 3; ++device) {
        void *block = space.device(device).allocate(4096);
        CHECK(space.locate(block).place == Place::Device && space.locate(block).device == device);
        CHECK(space.find(block)->address == reinterpret_cast<std::uintptr_t>(block));
        CHECK(space.is_live(block, 4096) && !space.is_live(block, 4097));
    }
}

void large_pages_are_aligned() {
    Space space(1, 4096 * kMiB);
    Heap &heap = space.device(0);
    for (const std::uint64_t page : {aclsim::kSmallPage, aclsim::kHugePage, aclsim::kGiantPage}) {
        const std::uint64_t before = heap.free_bytes();
        CHECK(heap.allocate(1, aclsim::kSmallPage) != nullptr);  // leaves an unaligned free address
        void *block = heap.allocate(1, page);
        const std::uint64_t step = page == aclsim::kSmallPage ? 512 : page;
        CHECK(reinterpret_cast<std::uintptr_t>(block) % step == 0);
        CHECK(before - heap.free_bytes() == 512 + step);
    }
    space.free_all(0);
    CHECK(heap.free_bytes() == heap.capacity());
}

// Two mappings of a page have the same content. A freed page reads as zero after it has returned to the host.
void pages_are_shared_and_given_back() {
    Space space(1, 64 * kMiB);
    auto *block = static_cast<unsigned char *>(space.device(0).allocate(4 * kMiB));
    auto *alias = static_cast<unsigned char *>(space.reserve(4 * kMiB, aclsim::kHugePage));
    const std::uint64_t offset = space.offset_of(0, block);
    CHECK(!space.is_live(alias, 1));
    space.pages(0)->map(alias, offset, 4 * kMiB);
    space.add_range({reinterpret_cast<std::uintptr_t>(alias), 4 * kMiB, {Place::Device, 0}, aclsim::kHugePage, true});
    CHECK(space.is_live(alias, 4 * kMiB) && !space.is_live(alias, 4 * kMiB + 1) && !space.is_live(alias, ~0ULL));
    CHECK(space.locate(alias).place == Place::Device && !space.free_device(alias));
    std::memset(block, 7, 4 * kMiB);
    CHECK(alias[0] == 7 && alias[4 * kMiB - 1] == 7);
    space.clear_range(reinterpret_cast<std::uintptr_t>(alias));
    CHECK(!space.is_live(alias, 1) && space.overlaps_range(alias, 1));  // must not be mapped again yet
    give_back();
    CHECK(!space.overlaps_range(alias, 1));
    CHECK(alias[0] == 0 && block[0] == 7 && !space.is_live(alias, 1));
    space.unreserve(alias);
    CHECK(space.free_device(block) && !space.free_device(block));
    give_back();
    CHECK(block[0] == 0);
}

// Adjacent ranges count as one piece of memory, unless one of them is inaccessible.
void neighbours_are_one_piece() {
    Space space(1, 64 * kMiB);
    auto *begin = static_cast<unsigned char *>(space.reserve(3 * aclsim::kHugePage, aclsim::kHugePage));
    const auto add = [&](std::uint64_t page, bool is_accessible) {
        const auto address = reinterpret_cast<std::uintptr_t>(begin) + page * aclsim::kHugePage;
        space.add_range({address, aclsim::kHugePage, {Place::Device, 0}, aclsim::kHugePage, is_accessible});
    };
    add(0, true);
    add(2, true);
    CHECK(!space.is_live(begin, 3 * aclsim::kHugePage));
    CHECK(space.overlaps_range(begin + aclsim::kHugePage, 2 * aclsim::kHugePage));
    CHECK(!space.overlaps_range(begin + aclsim::kHugePage, aclsim::kHugePage));
    add(1, false);
    CHECK(!space.is_live(begin, 3 * aclsim::kHugePage));
    add(1, true);
    CHECK(space.is_live(begin, 3 * aclsim::kHugePage) && space.is_live(begin + 1, 3 * aclsim::kHugePage - 1));
}

void too_much_is_refused() {
    Space space(1, 64 * kMiB);
    CHECK(space.device(0).allocate(64 * kMiB + 1) == nullptr);
    CHECK(space.device(0).allocate(~0ULL) == nullptr);
    void *all = space.device(0).allocate(64 * kMiB);
    CHECK(all != nullptr && space.device(0).allocate(1) == nullptr);
    space.device(0).release_all();
    CHECK(space.device(0).free_bytes() == 64 * kMiB && space.device(0).allocate(1) == nullptr);
    space.device(0).reuse_all();
    CHECK(space.device(0).allocate(1) != nullptr);
}

// A thread frees a block, and another thread resets the device while the host takes the pages back. A new allocation
// must not use the block before that is done, or its content would be lost with the pages.
void a_reset_waits_for_pages_that_are_on_their_way() {
    Space space(1, 64 * kMiB);
    Heap &heap = space.device(0);
    void *freed = heap.allocate(4 * kMiB);
    CHECK(heap.allocate(4 * kMiB) != nullptr);
    const auto block = heap.release(freed);
    CHECK(block);
    heap.release_all();
    heap.reuse_all();
    CHECK(heap.allocate(1) == nullptr);
    heap.reuse(*block);
    CHECK(heap.allocate(64 * kMiB) != nullptr);
}

// Values of ASCEND_RT_VISIBLE_DEVICES (device_context_init_errors.md section 5.1).
void visible_devices() {
    using Ids = std::vector<std::uint32_t>;
    struct Case {
        const char *text;
        bool is_valid;
        Ids ids;
    };
    const Case cases[] = {
        {"0", true, {0}},     {"1,3", true, {1, 3}}, {"0,1,2,3", true, {0, 1, 2, 3}},
        {"1,x,3", true, {1}}, {"1,9,2", true, {1}},  {"1,", true, {1}},
        {"", false, {}},      {"x", false, {}},      {"9", false, {}},
        {"2,1", false, {}},   {"1,1", false, {}},    {" 1", false, {}},
        {"-1", false, {}},    {",1", false, {}},     {"99999999999999", false, {}},
    };
    for (const Case &it : cases) {
        Ids ids;
        std::string problem;
        CHECK(aclsim::parse_visible_devices(it.text, 4, ids, problem) == it.is_valid);
        CHECK(it.is_valid || !problem.empty());
        CHECK(!it.is_valid || ids == it.ids);
    }
    Ids ids;
    std::string problem;
    aclsim::parse_visible_devices("2,1", 4, ids, problem);
    CHECK(problem == "1 follows 2, and the numbers must ascend");
    aclsim::parse_visible_devices("1,x,3", 4, ids, problem);
    CHECK(problem == "\"x\" is not a device from 0 to 3, and ends the list");
    aclsim::parse_visible_devices("0,3", 4, ids, problem);
    CHECK(problem.empty());
}

}  // namespace

int main() {
    numbers_agree_with_a_set();
    heap_agrees_with_a_list();
    the_smallest_room_is_taken();
    every_address_has_a_place();
    large_pages_are_aligned();
    pages_are_shared_and_given_back();
    neighbours_are_one_piece();
    too_much_is_refused();
    a_reset_waits_for_pages_that_are_on_their_way();
    visible_devices();
    std::puts("native memory: all passed");
    return 0;
}
