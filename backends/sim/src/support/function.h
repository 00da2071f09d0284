// SPDX-License-Identifier: Apache-2.0
// Properties of the declared functions of the C API, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "function_ids.h"

namespace aclsim {

using Address = void (*)();

struct FunctionInfo {
    const char *name;
    std::uint8_t products;  // bits of enum ProductBit: documented products; all if no document restricts it
    bool names_memory;  // may allocate, free or access memory: all except those that order tasks or query their state
    bool only_asks;     // returns what is known, and changes nothing
    Address in_use, unsupported;  // the second is what the first is without a definition of the simulator
};
extern const FunctionInfo kFunctions[];

inline const FunctionInfo &info_of(Function function) { return kFunctions[static_cast<std::size_t>(function)]; }
inline bool is_simulated(Function function) { return info_of(function).in_use != info_of(function).unsupported; }
inline bool names_memory(Function function) { return info_of(function).names_memory; }
// Returns Function::None for NULL and for a name that is not declared.
Function find_function(const char *name);
// Returns "; did you mean aclrt...?" with the simulated function nearest to a name that is not declared, or "" if none
// is near.
std::string suggest_function(const std::string &name);

}  // namespace aclsim
