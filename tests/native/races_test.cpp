// SPDX-License-Identifier: Apache-2.0
// Shadow memory of the race check against an array with one entry for each byte, its limits, and the pieces of strided
// accesses.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "races/lane.h"
#include "races/pieces.h"
#include "races/shadow.h"

using namespace aclsim;
using namespace aclsim::races;

namespace {

constexpr LaneId kHost = 0;

UseRef use_of(LaneId lane, Step step, Mode mode) { return UseRef(new Use{lane, step, step, step, mode, 0, "", {}}); }

// Accesses by lanes, of which each knows some steps of the others.
struct Bench {
    static constexpr std::uint64_t kSize = 256;
    static constexpr std::size_t kLanes = 4;

    std::mt19937 random{7};
    std::array<std::vector<Step>, kLanes> known{};
    std::array<Step, kLanes> newest{};
    std::vector<std::vector<UseRef>> bytes{kSize};
    UseRef allocation = use_of(kHost, 1, Mode::Allocation);
    Shadow shadow{kSize, allocation};

    Bench() {
        newest[kHost] = 1;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            known[lane].resize(kLanes);
            known[lane][kHost] = 1;
        }
        for (auto &it : bytes) {
            it.push_back(allocation);
        }
    }
    std::uint64_t below(std::uint64_t limit) { return random() % limit; }

    void step() {
        const auto lane = static_cast<LaneId>(1 + below(kLanes - 1));
        if (below(3) == 0) {  // a wait for another lane
            const auto source = static_cast<LaneId>(1 + below(kLanes - 1));
            known[lane][source] = std::max(known[lane][source], newest[source]);
            for (std::size_t i = 0; i < kLanes; ++i) {
                known[lane][i] = std::max(known[lane][i], known[source][i]);
            }
        }
        const UseRef use = use_of(lane, ++newest[lane], below(2) == 0 ? Mode::Read : Mode::Write);
        std::uint64_t begin = below(kSize);
        std::uint64_t end = begin + 1 + below(kSize - begin);
        Clock clock;
        for (std::size_t i = 0; i < kLanes; ++i) {
            clock.set(static_cast<LaneId>(i), known[lane][i]);
        }
        const Now now{*use, use->step, clock, kHost, 1};
        std::vector<Conflict> conflicts;
        CHECK(shadow.access(begin, end, use, now, conflicts));
        CHECK(sum_of(conflicts) == expected(begin, end, use, now));
    }
    static std::map<const Use *, std::uint64_t> sum_of(const std::vector<Conflict> &conflicts) {
        std::map<const Use *, std::uint64_t> sum;
        for (const Conflict &it : conflicts) {
            sum[it.earlier.get()] += it.bytes;
        }
        return sum;
    }
    std::map<const Use *, std::uint64_t> expected(std::uint64_t begin, std::uint64_t end, const UseRef &use,
                                                  const Now &now) {
        std::map<const Use *, std::uint64_t> found;
        for (std::uint64_t i = begin; i < end; ++i) {
            std::vector<UseRef> left;
            for (const UseRef &earlier : bytes[i]) {
                const bool is_before = now.comes_after(*earlier);
                found[earlier.get()] += conflict(earlier->mode, use->mode) && !is_before ? 1 : 0;
                if (!is_before || (!is_write(use->mode) && is_write(earlier->mode))) {
                    left.push_back(earlier);
                }
            }
            left.push_back(use);
            bytes[i] = left;
        }
        for (auto it = found.begin(); it != found.end();) {
            it = it->second == 0 ? found.erase(it) : std::next(it);
        }
        return found;
    }
};

void random_accesses_conflict_as_in_an_array() {
    for (int round = 0; round < 20; ++round) {
        Bench it;
        it.random.seed(static_cast<unsigned>(round));
        for (int i = 0; i < 300; ++i) {
            it.step();
        }
    }
}

void neighbours_with_the_same_accesses_become_one() {
    const UseRef allocation = use_of(kHost, 1, Mode::Allocation);
    Shadow shadow(4096, allocation);
    const Clock nothing;
    std::vector<Conflict> conflicts;
    const UseRef write = use_of(1, 1, Mode::Write);
    const Now now{*write, 1, nothing, kHost, 1};
    for (std::uint64_t i = 0; i < 64; i += 2) {
        CHECK(shadow.access(i, i + 1, write, now, conflicts));
    }
    CHECK(shadow.segments() == 64);
    for (std::uint64_t i = 1; i < 64; i += 2) {
        CHECK(shadow.access(i, i + 1, write, now, conflicts));
    }
    CHECK(shadow.segments() == 2 && conflicts.empty());
}

void too_many_pieces_are_forgotten_and_nothing_is_invented() {
    const UseRef allocation = use_of(kHost, 1, Mode::Allocation);
    const std::uint64_t size = 3 * Shadow::kMostSegments;
    Shadow shadow(size, allocation);
    const Clock nothing;
    std::vector<Conflict> conflicts;
    bool is_exact = true;
    const UseRef write = use_of(1, 1, Mode::Write);
    const Now now{*write, 1, nothing, kHost, 1};
    for (std::uint64_t i = 0; i < size && is_exact; i += 2) {
        is_exact = shadow.access(i, i + 1, write, now, conflicts);
    }
    CHECK(!is_exact && shadow.segments() <= Shadow::kMostSegments);
    const UseRef other = use_of(2, 1, Mode::Write);
    for (std::uint64_t i = 1; i < 2000; i += 2) {  // bytes that were not written
        CHECK(shadow.access(i, i + 1, other, {*other, 1, nothing, kHost, 1}, conflicts));
    }
    CHECK(conflicts.empty());
}

void a_dense_layout_is_one_piece() {
    Layout transposed;
    transposed.width = 4;
    transposed.count = 2;
    transposed.repetitions[0] = {32, 4};
    transposed.repetitions[1] = {64, 128};
    CHECK(united(transposed, 64 * 128).count == 0 && united(transposed, 64 * 128).width == 64 * 128);
    Layout columns = transposed;
    columns.repetitions[0] = {8, 4};
    const Layout found = united(columns, 63 * 128 + 32);
    CHECK(found.count == 1 && found.width == 32 && count_pieces(found) == 64);
}

// A stream that waits for records which are complete, and gets no task.
void waits_without_a_task_do_not_accumulate() {
    aclsim::races::Lane lane;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        lane.add_early({1, i, 7});
        lane.add_early({1, 5, 8});
        lane.add_early({2, 5, 7});
    }
    CHECK(lane.early.size() == 3);
    CHECK(lane.early[0].sequence == 1000 && lane.early[1].sequence == 5 && lane.early[2].stream == 2);
}

}  // namespace

int main() {
    random_accesses_conflict_as_in_an_array();
    neighbours_with_the_same_accesses_become_one();
    too_many_pieces_are_forgotten_and_nothing_is_invented();
    a_dense_layout_is_one_piece();
    waits_without_a_task_do_not_accumulate();
    return 0;
}
