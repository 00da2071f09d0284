// SPDX-License-Identifier: Apache-2.0
#include "races/shadow.h"

#include <algorithm>
#include <iterator>

namespace aclsim::races {

// --- the accesses of a segment ---------------------------------------------------------------------------------------

void Uses::assign(std::vector<UseRef> list) {
    clear();
    if (!list.empty()) {
        one_ = list.front();
        list.erase(list.begin());
        if (!list.empty()) {
            more_ = std::make_shared<const std::vector<UseRef>>(std::move(list));
        }
    }
}

void Uses::add(const UseRef &use) {
    if (!one_) {
        one_ = use;
        return;
    }
    std::vector<UseRef> list = more_ ? *more_ : std::vector<UseRef>();
    list.push_back(use);
    more_ = std::make_shared<const std::vector<UseRef>>(std::move(list));
}

void Uses::forget_before(const Now &now) {
    if (!more_) {
        if (one_ && now.comes_after(*one_)) {
            one_ = {};
        }
        return;
    }
    std::vector<UseRef> left;
    each([&](const UseRef &use) {
        if (!now.comes_after(*use)) {
            left.push_back(use);
        }
    });
    assign(std::move(left));
}

void Uses::keep_common(const Uses &other) {
    std::vector<UseRef> common;
    each([&](const UseRef &use) {
        bool is_common = false;
        other.each([&](const UseRef &its) { is_common |= its == use; });
        if (is_common) {
            common.push_back(use);
        }
    });
    assign(std::move(common));
}

// --- segments --------------------------------------------------------------------------------------------------------

Shadow::Shadow(std::uint64_t size, const UseRef &allocation) : size_(size) {
    Segment whole{0, {}, {}};
    whole.writes.set(allocation);
    chunks_.push_back(std::make_unique<Chunk>());
    chunks_.back()->list.push_back(std::move(whole));
}

Shadow::Position Shadow::find(std::uint64_t offset) const {
    const auto chunk = std::prev(std::upper_bound(
        chunks_.begin(), chunks_.end(), offset,
        [](std::uint64_t at, const std::unique_ptr<Chunk> &it) { return at < it->list.front().begin; }));
    const auto &list = (*chunk)->list;
    const auto segment = std::prev(std::upper_bound(list.begin(), list.end(), offset,
                                                    [](std::uint64_t at, const Segment &it) { return at < it.begin; }));
    return {static_cast<std::size_t>(chunk - chunks_.begin()), static_cast<std::size_t>(segment - list.begin())};
}

bool Shadow::next(Position &position) const {
    if (++position.index < chunks_[position.chunk]->list.size()) {
        return true;
    }
    position = {position.chunk + 1, 0};
    return position.chunk < chunks_.size();
}

std::uint64_t Shadow::end_of(const Position &position) const {
    Position behind = position;
    return next(behind) ? chunks_[behind.chunk]->list[behind.index].begin : size_;
}

void Shadow::insert_behind(const Position &position, Segment segment) {
    std::vector<Segment> &list = chunks_[position.chunk]->list;
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(position.index) + 1, std::move(segment));
    ++count_;
    if (list.size() > kChunk) {
        auto half = std::make_unique<Chunk>();
        const auto middle = list.begin() + kChunk / 2;
        half->list.reserve(kChunk + 1);
        half->list.assign(std::make_move_iterator(middle), std::make_move_iterator(list.end()));
        list.erase(middle, list.end());
        chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk) + 1, std::move(half));
    }
}

void Shadow::remove(const Position &position) {
    std::vector<Segment> &list = chunks_[position.chunk]->list;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(position.index));
    --count_;
    if (list.empty()) {
        chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk));
    }
}

// Makes a segment begin at the offset, and returns it.
Shadow::Position Shadow::split(std::uint64_t offset) {
    const Position position = find(offset);
    if (at(position).begin == offset) {
        return position;
    }
    Segment behind = at(position);
    behind.begin = offset;
    insert_behind(position, std::move(behind));
    return find(offset);
}

void Shadow::visit(Segment &segment, std::uint64_t end, const UseRef &use, const Now &now,
                   std::vector<Conflict> &conflicts) {
    const auto look_at = [&](const UseRef &earlier) {
        const bool is_after = earlier->mode != Mode::Free && now.comes_after(*earlier);  // nothing may follow a free
        if (!conflict(earlier->mode, use->mode) || is_after) {
            return;
        }
        const auto known =
            std::find_if(conflicts.begin(), conflicts.end(), [&](const Conflict &it) { return it.earlier == earlier; });
        if (known == conflicts.end()) {
            conflicts.push_back({earlier, segment.begin, end - segment.begin});
        } else {
            known->bytes += end - segment.begin;
        }
    };
    segment.writes.each(look_at);
    if (!is_write(use->mode)) {
        segment.reads.forget_before(now);
        segment.reads.add(use);
        return;
    }
    segment.reads.each(look_at);
    segment.reads.forget_before(now);
    segment.writes.forget_before(now);
    segment.writes.add(use);
}

// Unites neighbours with the same accesses, from the segment before the first byte to the one behind the last.
void Shadow::merge(std::uint64_t begin, std::uint64_t end) {
    Position position = find(begin == 0 ? 0 : begin - 1);
    for (;;) {
        Position behind = position;
        if (!next(behind) || at(behind).begin > end) {
            return;
        }
        if (at(position).has_same_uses(at(behind))) {
            remove(behind);  // a chunk that becomes empty lies behind the position
        } else {
            position = behind;
        }
    }
}

// Halves the number of segments. Two neighbours keep the accesses that both have: what is forgotten cannot be reported
// any more, but nothing is reported of bytes that were not accessed.
void Shadow::coarsen() {
    std::vector<std::unique_ptr<Chunk>> coarse;
    Segment *last = nullptr;
    std::size_t count = 0;
    for (const auto &chunk : chunks_) {
        for (Segment &segment : chunk->list) {
            if (last != nullptr && count % 2 == 1) {
                last->writes.keep_common(segment.writes);
                last->reads.keep_common(segment.reads);
            } else {
                if (coarse.empty() || coarse.back()->list.size() == kChunk) {
                    coarse.push_back(std::make_unique<Chunk>());
                    coarse.back()->list.reserve(kChunk + 1);
                }
                coarse.back()->list.push_back(std::move(segment));
                last = &coarse.back()->list.back();
            }
            ++count;
        }
    }
    count_ = (count + 1) / 2;
    chunks_ = std::move(coarse);
}

// Calls the function for each segment of the bytes, after making segments begin and end where they do.
template <class Function>
void Shadow::each_segment(std::uint64_t begin, std::uint64_t end, Function function) {
    if (end < size_) {
        split(end);
    }
    Position position = split(begin);
    bool is_inside = true;
    while (is_inside && at(position).begin < end) {
        function(position);
        is_inside = next(position);
    }
    merge(begin, end);
}

void Shadow::forget(std::uint64_t begin, std::uint64_t end, const Now &now) {
    each_segment(begin, end, [&](const Position &position) {
        at(position).writes.forget_before(now);
        at(position).reads.forget_before(now);
    });
}

bool Shadow::access(std::uint64_t begin, std::uint64_t end, const UseRef &use, const Now &now,
                    std::vector<Conflict> &conflicts) {
    each_segment(begin, end,
                 [&](const Position &position) { visit(at(position), end_of(position), use, now, conflicts); });
    if (count_ <= kMostSegments) {
        return true;
    }
    coarsen();
    return false;
}

}  // namespace aclsim::races
