// SPDX-License-Identifier: Apache-2.0
// Refusals returned by the generated definitions of functions that the headers declare and no other source defines.
#pragma once

#include <string>

#include "acl/acl_op_compiler.h"
#include "refusal.h"
#include "tensor_desc.h"

namespace companions {

inline aclError refused(const char *function, aclError code, const char *reason) {
    return checked(function, [&] { refuse(code, reason); });
}

// Refuse a function that takes an operator. The text names the operator, and describes its inputs if they are given.
inline aclError refused_operator(const char *function, aclError code, const char *reason, const char *type) {
    return checked(function, [&] {
        require(type, "opType");
        refuse(code, std::string(reason) + ": " + type);
    });
}

inline aclError refused_operator(const char *function, aclError code, const char *reason, const char *type, int count,
                                 const aclTensorDesc *const *inputs) {
    return checked(function, [&] {
        require(type, "opType");
        refuse(code, std::string(reason) + ": " + type + "(" + describe(count, inputs) + ")");
    });
}

}  // namespace companions
