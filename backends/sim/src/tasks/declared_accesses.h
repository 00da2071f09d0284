// Accesses that the program declares for kernels (aclsimDeclareAccesses): the runtime cannot see what a kernel does
// with its arguments.
#pragma once

#include <vector>

#include "abi/aclsim.h"
#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Memory;

// The pieces of memory that operands are; one of no elements is none. Fails with ACL_ERROR_INVALID_PARAM.
std::vector<Access> read_accesses(const aclsimAccess *operands, std::uint64_t count);
// By the calling thread, for the next kernel that it launches, or puts into a graph. Replaces what it declared before.
void declare_accesses(std::vector<Access> accesses);
// Discards an unused declaration at the end of a call: after a call that failed, the next launch would take it over.
class DeclarationScope {
  public:
    DeclarationScope() = default;
    ~DeclarationScope();
    DeclarationScope(const DeclarationScope &) = delete;
    DeclarationScope &operator=(const DeclarationScope &) = delete;
};
// The present call launches a kernel: what was declared are its accesses; if nothing was, they are unknown.
void note_kernel_accesses(Memory &memory) REQUIRES(engine_lock);

}  // namespace aclsim
