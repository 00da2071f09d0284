// SPDX-License-Identifier: Apache-2.0
// Copies of memory, including those larger than a processor's caches.
#pragma once

#include <cstddef>

namespace aclsim {

// Works like std::memmove, but large copies bypass the caches, as in the C library on processors whose caches it knows.
// In many virtual machines the C library gets a wrong cache size and reads each line of the destination first, which
// takes 1.4 times as long.
void move_bytes(void *to, const void *from, std::size_t size);

}  // namespace aclsim
