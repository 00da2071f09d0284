// Copies of memory, also of more than a processor's caches hold.
#pragma once

#include <cstddef>

namespace aclsim {

// std::memmove, but large copies write around the caches, as the C library's do on processors whose caches it knows. In
// many virtual machines it is told a wrong size and reads each line of the destination first: 1.4 times the time.
void move_bytes(void *to, const void *from, std::size_t size);

}  // namespace aclsim
