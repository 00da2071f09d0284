// SPDX-License-Identifier: Apache-2.0
// Functions that reports to profiles need on the host: a counter for time stamps, and hashes of names.
#include "profiling.h"

#include <chrono>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

// Constants of the 64-bit FNV-1a hash.
constexpr std::uint64_t kHashStart = 0xCBF29CE484222325;
constexpr std::uint64_t kHashFactor = 0x100000001B3;

}  // namespace

uint64_t MsprofGetHashId(const char *hashInfo, size_t length) {
    std::uint64_t hash = kHashStart;
    for (std::size_t i = 0; hashInfo != nullptr && i < length; ++i) {
        hash = (hash ^ static_cast<unsigned char>(hashInfo[i])) * kHashFactor;
    }
    return hash;
}

// Returns the processor's counter, used for the time stamps of reports.
uint64_t MsprofSysCycleTime(void) {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}
