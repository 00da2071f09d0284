// SPDX-License-Identifier: Apache-2.0
// Measurements of a card (ASCEND_RT_SIM_PROFILE): limits, return codes, and durations of tasks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "abi/acl.h"
#include "support/function.h"
#include "support/product.h"

namespace aclsim {

// Kinds of work with a cost in a profile.
enum class Cost : std::uint8_t {
    None,
    Record,
    Wait,
    CopyHostToDevice,
    CopyDeviceToHost,
    CopyDeviceToDevice,
    Fill,
    HostFunction,
    Kernel,
    Count
};

struct Work {
    Cost cost = Cost::None;
    std::uint64_t bytes = 0;
    const std::string *kernel = nullptr;  // kernel name
};

struct CardProfile {
    struct Rate {
        double ns = 0;
        double ns_per_byte = 0;
    };

    std::string path;          // path given by the user
    std::string soc_name;      // referenced by the product below
    std::string cann_version;  // "" if none is named
    Product product;           // including the limits of the card
    // Code of the card for each code of the simulator, by function. Key 0 means that the card refuses the function.
    std::map<Function, std::map<aclError, aclError>> codes;
    bool refuses_functions = false;
    std::array<Rate, static_cast<std::size_t>(Cost::Count)> costs{};
    std::map<std::string, Rate> kernels;  // keyed by name; replaces the general cost of kernels
    bool has_costs = false;

    CardProfile() = default;
    CardProfile(const CardProfile &) = delete;
    CardProfile &operator=(const CardProfile &) = delete;

    // Returns the card's code for the simulator's; the same code if the profile has no other.
    aclError answer(Function function, aclError simulated) const;
    std::chrono::nanoseconds duration(const Work &work) const;

  private:
    const Rate &rate_of(const Work &work) const;
};

// Problem of a profile: the file, the member, and the allowed values.
struct ProfileError {
    std::string text;
};

// Reads a profile of the product; with nullptr, of the product that the profile names. Throws ProfileError.
void read_profile(const std::string &path, const Product *product, CardProfile &profile);

}  // namespace aclsim
