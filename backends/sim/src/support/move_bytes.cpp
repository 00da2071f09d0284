// SPDX-License-Identifier: Apache-2.0
#include "support/move_bytes.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace aclsim {

#ifdef __SSE2__
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kUncached = 32ULL << 20;  // measured: such writes are faster at 24 MiB and equally fast at 8 MiB

bool overlap(const void *left, const void *right, std::size_t size) {
    const auto a = reinterpret_cast<std::uintptr_t>(left);
    const auto b = reinterpret_cast<std::uintptr_t>(right);
    return (a < b ? b - a : a - b) < size;
}

// Writes whole cache lines to a line-aligned address.
void write_around_caches(unsigned char *to, const unsigned char *from, std::size_t size) {
    for (std::size_t at = 0; at < size; at += sizeof(__m128i)) {
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
    }
    _mm_sfence();  // such writes are not ordered before later ones that announce the end of the copy
}

}  // namespace

void move_bytes(void *to, const void *from, std::size_t size) {
    if (size < kUncached || overlap(to, from, size)) {
        std::memmove(to, from, size);
        return;
    }
    auto *destination = static_cast<unsigned char *>(to);
    const auto *source = static_cast<const unsigned char *>(from);
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
    const std::size_t lines = (size - head) / kLine * kLine;
    std::memcpy(destination, source, head);
    write_around_caches(destination + head, source + head, lines);
    std::memcpy(destination + head + lines, source + head + lines, size - head - lines);
}
#else
void move_bytes(void *to, const void *from, std::size_t size) { std::memmove(to, from, size); }
#endif

}  // namespace aclsim
