// SPDX-License-Identifier: Apache-2.0
#include "engine/operands.h"

#include <algorithm>
#include <cstdlib>

#include "support/error.h"

namespace aclsim {
namespace {

constexpr std::uint32_t kHighestRank = Layout::kMost;

AccessMode mode_of(const aclsimAccess &access) {
    switch (access.mode) {
        case ACLSIM_ACCESS_READ:
            return AccessMode::Read;
        case ACLSIM_ACCESS_WRITE:
            return AccessMode::Write;
        case ACLSIM_ACCESS_READ_WRITE:
            return AccessMode::ReadWrite;
    }
    fail_unremembered(ACL_ERROR_INVALID_PARAM, "there is no access mode %d", static_cast<int>(access.mode));
}

// Normalizes the dimensions: makes strides positive, removes dimensions of one element, and joins dimensions without
// gaps between them. The bytes covered are the same.
void add_access(std::vector<Access> &list, const aclsimAccess &operand, AccessMode mode) {
    const auto *first = static_cast<const unsigned char *>(operand.address);
    std::vector<Repetition> dimensions;
    std::int64_t size = operand.elementSize;
    std::int64_t dense = operand.elementSize;  // stride of a dimension without gaps
    for (std::uint32_t i = operand.rank; i-- > 0;) {
        const std::int64_t count = operand.shape[i];
        const std::int64_t stride = operand.strides == nullptr ? dense : operand.strides[i];
        if (count <= 0) {
            return;
        }
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(count - 1, stride, &reach) || __builtin_mul_overflow(dense, count, &dense) ||
            __builtin_add_overflow(size, std::abs(reach), &size)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "an operand reaches beyond the end of all memory");
        }
        if (count == 1 || stride == 0) {
            continue;
        }
        first += stride < 0 ? reach : 0;
        dimensions.push_back({static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(std::abs(stride))});
    }
    std::sort(dimensions.begin(), dimensions.end(),
              [](const Repetition &one, const Repetition &other) { return one.stride < other.stride; });
    std::uint64_t width = operand.elementSize;
    std::vector<Repetition> gaps;  // innermost first
    for (const Repetition &it : dimensions) {
        const bool continues = gaps.empty() ? it.stride <= width : it.stride == gaps.back().count * gaps.back().stride;
        if (!continues) {
            gaps.push_back(it);
        } else if (gaps.empty()) {
            width = (it.count - 1) * it.stride + width;
        } else {
            gaps.back().count *= it.count;
        }
    }
    Access access{first, width, mode, operand.name == nullptr ? "operand" : operand.name};
    for (const Repetition &it : gaps) {
        access.size += (it.count - 1) * it.stride;
    }
    if (!gaps.empty()) {
        access.layout.width = width;
        access.layout.count = static_cast<std::uint8_t>(gaps.size());
        std::copy(gaps.rbegin(), gaps.rend(), access.layout.repetitions.begin());
    }
    list.push_back(access);
}

}  // namespace

std::vector<Access> read_accesses(const aclsimAccess *operands, std::uint64_t count) {
    if (count != 0) {
        require(operands, "accesses");
    }
    std::vector<Access> accesses;
    accesses.reserve(std::min<std::uint64_t>(count, 64));
    for (std::uint64_t i = 0; i < count; ++i) {
        const aclsimAccess &it = operands[i];
        if (it.rank > kHighestRank || (it.rank > 0 && it.shape == nullptr)) {
            fail_unremembered(ACL_ERROR_INVALID_PARAM, "access %llu: rank %u exceeds %u, or shape is NULL",
                              static_cast<unsigned long long>(i), it.rank, kHighestRank);
        }
        add_access(accesses, it, mode_of(it));
    }
    return accesses;
}

}  // namespace aclsim
