// SPDX-License-Identifier: Apache-2.0
#include "support/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "support/file.h"
#include "support/json.h"
#include "support/units.h"

namespace aclsim {
namespace {

constexpr std::size_t kDepth = 64;
constexpr std::uint64_t kPage = 2ULL << 20;  // memory is allocated in whole pages
constexpr const char *kDefaultProduct = "910B";

struct Limit {
    const char *name;
    std::uint64_t low;
    std::uint64_t high;
    void (*set)(Product &product, std::uint64_t value);
};

template <std::uint32_t Product::*Member>
void set(Product &product, std::uint64_t value) {
    product.*Member = static_cast<std::uint32_t>(value);
}

// The total memory comes before the free memory, which depends on it. The minimum queue depth allows for a call of a
// capture, which makes up to three tasks.
constexpr Limit kProfileLimits[] = {
    {"memory_bytes", kGiB, 1024 * kGiB, [](Product &it, std::uint64_t value) { it.memory_bytes = value; }},
    {"free_memory_bytes", kPage, 1024 * kGiB,
     [](Product &it, std::uint64_t value) { it.used_bytes = it.memory_bytes - value / kPage * kPage; }},
    {"pinned_bytes", kPage, 4096 * kGiB,
     [](Product &it, std::uint64_t value) { it.pinned_bytes = value / kPage * kPage; }},
    {"streams", 3, 65536, set<&Product::streams>},
    {"events", 1, 65536, set<&Product::events>},
    {"notifies", 1, 65536, set<&Product::notifies>},
    {"queue_depth", 8, 1 << 20, set<&Product::queue_depth>},
    {"cube_cores", 1, 1024, set<&Product::cube_cores>},
    {"vector_cores", 1, 1024, set<&Product::vector_cores>},
    {"aicpu_cores", 1, 1024, set<&Product::aicpu_cores>},
    {"l2_bytes", 0, kGiB * 4, [](Product &it, std::uint64_t value) { it.l2_bytes = value; }},
};

struct CostName {
    const char *name;
    Cost cost;
    bool has_bytes;
};
constexpr CostName kCosts[] = {
    {"record", Cost::Record, false},
    {"wait", Cost::Wait, false},
    {"copy_host_to_device", Cost::CopyHostToDevice, true},
    {"copy_device_to_host", Cost::CopyDeviceToHost, true},
    {"copy_device_to_device", Cost::CopyDeviceToDevice, true},
    {"fill", Cost::Fill, true},
    {"host_function", Cost::HostFunction, false},
    {"kernel", Cost::Kernel, true},
};
constexpr double kLongest_ns = 1e12;       // a thousand seconds
constexpr double kMost_ns = 278 * 3600e9;  // including the bytes, which a kernel may report freely
constexpr double kFastest = 1e9;           // bytes per microsecond: a petabyte per second

// Returns the row of that name; nullptr if there is none.
template <class Row, std::size_t N>
const Row *find_row(const Row (&rows)[N], const std::string &name) {
    for (const Row &row : rows) {
        if (name == row.name) {
            return &row;
        }
    }
    return nullptr;
}

template <class Row, std::size_t N>
std::string names_of(const Row (&rows)[N]) {
    std::string names;
    for (const Row &row : rows) {
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return names;
}

bool parse_whole(const std::string &text, std::uint64_t &value) {
    const bool is_global =
        !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
    value = is_global ? std::stoull(text) : 0;
    return is_global;
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

class ProfileReader {
  public:
    ProfileReader(const std::string &path, CardProfile &profile) : path_(path), profile_(profile) {}

    void read(const Product *product) {
        const Json report = parse();
        const Json *profile = report.find("profile");
        if (profile == nullptr) {
            refuse(report.find("ascend_rt_report") == nullptr
                       ? "it is not a JSON object with a member \"profile\""
                       : "it is a report without a profile, which ascend-rt verify --compare " + path_ + " --profile " +
                             path_ + " adds to it");
        }
        require(*profile, "profile", Json::Type::Object, "an object");
        const Json *format = profile->find("format");
        if (format == nullptr) {
            refuse("profile.format is missing; 1 is allowed");
        }
        read_whole(*format, "profile.format", 1, 1);
        choose_product(profile->find("product"), product);
        for (const auto &[name, value] : profile->members) {
            read_member(name, value);
        }
    }

  private:
    [[noreturn]] void refuse(const std::string &what) const {
        throw ProfileError{"ASCEND_RT_SIM_PROFILE=" + path_ + ": " + what};
    }
    [[noreturn]] void refuse(const std::string &member, const Json &value, const std::string &allowed) const {
        refuse(member + " is " + written(value) + "; allowed is " + allowed);
    }
    [[noreturn]] void refuse_unknown(const std::string &object, const std::string &name,
                                     const std::string &allowed) const {
        refuse(object + " has an unknown member " + quoted(name.substr(0, 80)) + "; allowed are " + allowed);
    }

    void require(const Json &value, const std::string &member, Json::Type type, const char *allowed) const {
        if (value.type != type) {
            refuse(member, value, allowed);
        }
    }

    Json parse() const {
        try {
            return parse_json(read_file(path_, kLongestJson), kDepth);
        } catch (const FileError &error) {
            refuse(error.what);
        } catch (const JsonError &error) {
            refuse("it is not JSON: " + error.text());
        }
    }

    std::uint64_t read_whole(const Json &value, const std::string &member, std::uint64_t low,
                             std::uint64_t high) const {
        std::uint64_t number = 0;
        if (value.type != Json::Type::Number || !parse_whole(value.text, number) || number < low || number > high) {
            refuse(member, value,
                   low == high ? std::to_string(low)
                               : "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
        }
        return number;
    }

    double read_real(const Json &value, const std::string &member, double low, double high) const {
        const double number = value.type == Json::Type::Number ? number_of(value) : -1;
        if (!(number >= low && number <= high)) {
            refuse(member, value, "a number from " + number_text(low) + " to " + number_text(high));
        }
        return number;
    }

    std::string read_text(const Json &value, const std::string &member, const char *allowed) const {
        if (value.type != Json::Type::String || value.text.empty() || value.text.size() > 63 ||
            value.text.find('\0') != std::string::npos) {
            refuse(member, value, allowed);
        }
        return value.text;
    }

    // Requires the product chosen by the environment, if there is one, to be that of the profile.
    void choose_product(const Json *named, const Product *chosen) {
        const Product *own = chosen != nullptr ? chosen : find_product(kDefaultProduct);
        if (named != nullptr) {
            own = find_product(named->type == Json::Type::String ? named->text : "");
            if (own == nullptr) {
                refuse("profile.product", *named, "one of " + product_names());
            }
            if (chosen != nullptr && chosen != own) {
                refuse(std::string("profile.product is ") + own->name + ", but ASCEND_RT_SIM_PRODUCT=" + chosen->name);
            }
        }
        profile_.product = *own;
    }

    void read_member(const std::string &name, const Json &value) {
        if (name == "soc_name") {
            profile_.soc_name = read_text(value, "profile.soc_name", "the name of a chip, of at most 63 bytes");
            profile_.product.soc_name = profile_.soc_name.c_str();
        } else if (name == "cann_version") {
            profile_.cann_version = read_text(value, "profile.cann_version", "a release like 8.1.RC1 or 8.5.0");
        } else if (name == "limits") {
            read_limits(value);
        } else if (name == "codes") {
            read_codes(value);
        } else if (name == "costs") {
            read_costs(value);
        } else if (name != "format" && name != "product") {
            refuse_unknown("profile", name, "format, product, soc_name, cann_version, limits, codes, costs");
        }
    }

    void read_limits(const Json &limits) {
        require(limits, "profile.limits", Json::Type::Object, "an object");
        for (const auto &[name, value] : limits.members) {
            if (find_row(kProfileLimits, name) == nullptr) {
                refuse_unknown("profile.limits", name, names_of(kProfileLimits));
            }
        }
        for (const Limit &limit : kProfileLimits) {
            if (const Json *value = limits.find(limit.name)) {
                const std::string member = std::string("profile.limits.") + limit.name;
                const bool is_part = limit.name == std::string_view("free_memory_bytes");
                const std::uint64_t high = is_part ? profile_.product.memory_bytes : limit.high;
                limit.set(profile_.product, read_whole(*value, member, limit.low, high));
            }
        }
    }

    void read_codes(const Json &functions) {
        require(functions, "profile.codes", Json::Type::Object, "an object");
        for (const auto &[name, codes] : functions.members) {
            const Function function = find_function(name.c_str());
            if (function == Function::None || name.rfind("aclsim", 0) == 0) {
                refuse_unknown("profile.codes", name, "functions of the C API" + suggest_function(name));
            }
            const std::string member = "profile.codes." + name;
            require(codes, member, Json::Type::Object, "an object");
            for (const auto &[key, value] : codes.members) {
                std::uint64_t simulated = 0;
                if (!parse_whole(key, simulated) || simulated > INT32_MAX) {
                    refuse_unknown(member, key, "codes that the simulator answers, and 0");
                }
                const std::uint64_t answered = read_whole(value, member + "." + key, 1, INT32_MAX);
                profile_.codes[function][static_cast<aclError>(simulated)] = static_cast<aclError>(answered);
                profile_.refuses_functions |= simulated == ACL_SUCCESS;
            }
        }
    }

    void read_costs(const Json &costs) {
        require(costs, "profile.costs", Json::Type::Object, "an object");
        for (const auto &[name, cost] : costs.members) {
            if (name == "kernels") {
                read_kernels(cost);
                continue;
            }
            const CostName *row = find_row(kCosts, name);
            if (row == nullptr) {
                refuse_unknown("profile.costs", name, names_of(kCosts) + ", kernels");
            }
            read_rate(cost, "profile.costs." + name, row->has_bytes,
                      profile_.costs[static_cast<std::size_t>(row->cost)]);
        }
    }

    void read_kernels(const Json &kernels) {
        require(kernels, "profile.costs.kernels", Json::Type::Object, "an object");
        for (const auto &[name, cost] : kernels.members) {
            read_rate(cost, "profile.costs.kernels." + name.substr(0, 80), /*has_bytes=*/true, profile_.kernels[name]);
        }
    }

    void read_rate(const Json &cost, const std::string &member, bool has_bytes, CardProfile::Rate &rate) {
        require(cost, member, Json::Type::Object, "an object");
        for (const auto &[part, value] : cost.members) {
            if (part == "ns") {
                rate.ns = read_real(value, member + ".ns", 0, kLongest_ns);
            } else if (part == "bytes_per_us" && has_bytes) {
                rate.ns_per_byte = 1000 / read_real(value, member + ".bytes_per_us", 1, kFastest);
            } else {
                refuse_unknown(member, part, has_bytes ? "ns, bytes_per_us" : "ns");
            }
            profile_.has_costs = true;
        }
    }

    const std::string &path_;
    CardProfile &profile_;
};

}  // namespace

aclError CardProfile::answer(Function function, aclError simulated) const {
    const auto of_function = codes.find(function);
    if (of_function == codes.end()) {
        return simulated;
    }
    const auto found = of_function->second.find(simulated);
    return found == of_function->second.end() ? simulated : found->second;
}

const CardProfile::Rate &CardProfile::rate_of(const Work &work) const {
    if (work.kernel != nullptr) {
        const auto found = kernels.find(*work.kernel);
        if (found != kernels.end()) {
            return found->second;
        }
    }
    return costs[static_cast<std::size_t>(work.cost)];
}

std::chrono::nanoseconds CardProfile::duration(const Work &work) const {
    const Rate &rate = rate_of(work);
    return std::chrono::nanoseconds(
        std::llround(std::min(rate.ns + rate.ns_per_byte * static_cast<double>(work.bytes), kMost_ns)));
}

void read_profile(const std::string &path, const Product *product, CardProfile &profile) {
    profile.path = path;
    ProfileReader(path, profile).read(product);
}

}  // namespace aclsim
