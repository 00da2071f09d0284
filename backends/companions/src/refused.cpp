#include "refused.h"

#include <string>

#include "refusal.h"
#include "tensor_desc.h"

namespace {

// Not ACL_ERROR_RT_FEATURE_NOT_SUPPORT, after which PyTorch's adapter prints a warning and goes on.
constexpr aclError kCode = ACL_ERROR_API_NOT_SUPPORT;

std::string list_of(int count, const aclTensorDesc *const *descs) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ", ") + companions::describe(descs[i]);
    }
    return text;
}

}  // namespace

aclError companions::refused(const char *function, const char *reason) {
    return checked(function, [&] { refuse(kCode, reason); });
}

aclError companions::refused_operator(const char *function, const char *reason, const char *type) {
    return checked(function, [&] {
        require(type, "opType");
        refuse(kCode, std::string(reason) + ": " + type);
    });
}

aclError companions::refused_operator(const char *function, const char *reason, const char *type, int input_count,
                                      const aclTensorDesc *const *inputs) {
    return checked(function, [&] {
        require(type, "opType");
        if (input_count > 0) {
            require(inputs, "inputDesc");
        }
        refuse(kCode, std::string(reason) + ": " + type + "(" + list_of(input_count, inputs) + ")");
    });
}
