// SPDX-License-Identifier: Apache-2.0
// Accesses of calls to memory.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/facts.h"

namespace aclsim::wrapped {

inline Access reads(const void *address, std::uint64_t size, const char *name = "src") {
    return {address, size, AccessMode::Read, name};
}
inline Access writes(const void *address, std::uint64_t size, const char *name = "dst") {
    return {address, size, AccessMode::Write, name};
}

// Rows of that width, `pitch` bytes apart.
inline Access rows(Access access, std::uint64_t width, std::uint64_t height, std::uint64_t pitch) {
    access.size = height == 0 ? 0 : (height - 1) * pitch + width;
    access.layout = Layout::rows(width, height, pitch);
    return access;
}

}  // namespace aclsim::wrapped
