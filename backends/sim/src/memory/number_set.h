// SPDX-License-Identifier: Apache-2.0
// Sorted set of numbers, stored as bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/sparse_array.h"

namespace aclsim {

// Set of numbers below a limit. A bit of the first level is a number; a bit of each further level is set if a word of
// the level below has any bit. The neighbour of a number, at any distance, is found in as many steps as there are
// levels.
class NumberSet {
  public:
    explicit NumberSet(std::size_t limit) : limit_(limit), words_(lay_out(limit)) {}

    void insert(std::size_t number) {
        for (std::size_t level = 0; level < levels_; ++level) {
            std::uint64_t &word = words_[begins_[level] + number / kBits];
            const bool was_empty = word == 0;
            word |= bit(number);
            if (!was_empty) {
                return;
            }
            number /= kBits;
        }
    }
    void erase(std::size_t number) {
        for (std::size_t level = 0; level < levels_; ++level) {
            std::uint64_t &word = words_[begins_[level] + number / kBits];
            word &= ~bit(number);
            if (word != 0) {
                return;
            }
            number /= kBits;
        }
    }
    bool contains(std::size_t number) const { return (words_[number / kBits] & bit(number)) != 0; }
    // Returns the largest element below a number, which must not exceed the limit; 0 if there is none.
    std::size_t last_below(std::size_t number) const {
        return neighbour(number, 0, highest, [](std::uint64_t bit) { return bit - 1; });
    }
    // Returns the smallest element above a number; the limit if there is none.
    std::size_t first_above(std::size_t number) const {
        return neighbour(number, limit_, lowest, [](std::uint64_t bit) { return ~(bit - 1) - bit; });
    }
    void clear() { words_.clear(); }
    std::size_t limit() const { return limit_; }

  private:
    static constexpr std::size_t kBits = 64;
    static constexpr std::size_t kMaxLevels = 11;  // 64 bits of a number, 6 in each

    static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number % kBits; }
    static std::size_t lowest(std::uint64_t word) { return static_cast<std::size_t>(__builtin_ctzll(word)); }
    static std::size_t highest(std::uint64_t word) {
        return kBits - 1 - static_cast<std::size_t>(__builtin_clzll(word));
    }

    // Goes up until a word has a bit on the searched side of the number, and down again.
    template <class Nearest, class Beside>
    std::size_t neighbour(std::size_t number, std::size_t none, Nearest nearest, Beside beside) const {
        for (std::size_t level = 0; level < levels_; ++level) {
            std::uint64_t word = words_[begins_[level] + number / kBits] & beside(bit(number));
            number /= kBits;
            if (word == 0) {
                continue;
            }
            number = number * kBits + nearest(word);
            while (level > 0) {
                word = words_[begins_[--level] + number];
                number = number * kBits + nearest(word);
            }
            return number;
        }
        return none;
    }
    // Returns the number of words of all levels. The last level has one word, and each level has a word for the limit
    // itself.
    std::size_t lay_out(std::size_t limit) {
        std::size_t words = 0;
        do {
            limit /= kBits;
            begins_[levels_++] = words;
            words += limit + 1;
        } while (limit > 0);
        return words;
    }

    std::size_t limit_;
    std::size_t levels_ = 0;
    std::array<std::size_t, kMaxLevels> begins_ = {};  // first word of each level
    SparseArray<std::uint64_t> words_;
};

}  // namespace aclsim
