// SPDX-License-Identifier: Apache-2.0
// Shadow memory of one allocation: the newest accesses to each of its bytes.
//
// An access is forgotten as soon as a later one that it precedes replaces it: a write replaces all, a read replaces
// reads. Two accesses are therefore reported exactly if they are unordered, conflict, and nothing between them has
// replaced the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/facts.h"
#include "races/use.h"

namespace aclsim::races {

// One access in most cases; a list for unordered ones.
class Uses {
  public:
    bool empty() const { return !one_; }
    template <class Function>
    void each(Function function) const {
        if (one_) {
            function(one_);
        }
        if (more_) {
            for (const UseRef &use : *more_) {
                function(use);
            }
        }
    }
    void set(const UseRef &use) {
        one_ = use;
        more_.reset();
    }
    void add(const UseRef &use);
    // Removes the accesses that precede the present one.
    void forget_before(const Now &now);
    // Keeps only accesses that the other one has, too.
    void keep_common(const Uses &other);
    void clear() {
        one_ = {};
        more_.reset();
    }
    bool operator==(const Uses &other) const {
        return one_ == other.one_ && (more_ == other.more_ || (more_ && other.more_ && *more_ == *other.more_));
    }

  private:
    void assign(std::vector<UseRef> list);
    UseRef one_;
    std::shared_ptr<const std::vector<UseRef>> more_;
};

// Overlap of the present access with an earlier one that it is not ordered with.
struct Conflict {
    UseRef earlier;
    std::uint64_t offset;  // first such byte
    std::uint64_t bytes;
};

class Shadow {
  public:
    static constexpr std::size_t kMostSegments = 1'000'000;

    // Created by the allocation.
    Shadow(std::uint64_t size, const UseRef &allocation);
    // Adds the access to the bytes, and appends the conflicts. Returns false if older accesses were forgotten because
    // there were too many segments.
    bool access(std::uint64_t begin, std::uint64_t end, const UseRef &use, const Now &now,
                std::vector<Conflict> &conflicts);
    // Forgets the accesses to the bytes that precede the present.
    void forget(std::uint64_t begin, std::uint64_t end, const Now &now);
    std::size_t segments() const { return count_; }
    std::uint64_t size() const { return size_; }
    // Calls the function with the bytes and the access for every remembered one of the segments that have some of the
    // bytes.
    template <class Function>
    void each(std::uint64_t begin, std::uint64_t end, Function function) const {
        Position at = find(begin);
        do {
            const Segment &segment = chunks_[at.chunk]->list[at.index];
            if (segment.begin >= end) {
                return;
            }
            const auto call = [&](const UseRef &use) { function(segment.begin, end_of(at), use); };
            segment.writes.each(call);
            segment.reads.each(call);
        } while (next(at));
    }

  private:
    struct Segment {
        std::uint64_t begin;  // it ends where the next one begins
        Uses writes;
        Uses reads;
        bool has_same_uses(const Segment &other) const { return writes == other.writes && reads == other.reads; }
    };
    // Segments in two levels, so that an insertion moves few of them.
    struct Chunk {
        std::vector<Segment> list;
    };
    struct Position {
        std::size_t chunk;
        std::size_t index;
    };
    static constexpr std::size_t kChunk = 64;

    Segment &at(const Position &position) { return chunks_[position.chunk]->list[position.index]; }
    std::uint64_t end_of(const Position &position) const;
    Position find(std::uint64_t offset) const;
    bool next(Position &position) const;
    Position split(std::uint64_t offset);
    template <class Function>
    void each_segment(std::uint64_t begin, std::uint64_t end, Function function);
    void insert_behind(const Position &position, Segment segment);
    void remove(const Position &position);
    void merge(std::uint64_t begin, std::uint64_t end);
    static void visit(Segment &segment, std::uint64_t end, const UseRef &use, const Now &now,
                      std::vector<Conflict> &conflicts);
    void coarsen();

    const std::uint64_t size_;
    std::size_t count_ = 1;
    std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace aclsim::races
