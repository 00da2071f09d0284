// SPDX-License-Identifier: Apache-2.0
// Operands of kernels and of code of the program, as the program describes them.
#pragma once

#include <vector>

#include "abi/acl.h"
#include "engine/facts.h"

namespace aclsim {

// Converts operands to ranges of memory; operands without elements have none. Fails with ACL_ERROR_INVALID_PARAM.
std::vector<Access> read_accesses(const aclsimAccess *operands, std::uint64_t count);

}  // namespace aclsim
