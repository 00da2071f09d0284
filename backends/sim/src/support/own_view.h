// SPDX-License-Identifier: Apache-2.0
// Second address of memory whose pages the race check may protect against the program: the library's own reads and
// writes use it, and so are neither stopped nor seen.
#pragma once

#include <cstdint>

#include "support/expect.h"

namespace aclsim {

struct OwnView {
    std::uintptr_t begin = 0;  // the first of the program's addresses
    std::uint64_t size = 0;    // 0: no memory has a second address
    std::uintptr_t shift = 0;  // from the program's address to the second one

    bool has(std::uintptr_t address) const { return address - begin < size; }
};
inline OwnView g_own_view;  // set before the memory is allocated

// Returns the address at which the library uses the memory.
template <class T>
T *own_view(T *address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    return unlikely(g_own_view.has(number)) ? reinterpret_cast<T *>(number + g_own_view.shift) : address;
}

}  // namespace aclsim
