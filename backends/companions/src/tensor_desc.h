// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "acl/acl_op_compiler.h"

namespace companions {

// Returns data types and dimensions for an error text, such as "float[2, 3], int64[3]".
std::string describe(int count, const aclTensorDesc *const *descs);

}  // namespace companions
