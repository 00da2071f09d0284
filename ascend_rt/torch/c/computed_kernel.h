/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in the dispatcher's table, copied, for a kernel that replaces it or calls it for another key. */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace ascend_rt {

// Member that torch 2.8 and older have no public function for: an explicit instantiation may name it.
template <auto member>
struct DefinitionOf {
    friend auto *definition_of(const c10::OperatorHandle &handle) { return handle.*member; }
};
auto *definition_of(const c10::OperatorHandle &handle);
template struct DefinitionOf<&c10::OperatorHandle::operatorDef_>;

template <typename Handle>
auto computed_kernel(const Handle &handle, c10::DispatchKey key) {
    if constexpr (requires { handle.getComputedKernelForDispatchKey(key); }) {
        return handle.getComputedKernelForDispatchKey(key);
    } else {
        return definition_of(handle)->op.lookup(c10::DispatchKeySet(key));
    }
}

using ComputedKernel = decltype(computed_kernel(std::declval<const c10::OperatorHandle &>(), c10::DispatchKey::CPU));

}  // namespace ascend_rt
