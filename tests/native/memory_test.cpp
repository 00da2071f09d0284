// The allocator of simulated memory against a plain list of what is live, and the parsing of visible devices.
#include "memory.h"

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "check.h"
#include "config.h"

using aclsim::AddressSpace;
using aclsim::Heap;
using aclsim::Place;

namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;

// Random allocations and releases: blocks never overlap, what is live is found, and everything comes back.
void heap_agrees_with_a_list() {
    AddressSpace space(2, 64 * kMiB);
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
            std::memset(block, 0xA5, size);
            live.emplace(block, size);
        } else if (!live.empty()) {
            const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
            CHECK(!heap.release(victim->first + 1));
            CHECK(heap.release(victim->first));
            CHECK(!heap.release(victim->first));
            CHECK(!heap.contains(victim->first, 1));
            live.erase(victim);
        }
    }
    for (const auto &[block, size] : live) {
        CHECK(heap.release(block));
    }
    CHECK(heap.free_bytes() == heap.capacity());
    CHECK(heap.allocate(heap.capacity()) != nullptr);  // nothing is fragmented: free neighbours were joined
}

void every_address_has_a_place() {
    AddressSpace space(3, 64 * kMiB);
    int on_stack = 0;
    CHECK(space.locate(&on_stack).place == Place::Unregistered);
    CHECK(space.locate(nullptr).place == Place::Unregistered);
    CHECK(space.locate(reinterpret_cast<void *>(~0ULL)).place == Place::Unregistered);
    CHECK(space.heap_of(&on_stack) == nullptr);
    CHECK(space.locate(space.pinned().allocate(1)).place == Place::Pinned);
    for (std::uint32_t device = 0; device < 3; ++device) {
        void *block = space.device(device).allocate(4096);
        CHECK(space.locate(block).place == Place::Device && space.locate(block).device == device);
        CHECK(space.heap_of(block) == &space.device(device));
        CHECK(!space.device(device).contains(block, 4097));
    }
}

void too_much_is_refused() {
    AddressSpace space(1, 64 * kMiB);
    CHECK(space.device(0).allocate(64 * kMiB + 1) == nullptr);
    CHECK(space.device(0).allocate(~0ULL) == nullptr);
    void *all = space.device(0).allocate(64 * kMiB);
    CHECK(all != nullptr && space.device(0).allocate(1) == nullptr);
    space.device(0).release_all();
    CHECK(space.device(0).free_bytes() == 64 * kMiB && space.device(0).allocate(1) != nullptr);
}

// device_context_init_errors.md section 5.1.
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
        CHECK(aclsim::parse_visible_devices(it.text, 4, ids) == it.is_valid);
        CHECK(!it.is_valid || ids == it.ids);
    }
}

}  // namespace

int main() {
    heap_agrees_with_a_list();
    every_address_has_a_place();
    too_much_is_refused();
    visible_devices();
    std::puts("native memory: all passed");
    return 0;
}
