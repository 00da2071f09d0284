// SPDX-License-Identifier: Apache-2.0
// Lookups shared by the entry points for kernels.
#pragma once

#include "api/entry.h"
#include "tasks/kernels.h"

namespace aclsim {

inline KernelFunction &require_function(Simulator &sim, aclrtFuncHandle handle) REQUIRES(engine_lock) {
    return require_handle<KernelFunction>(sim, handle, "kernel function");
}

// Finds a function by its handle or by a host symbol that represents it. Symbols are searched first (graphs_kernels.md
// section A5).
inline KernelFunction *find_function_or_symbol(Simulator &sim, const void *function) REQUIRES(engine_lock) {
    KernelFunction *found = sim.kernels.find_symbol(function);
    return found != nullptr ? found : sim.core.registry().find<KernelFunction>(const_cast<void *>(function));
}
inline KernelFunction &require_function_or_symbol(Simulator &sim, const void *function) REQUIRES(engine_lock) {
    return require_found(find_function_or_symbol(sim, function), function, "kernel function");
}

// Finds a list of arguments. Its handle is that of a list owned by a thread, or the address of memory of the program.
inline ArgumentList &require_list(Simulator &sim, aclrtArgsHandle handle) REQUIRES(engine_lock) {
    ArgumentList *found = sim.kernels.find_list(handle);
    return found != nullptr ? *found : require_handle<ArgumentList>(sim, handle, "list of kernel arguments");
}

}  // namespace aclsim
