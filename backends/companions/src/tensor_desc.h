#pragma once

#include <string>

#include "acl/acl_op_compiler.h"

namespace companions {

// Data types and dimensions as a reader of an error needs them: "float[2, 3], int64[3]".
std::string describe(int count, const aclTensorDesc *const *descs);

}  // namespace companions
