// SPDX-License-Identifier: Apache-2.0
// Descriptors of this library, which a forked child closes: its copies would keep connections alive after the end of
// its parent, and what it sends on them would be taken for its parent's.
#pragma once

namespace hccl {

// Calls the function, which returns a new descriptor, or a negative number with errno, and keeps its result.
int open_descriptor(int (*function)(void *), void *argument);
template <class Function>
int open_descriptor(Function function) {
    return open_descriptor([](void *argument) { return (*static_cast<Function *>(argument))(); }, &function);
}
// Does nothing in a child of the process that has opened it: the number may be that of another file there.
void close_descriptor(int descriptor);

// Returns true in a child of a process that has used this library: it has no threads and no connections.
bool is_forked_child();

}  // namespace hccl
