// SPDX-License-Identifier: Apache-2.0
// Return addresses on the stack of the calling thread. Where a signal has interrupted it, the address is that of the
// second byte of the instruction, because one less than a return address is in the instruction that was executed.
//
// Unwinding takes microseconds. But most return addresses belong to a frame of constant size, so the place of the next
// one is known once a stack with both has been unwound.
#pragma once

#include <cstddef>

namespace aclsim {

// Finds the frames of the program that are in a call of the library, innermost first: from the one with the return
// address on, without frames of the library itself. Returns their number, at least 1. Allocates nothing, and takes no
// lock if the host does not need one.
std::size_t find_native_frames(const void *return_address, const void **frames, std::size_t most);

}  // namespace aclsim
