// What the entry points for kernels have in common.
#pragma once

#include "api/entry.h"
#include "tasks/kernels.h"

namespace aclsim {

inline KernelFunction &require_function(Simulator &sim, aclrtFuncHandle handle) REQUIRES(engine_lock) {
    return require_handle<KernelFunction>(sim, handle, "kernel function");
}

// Where a symbol of the host may stand for the function: it is looked for first (graphs_kernels.md section A5).
inline KernelFunction *find_function_or_symbol(Simulator &sim, const void *function) REQUIRES(engine_lock) {
    KernelFunction *found = sim.kernels.find_symbol(function);
    return found != nullptr ? found : sim.core.registry().find<KernelFunction>(const_cast<void *>(function));
}
inline KernelFunction &require_function_or_symbol(Simulator &sim, const void *function) REQUIRES(engine_lock) {
    return require_found(find_function_or_symbol(sim, function), function, "kernel function");
}

// The handle of a list is that of the calling thread's own, or memory of the program.
inline ArgumentList &require_list(Simulator &sim, aclrtArgsHandle handle) REQUIRES(engine_lock) {
    ArgumentList *found = sim.kernels.find_list(handle);
    return found != nullptr ? *found : require_handle<ArgumentList>(sim, handle, "list of kernel arguments");
}

}  // namespace aclsim
