// SPDX-License-Identifier: Apache-2.0
// Operator information of the task that the calling thread submitted last (graphs_kernels.md part D).
#pragma once

#include <cstddef>

#include "api/entry.h"

namespace aclsim {

// Returns true if the stream is being captured into a graph that keeps operator information.
bool caches_op_info(const ContextStream &stream) REQUIRES(engine_lock);
// Attaches the information to the task. Fails as aclrtCacheLastTaskOpInfo does.
void cache_op_info(Simulator &sim, const void *information, std::size_t size) REQUIRES(engine_lock);

}  // namespace aclsim
