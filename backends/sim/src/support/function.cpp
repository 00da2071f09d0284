#include "support/function.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace aclsim {

Function find_function(const char *name) {
    const FunctionInfo *begin = kFunctions + 1;  // skips Function::None
    const FunctionInfo *end = kFunctions + static_cast<std::size_t>(Function::Count);
    const auto *found =
        name == nullptr ? end : std::lower_bound(begin, end, name, [](const auto &info, const char *it) {
            return std::strcmp(info.name, it) < 0;
        });
    const bool is_it = found != end && std::strcmp(found->name, name) == 0;
    return is_it ? static_cast<Function>(found - kFunctions) : Function::None;
}

}  // namespace aclsim
