// What the generated definitions answer, those of all functions that no other source defines.
#pragma once

#include "acl/acl_op_compiler.h"

namespace companions {

aclError refused(const char *function, const char *reason);
// Of a function that is about an operator: the text names it, with the inputs where they are given.
aclError refused_operator(const char *function, const char *reason, const char *type);
aclError refused_operator(const char *function, const char *reason, const char *type, int input_count,
                          const aclTensorDesc *const *inputs);

}  // namespace companions
