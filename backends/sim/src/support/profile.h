// What was measured on a card (ASCEND_RT_SIM_PROFILE): limits, return codes, and how long tasks take.
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

// What a profile has a cost for.
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
    const std::string *kernel = nullptr;  // its name
};

struct CardProfile {
    struct Rate {
        double ns = 0;
        double ns_per_byte = 0;
    };

    std::string path;          // as the user gave it
    std::string soc_name;      // of the product below, which points here
    std::string cann_version;  // "": it names none
    Product product;           // with the limits of the card
    // By function: what the simulator would answer, and what the card answers. 0: the card refuses the function.
    std::map<Function, std::map<aclError, aclError>> codes;
    bool refuses_functions = false;
    std::array<Rate, static_cast<std::size_t>(Cost::Count)> costs{};
    std::map<std::string, Rate> kernels;  // by name: in place of what kernels cost
    bool has_costs = false;

    CardProfile() = default;
    CardProfile(const CardProfile &) = delete;
    CardProfile &operator=(const CardProfile &) = delete;

    // The card's code in place of the simulator's; the same if the profile has no other.
    aclError answer(Function function, aclError simulated) const;
    std::chrono::nanoseconds duration(const Work &work) const;

  private:
    const Rate &rate_of(const Work &work) const;
};

// What is wrong with a profile: the file, the member, and what is allowed.
struct ProfileError {
    std::string text;
};

// Reads a profile of the product; nullptr: of the product that the profile names. Throws a ProfileError.
void read_profile(const std::string &path, const Product *product, CardProfile &profile);

}  // namespace aclsim
