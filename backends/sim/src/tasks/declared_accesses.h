// Memory accesses that the program declares for kernels (aclsimDeclareAccesses). The runtime cannot see how a kernel
// uses its arguments.
#pragma once

#include <vector>

#include "abi/aclsim.h"
#include "engine/facts.h"
#include "engine/lock.h"

namespace aclsim {

class Memory;

// Converts operands to ranges of memory; operands without elements have none. Fails with ACL_ERROR_INVALID_PARAM.
std::vector<Access> read_accesses(const aclsimAccess *operands, std::uint64_t count);
// Declares the accesses of the next kernel that the calling thread launches or adds to a graph. Replaces its earlier
// declaration.
void declare_accesses(std::vector<Access> accesses);
// Ends a declaration with the call, even if the call fails; the next launch would otherwise use it.
class DeclarationEnds {
  public:
    DeclarationEnds() = default;
    ~DeclarationEnds();
    DeclarationEnds(const DeclarationEnds &) = delete;
    DeclarationEnds &operator=(const DeclarationEnds &) = delete;
};
// Notes the accesses of the kernel that the current call launches: those declared, or unknown ones if none were
// declared.
void note_kernel_accesses(Memory &memory) REQUIRES(engine_lock);

}  // namespace aclsim
