// The tables that the build generates from the declarations and from what the sources define, sorted by name.
#pragma once

#include <cstddef>

namespace aclsim {

// Which of the declared functions the simulator simulates.
extern const char *const kSimulatedFunctions[];
extern const std::size_t kSimulatedFunctionCount;

// Functions that are documented for some of the products only; the names have spaces around them.
struct PartialSupport {
    const char *function;
    const char *products;
};
extern const PartialSupport kPartialSupport[];
extern const std::size_t kPartialSupportCount;

}  // namespace aclsim
