#pragma once

#include <string>

#include "acl/acl_op_compiler.h"

namespace companions {

// Data type, dimensions and format as a reader of an error needs them: "float[2, 3] ND".
std::string describe(const aclTensorDesc *desc);

}  // namespace companions
