// SPDX-License-Identifier: Apache-2.0
#include "tasks/reduce.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "support/number_format.h"
#include "support/own_view.h"

namespace aclsim {
namespace {

// Documented types by product. The runtime assigns a number to uint8, but no device reduces it (events_streams_sync.md
// section 10 [obs]).
struct Support {
    aclDataType type;
    const char *products;  // delimited by spaces
};
constexpr Support kSupport[] = {
    {ACL_FLOAT, " 910B 910C 310B 310P 910 950 "},
    {ACL_FLOAT16, " 910B 910C 310B 310P 950 "},
    {ACL_INT16, " 910B 910C 310B 310P 950 "},
    {ACL_INT8, " 910B 910C 310B 950 "},
    {ACL_INT32, " 910B 910C 310B 950 "},
    {ACL_BF16, " 910B 910C 950 "},
    {ACL_UINT32, " 950 "},
    {ACL_UINT8, " "},
};

const Support *support_of(aclDataType type) {
    const auto *found = std::find_if(std::begin(kSupport), std::end(kSupport),
                                     [type](const Support &support) { return support.type == type; });
    return found == std::end(kSupport) ? nullptr : found;
}

template <class T>
T combine(aclrtReduceKind kind, T left, T right) {
    switch (kind) {
        case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX:
            return std::max(left, right);
        case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN:
            return std::min(left, right);
        case ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL:
            return static_cast<T>(left == right ? 1 : 0);
        default:
            return static_cast<T>(left + right);
    }
}

template <>
std::int32_t combine(aclrtReduceKind kind, std::int32_t left, std::int32_t right) {
    if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM) {  // wraps, as the hardware's adders do
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) + static_cast<std::uint32_t>(right));
    }
    return static_cast<std::int32_t>(combine<std::int64_t>(kind, left, right));
}

template <class Element>
void reduce(const Reduction &reduction) {
    using Stored = typename Element::Stored;
    auto *to = own_view(static_cast<unsigned char *>(reduction.destination));
    const auto *from = own_view(static_cast<const unsigned char *>(reduction.source));
    for (std::size_t at = 0; at + sizeof(Stored) <= reduction.bytes; at += sizeof(Stored)) {
        Stored left;  // by memcpy, because addresses need not be aligned
        Stored right;
        std::memcpy(&left, to + at, sizeof left);
        std::memcpy(&right, from + at, sizeof right);
        const Stored result = Element::store(combine(reduction.kind, Element::load(left), Element::load(right)));
        std::memcpy(to + at, &result, sizeof result);
    }
}

}  // namespace

bool is_reducible(aclDataType type) { return support_of(type) != nullptr; }

bool is_reduced_by(const Product &product, aclDataType type) {
    const Support *support = support_of(type);
    return support != nullptr && std::strstr(support->products, (" " + std::string(product.name) + " ").c_str());
}

void Reduction::perform() const {
    switch (type) {
        case ACL_FLOAT16:
            return reduce<Half>(*this);
        case ACL_BF16:
            return reduce<Bfloat16>(*this);
        case ACL_INT8:
            return reduce<Plain<std::int8_t>>(*this);
        case ACL_INT16:
            return reduce<Plain<std::int16_t>>(*this);
        case ACL_INT32:
            return reduce<Plain<std::int32_t>>(*this);
        case ACL_UINT32:
            return reduce<Plain<std::uint32_t>>(*this);
        default:
            return reduce<Plain<float>>(*this);
    }
}

}  // namespace aclsim
