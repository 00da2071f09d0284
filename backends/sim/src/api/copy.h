// SPDX-License-Identifier: Apache-2.0
// Copies of single blocks, shared by aclrtMemcpy, aclrtMemcpyAsync and the copies of symbols after their argument
// checks.
#pragma once

#include "api/entry.h"
#include "tasks/copy.h"

namespace aclsim {

void copy_block(Simulator &sim, Lock &lock, const Transfer &transfer) REQUIRES(engine_lock);
void copy_block_in_stream(Simulator &sim, Lock &lock, Handle<ContextStream> stream, const Transfer &transfer,
                          aclrtMemcpyKind kind) REQUIRES(engine_lock);

}  // namespace aclsim
