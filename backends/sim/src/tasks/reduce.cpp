#include "tasks/reduce.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace aclsim {
namespace {

// Documented types by product; uint8 has a number in the runtime and no device that reduces it
// (events_streams_sync.md section 10 [obs]).
struct Support {
    aclDataType type;
    const char *products;  // with spaces around
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

template <class To, class From>
To reinterpret(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

// Conversions between a stored element and the number that is computed with.
template <class T>
struct Plain {
    using Stored = T;
    static T load(T stored) { return stored; }
    static T store(T number) { return number; }
};

struct Bfloat16 {
    using Stored = std::uint16_t;
    static float load(Stored stored) { return reinterpret<float>(static_cast<std::uint32_t>(stored) << 16); }
    static Stored store(float number) {
        const auto bits = reinterpret<std::uint32_t>(number);
        if ((bits & 0x7FFFFFFF) > 0x7F800000) {
            return static_cast<Stored>(bits >> 16 | 0x40);  // a NaN stays a NaN
        }
        const std::uint32_t to_even = 0x7FFF + (bits >> 16 & 1);
        return static_cast<Stored>((bits + to_even) >> 16);
    }
};

struct Half {
    using Stored = std::uint16_t;
    static float load(Stored stored) {
        const std::uint32_t sign = (stored & 0x8000U) << 16;
        const std::uint32_t exponent = stored >> 10 & 0x1F;
        const std::uint32_t fraction = stored & 0x3FF;
        if (exponent == 0) {
            const float tiny = static_cast<float>(fraction) * 0x1p-24F;
            return sign != 0 ? -tiny : tiny;
        }
        const std::uint32_t wide = exponent == 0x1F ? 0xFF : exponent + 112;
        return reinterpret<float>(sign | wide << 23 | fraction << 13);
    }
    static Stored store(float number) {
        const auto bits = reinterpret<std::uint32_t>(number);
        const auto sign = static_cast<Stored>(bits >> 16 & 0x8000);
        const std::uint32_t magnitude = bits & 0x7FFFFFFF;
        if (magnitude > 0x7F800000) {
            return static_cast<Stored>(sign | 0x7E00);
        }
        if (magnitude >= 0x477FF000) {  // rounds to more than the largest half
            return static_cast<Stored>(sign | 0x7C00);
        }
        if (magnitude < 0x38800000) {  // subnormal: the addition rounds at the right bit, to even
            const float shifted = reinterpret<float>(magnitude) + 0.5F;
            return static_cast<Stored>(sign | (reinterpret<std::uint32_t>(shifted) - 0x3F000000));
        }
        const std::uint32_t to_even = 0xFFF + (magnitude >> 13 & 1);
        return static_cast<Stored>(sign | (magnitude - 0x38000000 + to_even) >> 13);
    }
};

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
    auto *to = static_cast<unsigned char *>(reduction.destination);
    const auto *from = static_cast<const unsigned char *>(reduction.source);
    for (std::size_t at = 0; at + sizeof(Stored) <= reduction.bytes; at += sizeof(Stored)) {
        Stored left;  // by memcpy: the addresses need not be aligned
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
