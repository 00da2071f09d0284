// The declared functions of the C API, by number: what is known of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "function_ids.h"

namespace aclsim {

struct FunctionInfo {
    const char *name;
    std::uint8_t products;  // of enum ProductBit: those that it is documented for; all, if no document tells
    bool is_simulated;
};
extern const FunctionInfo kFunctions[];

inline const FunctionInfo &info_of(Function function) { return kFunctions[static_cast<std::size_t>(function)]; }
// Function::None for a name that is not declared, and for NULL.
Function find_function(const char *name);

}  // namespace aclsim
