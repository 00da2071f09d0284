// SPDX-License-Identifier: Apache-2.0
// Memory accesses that the program declares for kernels (aclsimDeclareAccesses). The runtime cannot see how a kernel
// uses its arguments.
#pragma once

#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Memory;

// Declares the accesses of the next kernel that the calling thread launches or adds to a graph. Replaces its earlier
// declaration.
void declare_accesses(std::vector<Access> accesses);
// Discards an unused declaration at the end of a call: after a call that failed, the next launch would take it over.
class DeclarationScope {
  public:
    DeclarationScope() = default;
    ~DeclarationScope();
    DeclarationScope(const DeclarationScope &) = delete;
    DeclarationScope &operator=(const DeclarationScope &) = delete;
};
// Notes the accesses of the kernel that the current call launches: those declared, or unknown ones if none were
// declared.
void note_kernel_accesses(Memory &memory) REQUIRES(engine_lock);

}  // namespace aclsim
