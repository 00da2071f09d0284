// SPDX-License-Identifier: Apache-2.0
// Conversions between a stored element of a data type and the number used in computations.
#pragma once

#include <cstdint>
#include <cstring>

namespace aclsim {

template <class To, class From>
To reinterpret(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

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
            return 0x7FC0;  // every NaN is this one, as it is for PyTorch
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

}  // namespace aclsim
