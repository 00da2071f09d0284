// The table that the build generates: which of the declared functions the simulator simulates, sorted by name.
#pragma once

#include <cstddef>

namespace aclsim {

extern const char *const kSimulatedFunctions[];
extern const std::size_t kSimulatedFunctionCount;

}  // namespace aclsim
