// SPDX-License-Identifier: Apache-2.0
// Contiguous pieces of a strided access.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/facts.h"
#include "races/blocks.h"

namespace aclsim::races {

// More pieces than this are not worth their time: a strided access of so many elements is left out.
constexpr std::uint64_t kMostPieces = 1 << 16;

// Unites repetitions without gaps, in whatever order they are nested: a transposed matrix is one piece.
Layout united(const Layout &layout, std::uint64_t size);
std::uint64_t count_pieces(const Layout &layout);

template <class Function>
void walk(const Layout &layout, std::uint8_t depth, std::int64_t begin, Function &function) {
    if (depth == layout.count) {
        function(begin, begin + static_cast<std::int64_t>(layout.width));
        return;
    }
    const Repetition &repetition = layout.repetitions[depth];
    for (std::uint64_t i = 0; i < repetition.count; ++i) {
        walk(layout, depth + 1, begin + static_cast<std::int64_t>(i * repetition.stride), function);
    }
}

// Calls the function with the first offset and the one behind the last of each contiguous piece of the operand inside
// its block. Returns false, without a call, if there are too many pieces.
template <class Function>
bool each_piece(const Operand &operand, Function function) {
    const auto end_of_block = static_cast<std::int64_t>(operand.block->size);
    auto inside = [&](std::int64_t begin, std::int64_t end) {
        begin = std::max<std::int64_t>(begin, 0);
        end = std::min(end, end_of_block);
        if (begin < end) {
            function(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end));
        }
    };
    if (operand.layout == nullptr) {
        inside(operand.offset, operand.offset + static_cast<std::int64_t>(operand.size));
        return true;
    }
    if (count_pieces(*operand.layout) > kMostPieces) {
        return false;
    }
    walk(*operand.layout, 0, operand.offset, inside);
    return true;
}

}  // namespace aclsim::races
