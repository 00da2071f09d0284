// What the generated definitions answer, those of all functions that no other source defines.
#pragma once

#include <string>

#include "acl/acl_op_compiler.h"
#include "refusal.h"
#include "tensor_desc.h"

namespace companions {

inline aclError refused(const char *function, aclError code, const char *reason) {
    return checked(function, [&] { refuse(code, reason); });
}

// Of a function that is about an operator: the text names it, with the inputs where they are given.
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
