// SPDX-License-Identifier: Apache-2.0
// Units of memory sizes.
#pragma once

#include <cstdint>

namespace aclsim {

constexpr std::uint64_t kKiB = 1ULL << 10;
constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGiB = 1ULL << 30;

}  // namespace aclsim
