// SPDX-License-Identifier: Apache-2.0
#include "races/pieces.h"

#include <algorithm>
#include <array>

namespace aclsim::races {

Layout united(const Layout &layout, std::uint64_t size) {
    Layout result;
    result.width = layout.width;
    std::array<Repetition, Layout::kMost> open{};
    std::copy_n(layout.repetitions.begin(), layout.count, open.begin());
    const auto end = open.begin() + layout.count;
    std::sort(open.begin(), end, [](const Repetition &a, const Repetition &b) { return a.stride > b.stride; });
    for (auto it = end; it != open.begin();) {  // innermost first
        --it;
        if (it->count == 1 || it->stride == 0) {
            continue;
        }
        if (result.count == 0 && it->stride <= result.width) {
            result.width += (it->count - 1) * it->stride;
        } else {
            result.repetitions[result.count++] = *it;
        }
    }
    std::reverse(result.repetitions.begin(), result.repetitions.begin() + result.count);
    if (result.count == 0) {
        result.width = std::min(result.width, size);
    }
    return result;
}

std::uint64_t count_pieces(const Layout &layout) {
    std::uint64_t pieces = 1;
    for (std::uint8_t i = 0; i < layout.count && pieces <= kMostPieces; ++i) {
        pieces *= layout.repetitions[i].count;
    }
    return pieces;
}

}  // namespace aclsim::races
