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
    bool names_memory;  // it may allocate, free or access memory: all but those that order tasks or ask for their state
};
extern const FunctionInfo kFunctions[];

inline const FunctionInfo &info_of(Function function) { return kFunctions[static_cast<std::size_t>(function)]; }
inline bool names_memory(Function function) { return info_of(function).names_memory; }
// Function::None for a name that is not declared, and for NULL.
Function find_function(const char *name);

}  // namespace aclsim
